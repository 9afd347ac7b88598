"""Numbers of quantities and events have one type in compiled code: what they are given to is compiled once."""

from __future__ import annotations

import numpy as np
import pytest
from numba import types

from sstep_verify.checks.steps import step_statistics
from sstep_verify.diagnosis import factors

EVENTS = (
    "FREE CLIP_LOW CLIP_HIGH REPEATED THRICE TAIL_STEP FIRST_TRANSITION LOW_STATE FREE_STATE HIGH_STATE"
)
PARTS = (
    "BOTH ROW DIAGONAL UPPER_END SHIFT_IN_CURVATURE ENTRY_IN_CURVATURE SYSTEM_DIAGONAL SYSTEM_LAMBDA "
    "SIDE_LAMBDA SIDE_M M_EVERYWHERE"
)
QUANTITIES = [
    "STALE", "CURVATURE", "KERNEL", "SAME", "OVERLAP", "OMEGA", "LABELS", "UPPER", "LOWER", "SAMPLES", "PENALTY",
    "OFF_DIAGONAL", "WRITE_BACK", "BOUNDARY", "TAIL", "STREAM",
]  # fmt: skip


def test_a_constant_integer_of_python_has_a_type_of_its_own():
    assert types.maybe_literal(3) == types.literal(3) != types.literal(4)


@pytest.mark.parametrize(
    ("module", "names"),
    [(step_statistics, QUANTITIES), (step_statistics, EVENTS.split()), (factors, PARTS.split())],
)
def test_numbers_have_the_type_of_an_entry_of_an_array(module, names):
    for name in names:
        number = getattr(module, name)
        assert types.maybe_literal(number) is None
        assert type(number) is np.int64


def test_quantities_are_numbered_as_they_are_named():
    assert [getattr(step_statistics, name) for name in QUANTITIES] == list(
        range(len(step_statistics.NAMES))
    )
    assert len(step_statistics.NAMES) == factors.BOTH
