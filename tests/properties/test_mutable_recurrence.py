"""The mutable recurrence: unmutated it *is* the reference, and each catalogued defect acts where it can.

Rational arithmetic throughout, so "equal" and "different" need no tolerance.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from mutable_runs import mutable_sstep_bdcd, mutable_sstep_dcd
from sstep_reference import bdcd_krr, dcd_ksvm, sstep_bdcd_krr, sstep_dcd_ksvm
from test_exact_equality import EXACT, Case, cases
from test_exact_equality_faults import QUICK

from sstep_verify.quantities import BOUNDARY, QUANTITIES, STREAM, TAIL, WRITE_BACK
from sstep_verify.recurrence.mutants import CATALOGUE
from sstep_verify.recurrence.mutation import NONE, Mutation, left_out, off_by

TASKS = ("svm-l1", "svm-l2", "krr")
ALWAYS = {
    *("curvature-halved", "label-lost", "upper-end-lost", "upper-end-halved", "lower-end-lost"),
    *("boundary-off-by-one", "m-doubled", "lambda-doubled", "write-back-lost"),
}
"""Defects that any run of their tasks may show."""

PAIRS = [(task, defect.name) for defect in CATALOGUE for task in defect.tasks]
widths = st.integers(1, 10)


def cases_of(task: str):
    if task == "krr":
        return st.one_of(cases(blocks_of_one=False), cases(blocks_of_one=False, replacement=True))
    return cases(blocks_of_one=True)


def run(case: Case, task: str, s: int, mutation: Mutation = NONE) -> list:
    """End of the mutable recurrence."""
    if task == "krr":
        arguments = (EXACT, case.kernel, case.targets, case.initial, case.blocks, s)
        return list(mutable_sstep_bdcd(*arguments, penalty=case.parameter, mutation=mutation))
    indices = [i for (i,) in case.blocks]
    labels = EXACT.vector(case.labels)
    arguments = (EXACT, case.kernel, labels, case.initial, indices, s)
    return list(mutable_sstep_dcd(*arguments, loss=task, C=case.parameter, mutation=mutation))


def references(case: Case, task: str, s: int) -> tuple[list, list]:
    """Ends of the reference's classical and s-step algorithms."""
    if task == "krr":
        arguments = (EXACT, case.kernel, case.targets, case.initial, case.blocks)
        classical = bdcd_krr(*arguments, penalty=case.parameter)
        return list(classical), list(sstep_bdcd_krr(*arguments, s, penalty=case.parameter))
    indices = [i for (i,) in case.blocks]
    arguments = (EXACT, case.kernel, case.labels, case.initial, indices)
    classical = dcd_ksvm(*arguments, loss=task, C=case.parameter)
    return list(classical), list(sstep_dcd_ksvm(*arguments, s, loss=task, C=case.parameter))


def repeats(case: Case, s: int) -> bool:
    """Whether a window of s draws a coordinate twice."""
    for begin in range(0, len(case.blocks), s):
        drawn = [i for block in case.blocks[begin : begin + s] for i in block]
        if len(set(drawn)) < len(drawn):
            return True
    return False


def can_act(name: str, case: Case, task: str, s: int) -> bool:
    """Whether the term or slip of a defect occurs at all in this run."""
    if name in ("overlap-dropped", "assigned-once"):
        return repeats(case, s)
    if name == "omega-dropped":
        # The shift multiplies the coordinate's value: it needs one that is drawn at a value other than 0.
        drawn = [i for (i,) in case.blocks] if task == "svm-l2" else []
        return len(set(drawn)) < len(drawn) or any(case.initial[i] for i in drawn)
    if name in ("stale-alpha", "correction-dropped"):
        return s > 1 and len(case.blocks) > 1
    if name == "tail-lost":
        return len(case.blocks) % s != 0
    if name == "draws-off-by-one":
        return len(case.blocks) > 1
    if name == "off-diagonal-dropped":
        return task == "krr" and any(len(block) > 1 for block in case.blocks)
    assert name in ALWAYS
    return len(case.blocks) > 0 and (task, name) in PAIRS


@pytest.mark.parametrize("draws", [50, pytest.param(150, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("task", TASKS)
def test_without_mutation_it_equals_both_references(task, draws):
    @settings(max_examples=draws)
    @given(cases_of(task), widths)
    def holds(case, s):
        classical, sstep = references(case, task, s)
        assert run(case, task, s) == classical == sstep

    holds()


SELDOM = ("svm-l2", "overlap-dropped")
"""Few drawn runs show it."""


@pytest.mark.parametrize(
    ("task", "name", "draws"),
    [
        pytest.param(
            task, defect.name, draws, marks=[pytest.mark.nightly] * (turn > 0 or (row + column) % 3 != 0)
        )
        for row, defect in enumerate(CATALOGUE)
        for column, task in enumerate(TASKS)
        for turn, draws in enumerate((60, 120) if (task, defect.name) == SELDOM else (15, 30))
    ],
)
def test_a_defect_changes_the_result_only_where_it_can_act(task, name, draws):
    (defect,) = [defect for defect in CATALOGUE if defect.name == name]
    seen: Counter = Counter()

    @settings(max_examples=draws)
    @given(cases_of(task), widths)
    def holds(case, s):
        changed = run(case, task, s, defect.mutation) != run(case, task, s)
        acts = can_act(name, case, task, s)
        seen["changed"] += changed
        seen["idle"] += not acts
        assert acts or not changed

    holds()
    assert seen["idle"] or name in ALWAYS, "no drawn run kept the defect from acting"
    assert bool(seen["changed"]) == ((task, name) in PAIRS), seen


@pytest.mark.parametrize(
    ("task", "quantity", "kind"),
    [
        pytest.param(task, one.name, kind, marks=[pytest.mark.nightly] * ((row + column + turn) % 2))
        for row, one in enumerate(QUANTITIES)
        for column, task in enumerate(one.tasks)
        for turn, kind in enumerate(("left out", "off"))
    ],
)
def test_every_quantity_has_a_mutation_that_changes_the_result(task, quantity, kind):
    mutation = left_out(quantity) if kind == "left out" else off_by(quantity, Fraction(-1, 2))
    if mutation is None:
        assert quantity in (TAIL, STREAM, WRITE_BACK, BOUNDARY)
        return

    def changed(drawn: tuple[Case, int]) -> bool:
        case, s = drawn
        return run(case, task, s, mutation) != run(case, task, s)

    find(st.tuples(cases_of(task), widths), changed, settings=QUICK)  # an error if there is none


def test_a_mutation_that_changes_nothing_is_distinguished():
    """A twin of the property above: the comparison itself must be able to say "equal"."""
    same = NONE.scaled(("kernel", "overlap"), 1, "same")

    @settings(max_examples=30)
    @given(cases_of("krr"), widths)
    def holds(case, s):
        assert run(case, "krr", s, same) == run(case, "krr", s)

    holds()


def test_repeated_draws_solved_for_once_are_a_run_on_distinct_blocks():
    once, seen = Mutation("once", once=True), Counter()

    @settings(max_examples=50)
    @given(cases(blocks_of_one=False, replacement=True), widths)
    def holds(case, s):
        distinct = replace(case, blocks=[list(dict.fromkeys(block)) for block in case.blocks])
        ended = run(case, "krr", s, once)
        assert ended == run(distinct, "krr", s)
        seen["changed"] += ended != run(case, "krr", s)

    holds()
    assert seen["changed"]
