"""Window-replay: what it says it could have seen, and what it names where a run is wrong."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from daily import crossed
from judged import judged, named, named_case
from mutable_runs import mutable_sstep_bdcd, mutable_sstep_dcd
from sstep_reference.arithmetic import Float

from sstep_verify.adapters import CallableSolver
from sstep_verify.checks import window_replay
from sstep_verify.checks.recorded import kernel_entries
from sstep_verify.declaration import Declaration
from sstep_verify.diagnosis.candidates import mistakes
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.oracle.facade import FIRST_BITS, Oracle
from sstep_verify.problems import Hinge, LinearKernel, RBFKernel, Ridge, SquaredHinge
from sstep_verify.quantities import STREAM, UPPER, quantities_of, required_quantities
from sstep_verify.recurrence.mutation import Mutation
from sstep_verify.solver import ProductionSolver
from sstep_verify.verdict import HintKind, Status, Why

LOSSES = [(Hinge(0.5), 1), (SquaredHinge(2.0), 1), (Ridge(0.05), 1), (Ridge(0.05), 3)]


def moved(case, offset: float):
    """The case with its data far from the origin, where norm expansion cancels."""
    data = np.asarray(case.problem.data) + offset
    return dataclasses.replace(case, problem=dataclasses.replace(case.problem, data=data))


@pytest.mark.parametrize("s", [1, 4])
def test_a_bound_as_wide_as_the_box_is_vacuous_also_for_the_classical_method(s):
    def garbage(_, blocks, __, a0):
        alpha = a0.copy()
        for step, (i,) in enumerate(blocks):
            alpha[i] = (i * 7919 + step * 104729) % 1000 / 1000
        return alpha

    solver = CallableSolver(garbage, Declaration("garbage"))
    case, _ = named_case(Hinge(1.0), RBFKernel(1.0), solver=solver, s_values=(s,))
    verdict = judged(window_replay, moved(case, 1e8), solver)[s]
    assert verdict.status is Status.VACUOUS
    assert not any(term.seen for term in verdict.terms if term.name in required_quantities(s))
    assert verdict.why in (Why.WITHIN_BOUND, Why.NO_BOUND)


@pytest.mark.parametrize(
    ("loss", "block", "update"), crossed(LOSSES, ["in-place", "frozen"], of=2, flat=True)
)
def test_quantities_are_those_of_the_run(loss, block, update):
    verdicts = judged(window_replay, *named_case(loss, block=block, solver=ProductionSolver(update=update)))
    for s, verdict in verdicts.items():
        wanted = [one.name for one in quantities_of(loss.task, update, s, block)]
        assert [term.name for term in verdict.terms] == wanted
        assert ("overlap" in wanted) == (update == "frozen" and s > 1)
        (stream,) = [term for term in verdict.terms if term.name == STREAM]
        assert stream.seen


@pytest.mark.parametrize("factor", [1 - 1e-6, 0.9])
def test_a_wrong_upper_end_fails_where_it_is_reached_and_is_named_unseen_elsewhere(factor):
    production = ProductionSolver()
    for C, reached in ((0.02, True), (50.0, False)):
        case, _ = named_case(Hinge(C), RBFKernel(0.5), s_values=(4,))
        wrong = dataclasses.replace(case.problem, loss=Hinge(C * factor))

        def run(request, observe=None, wrong=wrong):
            return production.run(dataclasses.replace(request, problem=wrong), observe)

        runs = {key: run(request) for key, request in window_replay.runs(case).items()}
        (verdict,) = window_replay.judge(case, runs, Oracle(case.problem))
        (term,) = [term for term in verdict.terms if term.name == UPPER]
        assert bool(term.seen) == reached
        if reached:
            assert verdict.status is Status.FAIL
        else:
            assert term.why is Why.NO_EFFECT


def with_mistake(mistake: Mutation) -> CallableSolver:
    """The mutable recurrence in float64, mistaken in every window."""

    def solve(problem, blocks, s, a0):
        double = Float("float64")
        common = (double, exact_kernel(problem, double), problem.targets, double.vector(a0))
        if problem.is_svm:
            options = {"loss": problem.loss.task, "C": problem.hinge.C}
            return mutable_sstep_dcd(*common, blocks.ravel(), s, **options, mutation=mistake)
        return mutable_sstep_bdcd(*common, blocks, s, penalty=problem.ridge.penalty, mutation=mistake)

    declared = Declaration("mistaken", update="frozen", rbf="difference")
    return CallableSolver(solve, declared)


@pytest.mark.parametrize(
    "turn", [0, *(pytest.param(one, marks=pytest.mark.nightly) for one in range(1, 8))]
)
@pytest.mark.parametrize(("loss", "block"), LOSSES)
def test_the_mistake_that_was_made_is_named(loss, block, turn):
    names = [one.name for one in quantities_of(loss.task, "frozen", 4, block)]
    # An early draw moves a coordinate that its window does not draw, which is said instead.
    told = [mistake for mistake in mistakes(loss.task, names) if not (mistake.early or mistake.lose_tail)]
    tried, red = told[turn::8], 0
    for mistake in tried:
        # Far from the optimum, where most quantities act, and where 4 divides what is run.
        case, solver = named_case(
            loss, block=block, solver=with_mistake(mistake), s_values=(4,), iterations=12, samples=6
        )
        verdict = judged(window_replay, case, solver)[4]
        red += verdict.status is Status.FAIL
        if mistake.write_back == 0:  # Where nothing ever moves, no defect is told from another.
            assert [one.kind for one in verdict.hints] == [HintKind.NOTHING_MOVED], verdict.reason
        elif verdict.status is Status.FAIL and verdict.ratio < np.inf:
            assert mistake.name in named(verdict), (mistake, verdict.reason)
    # Some change nothing here: an overlap of free steps, the off-diagonal of a block of one.
    assert red >= len(tried) - 3


def test_wide_balls_raise_the_precision_and_not_the_measured_error():
    case, solver = named_case(SquaredHinge(1.0), samples=40, iterations=1200, s_values=(600,), features=8)
    verdict = judged(window_replay, case, solver)[600]
    assert verdict.status is Status.PASS
    assert max(window["bits"] for window in verdict.evidence["windows"]) > FIRST_BITS
    assert verdict.measured < 1e-12
    assert verdict.ratio < 0.1


def test_far_from_the_origin_neither_entries_nor_windows_show_anything():
    case, solver = named_case(Hinge(1.0), RBFKernel(1.0), s_values=(4,))
    far = moved(case, 1e8)
    assert judged(kernel_entries, far, solver)[4].status is Status.VACUOUS
    verdict = judged(window_replay, far, solver)[4]
    assert verdict.status is Status.VACUOUS
    near = judged(window_replay, case, solver)[4]
    assert near.status is Status.PASS
    assert judged(kernel_entries, case, solver)[4].status is Status.PASS


def test_a_kernel_defect_that_is_none_on_this_input_hides_nothing():
    """Labels all alike: inside a linear kernel they change no entry."""
    case, solver = named_case(Hinge(0.5), LinearKernel(), s_values=(4,))
    same = dataclasses.replace(case.problem, targets=np.ones(12))
    verdict = judged(kernel_entries, dataclasses.replace(case, problem=same), solver)[4]
    assert verdict.status is Status.PASS
    (labels,) = [term for term in verdict.terms if term.name == "labels inside the kernel"]
    assert labels.why is Why.NO_EFFECT


def test_undecided_windows_are_no_execution():
    case, solver = named_case(Ridge(1e-3), block=4, solver=ProductionSolver(), s_values=(4,), windows=8)
    data = np.asarray(case.problem.data).copy()
    data[:2] *= 1e9  # blocks with these samples are too ill-conditioned for any promise
    long = dataclasses.replace(case, problem=dataclasses.replace(case.problem, data=data))
    verdict = judged(window_replay, long, solver)[4]
    undecided = [w for w in verdict.evidence["windows"] if w["status"] == "VACUOUS"]
    assert undecided
    assert verdict.executed == len(verdict.evidence["windows"]) - len(undecided)
    for term in verdict.terms:
        assert term.decided == verdict.executed
