"""The ends of the box that a solver holds, by the count of their roundings."""

from __future__ import annotations

from fractions import Fraction

import pytest
from exact_bounds import U32, U, gamma, is_bound

from sstep_verify.declaration import Declaration
from sstep_verify.problems.losses import Dual
from sstep_verify.rounding.box import box_of, end_error
from sstep_verify.rounding.formulas import formulas_of

SINGLE, DOUBLE = Declaration("single", precision="float32"), Declaration("double")


@pytest.mark.parametrize(
    ("declaration", "scaled", "end", "error"),
    [
        (DOUBLE, False, 0.7, 0),
        (DOUBLE, True, 0.7, gamma(2, U)),
        (SINGLE, False, 0.7, gamma(3, U32)),
        (SINGLE, True, 0.7, gamma(5, U32)),
        (SINGLE, True, 0.75, gamma(2, U32)),
    ],
)
def test_an_end_is_off_by_its_roundings(declaration, scaled, end, error):
    formulas = formulas_of(declaration, scaled=scaled)
    for dual in (Dual(0.0, end), Dual(0.0, 0.5, -end)):
        is_bound(end_error(dual, formulas), error * Fraction(end))


def test_the_box_is_that_of_the_dual():
    assert box_of(Dual(0.5, 3.0, -2.0, 0.25)) == (-2.0, 3.0, 0.25)
