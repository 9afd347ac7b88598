"""Windows by hand: how many a segment is, what its precision resolves, what it has; and relations of runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sstep_reference.arithmetic import Rational

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.comparison import Comparison, Window
from sstep_verify.checks.shared.continued import joined
from sstep_verify.checks.together import CORRECTIONS, related, settled
from sstep_verify.checks.window.compare import RunWindow, resolution
from sstep_verify.declaration import Declaration
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.oracle.effects import acting
from sstep_verify.oracle.replay import Replay
from sstep_verify.oracle.window_ends import begun_window
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem
from sstep_verify.quantities import KERNEL, RidgeSteps, SvmSteps
from sstep_verify.report.verdicts import _label
from sstep_verify.report.words import cause, violated
from sstep_verify.specification import specification
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Defect, Status, Verdict


@pytest.mark.parametrize(
    ("steps", "s", "windows", "tail"),
    [(7, 3, 3, False), (6, 3, 2, False), (2, 3, 1, True), (0, 3, 1, True), (7, 0, 1, False)],
)
def test_a_segment_is_as_many_windows_as_store_a_frozen_value(steps, s, windows, tail):
    segment = RunWindow(
        Window(0, steps), np.zeros(2), np.zeros(2), np.zeros((steps, 1), dtype=np.int64), s=s
    )
    assert (segment.windows, segment.tail) == (windows, tail)


@pytest.mark.parametrize(("precision", "u"), [("float64", 2.0**-53), ("float32", 2.0**-24)])
def test_the_precision_resolves_half_an_ulp_of_what_a_coordinate_went_through(precision, u):
    draws = np.array([1, 0, 1])
    increments = np.array([0.5, -8.0, -2.0])
    steps = SvmSteps(draws, np.zeros(3), increments, np.zeros(3), np.zeros(3))
    replay = Replay(np.array([3, 0]), np.zeros(2), np.zeros(2), steps, {}, 192)
    begin, end = np.array([1.0, 0.0, 0.0, -3.0]), np.array([-4.0, 0.0, 0.0, 7.0])
    declaration = Declaration("any", precision=precision)
    # Of sample 3 the increment of 8, of sample 0 its last value.
    assert resolution(declaration, replay, begin, end).tolist() == [8 * u, 4 * u]
    blocks = Replay(replay.places, np.zeros(1), np.zeros(1), RidgeSteps(draws, increments), {}, 192)
    assert resolution(declaration, blocks, begin, end).tolist() == [0.0]


@pytest.mark.parametrize(("drawn", "corrected"), [([0, 1], True), ([1, 1], False), ([2], False)])
def test_a_window_of_two_coordinates_has_a_kernel_correction(drawn, corrected):
    problem = Problem("two", np.eye(3), np.ones(3), LinearKernel(), Hinge(1.0))
    kernel = exact_kernel(problem, Rational())
    start = kernel.arithmetic.vector(np.zeros(3))
    window = begun_window(problem, kernel, start, np.array(drawn)[:, None])
    assert (KERNEL in acting(problem, window)) == corrected


def test_a_relation_of_two_runs_is_not_decided_by_a_third():
    def verdict(check: str, s: int, status: Status) -> Verdict:
        return Verdict(check, "a", "p", s, 1, status, 0.1, 0.1, 1.0, "absolute", 4, 4)

    relation = verdict("sstep-equals-classical", 4, Status.FAIL)
    steps = {s: verdict("step-replay", s, Status.PASS) for s in (1, 4, 16)}
    for wrong, status in ((16, Status.FAIL), (4, Status.VACUOUS), (1, Status.VACUOUS)):
        known = steps | {wrong: verdict("step-replay", wrong, Status.FAIL)}
        (found,) = related([relation], [*known.values(), relation])
        assert found.status is status


@pytest.mark.parametrize(("ratio", "origin"), [(0.5, "bounds/window/svm"), (0.01, "bounds/screen")])
def test_the_origin_is_that_of_the_bound_whose_ratio_is_reported(ratio, origin):
    problem = Problem("two", np.eye(2), np.ones(2), LinearKernel(), Hinge(1.0))
    case = Case("a", problem, IndexStream("uniform", 2, 1, 8), (2,), 8, Declaration("any"))
    plain, after = (Trajectory(2, begin, np.array([0, 8 - begin]), np.zeros((2, 2))) for begin in (0, 4))
    told = Verdict(
        "window-replay",
        "a",
        "p",
        2,
        1,
        Status.PASS,
        0.1,
        0.1,
        1.0,
        "absolute",
        4,
        4,
        bound_origin="bounds/screen",
    )
    comparison = Comparison(ratio, ratio, 1.0, Window(0, 2))
    found = joined(told, case, plain, after, comparison, "bounds/window/svm", 1)
    assert (found.ratio, found.bound_origin) == (max(ratio, 0.1), origin)


@given(
    sentence=st.sampled_from([one for one in specification().sentences if one.mistakes or one.quantities]),
    gate=st.sampled_from(["step-replay", "window-replay"]),
    classical=st.sampled_from([Status.PASS, Status.FAIL, Status.VACUOUS]),
    part=st.none() | st.just((33, 36)),
)
def test_a_missing_correction_is_no_certain_cause_where_s_1_is_faulty(sentence, gate, classical, part):
    """A window of one step has none. Where the kernel is nearly the identity, it looks like one."""
    problem = Problem("two", np.eye(2), np.ones(2), LinearKernel(), Hinge(1.0))
    case = Case("a", problem, IndexStream("uniform", 2, 1, 8), (1, 4), 8, Declaration("any", log=True))
    name = next(iter((*sentence.mistakes, *(f"{quantity} left out" for quantity in sentence.quantities))))
    named = Defect((name,), None, (sentence.number,), part=part)

    def verdict(check, s, status, *defects):
        requirement = sentence.number * bool(defects)
        fields = {"defects": defects, "requirement": requirement}
        return Verdict(check, "a", "p", s, 1, status, 0.1, 0.1, 1.0, "absolute", 4, 4, **fields)

    plain = verdict(gate, 1, classical), verdict("step-replay", 4, Status.FAIL, named)
    _, found = settled(case, plain)
    between = bool(sentence.quantities) and {*sentence.quantities} <= CORRECTIONS
    uncertain = classical is Status.FAIL and between
    assert found.defects[0].shared == uncertain
    assert cause(found.defects).startswith("Cause") == (not uncertain)
    assert violated(found).startswith("May violate") == uncertain
    assert (_label({"defects": [{"shared": one.shared} for one in found.defects]}) == "Cause") != uncertain
