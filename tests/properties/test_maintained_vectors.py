"""A correct solver may maintain its gradient or residual without declaring it, also where alpha becomes small."""

from __future__ import annotations

import numpy as np
import pytest
from daily import some

from sstep_verify import Status
from sstep_verify.checks import step_replay, window_replay
from sstep_verify.oracle.facade import Oracle
from studies.alarms.groups import NO_RUN, decided, verdicts_of
from studies.coverage.cases import planned
from studies.coverage.rules import left_for
from studies.coverage.table import drawn_row

WISHED = {"data": "spread", "range": "near 1", "precision": "float64"}
VECTORS = {"svm-l1": "gradient", "svm-l2": "gradient", "krr": "residual"}


@pytest.mark.parametrize(("check", "log"), [(step_replay.ID, "yes"), (window_replay.ID, "no")])
@pytest.mark.parametrize("seed", some(range(24), of=24, first=12))
def test_a_maintained_vector_is_within_the_bound_from_any_start(check, log, seed):
    # From a start vector as large as the box alpha may become much smaller. Sizes of alpha alone fail seed 12.
    generator, judged = np.random.Generator(np.random.PCG64(seed)), 0
    for task, vector in VECTORS.items():
        left, why = left_for(check, {"task": task, "maintained": vector, "initial": "others", "log": log})
        assert not why
        for _ in range(8):
            try:
                plan = planned(generator, drawn_row(generator, left, WISHED))
            except NO_RUN:
                continue
            verdicts, _ = verdicts_of(plan.case, plan.solver, (check,), Oracle(plan.case.problem))
            judged += sum(decided(one) for one in verdicts)
            assert not [one for one in verdicts if one.status in (Status.FAIL, Status.INCONCLUSIVE)]
    assert judged >= 12
