"""A final vector in another convention, or of another problem, is explained by exactly one hint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from answer_vectors import KRR, L1, L2, LINEAR, PLANTED, POLY, RBF, optimum, small, with_penalties
from hypothesis import given, settings
from hypothesis import strategies as st

from sstep_verify.adapters.stored import StoredVector, read_vector
from sstep_verify.checks import optimum as check
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.final_vector import MEASURED, OVER
from sstep_verify.diagnosis.hints import HINTS
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Hinge, IndexStream, RBFKernel
from sstep_verify.protocol import Declaration, RunRequest
from sstep_verify.report.words import reading, violated
from sstep_verify.rounding.arithmetic import ROUND_UP
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import HintKind, NoteKind, ReadingKind, Status

ORACLES: dict = {}


def judged(problem, vector, tolerance=1e-8, rounding=None):
    stored = StoredVector("alpha.txt", vector, np.zeros(vector.size) if rounding is None else rounding)
    stream = IndexStream("uniform", problem.samples, 1, 1, 0)
    claims = {"tolerance": tolerance}
    case = Case("case", problem, stream, (1,), 1, stored.declaration, claims=claims)
    oracle = ORACLES.setdefault(problem.digest, Oracle(problem))
    (verdict,) = check.CHECK.judge(case, {"s=1": stored.run(RunRequest(problem, stream, 1, 1))}, oracle)
    return verdict


def readings(verdict):
    """Kinds of the readings that explain a vector."""
    return [hint.detail[0] for hint in verdict.hints if hint.kind is HintKind.READING]


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_vector_is_explained_by_its_hint_and_no_other(name):
    loss, kernel, hint, words, plant = PLANTED[name]
    problem = small(loss, kernel)
    verdict = judged(problem, plant(problem))
    assert verdict.status is Status.FAIL
    assert readings(verdict) == [hint]
    assert words in reading(*verdict.hints[0].detail)


def test_every_hint_has_a_planted_vector():
    assert {hint for _, _, hint, _, _ in PLANTED.values()} == set(HINTS)


@pytest.mark.parametrize("loss", [L1, L2, KRR])
@pytest.mark.parametrize("kernel", [RBF, POLY, LINEAR])
def test_a_right_vector_passes_and_is_not_explained(loss, kernel):
    problem = small(loss, kernel)
    verdict = judged(problem, optimum(problem))
    assert verdict.status is Status.PASS, verdict.reason
    assert readings(verdict) == []


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    st.sampled_from([L1, L2, KRR]), st.integers(0, 2**32), st.sampled_from([1e-3, 1.0, 1e3]), st.booleans()
)
def test_garbage_is_explained_by_nothing(loss, seed, size, positive):
    problem = small(loss, RBF)
    vector = size * np.random.Generator(np.random.PCG64(seed)).standard_normal(problem.samples)
    verdict = judged(problem, np.abs(vector) if positive else vector)
    assert verdict.status is Status.FAIL
    assert readings(verdict) == []


@pytest.mark.parametrize("loss", [L1, L2, KRR])
def test_a_vector_that_is_only_near_is_explained_by_nothing(loss):
    problem = small(loss, RBF)
    best = optimum(problem)
    moved = best * (1 + 1e-3 * np.cos(np.arange(best.size)))
    verdict = judged(problem, np.minimum(moved, 0.7) if loss is L1 else moved)
    assert verdict.status is Status.FAIL
    assert readings(verdict) == []


@pytest.mark.parametrize("passes", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("width", [0.03, 0.3, 3.0])
def test_a_run_that_ended_early_is_none_of_weighted_samples(passes, width):
    """Its last coordinates lie on the margin, and any C explains those within it."""
    problem = small(L1, RBFKernel(width))
    vector = with_penalties(problem, np.full(problem.samples, 0.7), passes)
    assert not {ReadingKind.C_BY_SAMPLE, ReadingKind.C_BY_CLASS} & {*readings(judged(problem, vector))}


def test_other_problems_of_the_same_optimum_are_not_reported_next_to_a_convention():
    problem = small(Hinge(1e6), RBF)
    verdict = judged(problem, problem.targets * optimum(problem))
    assert readings(verdict) == [ReadingKind.SIGNED]


@pytest.mark.parametrize("size", [np.inf, np.nan, 1e300])
def test_a_vector_that_float64_cannot_evaluate_fails_without_a_warning(size, recwarn):
    for loss in (L2, KRR):
        problem = small(loss, RBF)
        assert judged(problem, np.full(problem.samples, size)).status is Status.FAIL
    assert not recwarn.list


def test_the_answer_of_an_ordinary_run_that_fails_is_explained_too():
    problem = small(KRR, RBF)
    stream = IndexStream("uniform", 32, 1, 4, 0)
    wrong = Trajectory(1, 0, np.array([0, 4]), np.array([np.zeros(32), 32 * optimum(problem)]))
    wrong = replace(wrong, stopped="tolerance")
    case = Case(
        "case", problem, stream, (1,), 4, Declaration("mine"), claims={"tolerance": 1e-8}, told=True
    )
    (verdict,) = check.CHECK.judge(case, {"s=1": wrong}, Oracle(problem))
    assert readings(verdict) == [ReadingKind.SCALED]
    assert verdict.hints[0].detail[3:5] == (32.0, "m")
    right = replace(wrong, alphas=wrong.alphas / 32)
    (verdict,) = check.CHECK.judge(case, {"s=1": right}, Oracle(problem))
    assert verdict.status is Status.PASS


@pytest.mark.parametrize("loss", [L1, L2, KRR])
@pytest.mark.parametrize("form", ["%.2f", "%.3g", "%.6f", "%.5e", "%g"])
def test_no_printed_optimum_fails(loss, form, tmp_path):
    problem = small(loss, RBF)
    np.savetxt(tmp_path / "alpha.txt", optimum(problem), fmt=form)
    values, rounding = read_vector(tmp_path / "alpha.txt", problem.samples)
    verdict = judged(problem, values, rounding=rounding)
    assert verdict.status in (Status.PASS, Status.VACUOUS)
    assert NoteKind.ROUNDED in [note.kind for note in verdict.notes]
    exact = judged(problem, optimum(problem))
    assert NoteKind.ROUNDED not in [note.kind for note in exact.notes]


def test_a_hint_breaks_the_sentence_of_its_mistake():
    problem = small(KRR, RBF)
    verdict = judged(problem, 32 * optimum(problem))
    assert verdict.requirements == ("S-1.4",)
    # A reading is no proof of its cause.
    assert violated(verdict).startswith("May violate S-1.4")
    assert violated(replace(verdict, hints=())).startswith("Violates S-1.4")


@pytest.mark.parametrize("kernel", [RBF, POLY, LINEAR])
def test_of_targets_that_are_0_the_optimum_is_exact_and_no_distance_is_relative(kernel):
    problem = small(KRR, kernel)
    problem = replace(problem, targets=np.zeros(problem.samples))
    right = judged(problem, np.zeros(problem.samples))
    assert (right.measured, right.bound, right.evidence[MEASURED], right.evidence[OVER[1]]) == (
        0,
        0,
        [0, 0],
        [0, 0],
    )
    assert right.status is Status.PASS
    assert [one.seen for one in right.terms] == [1]  # Nothing was run, so no step need show.
    wrong = judged(problem, np.full(problem.samples, 1e-9))
    size = 1e-9 * np.sqrt(problem.samples)
    low, high = wrong.evidence[MEASURED]
    assert wrong.status is Status.FAIL
    assert size / ROUND_UP**4 <= low <= size <= high <= size * ROUND_UP**4
    assert wrong.evidence[OVER[1]] == [np.inf, np.inf]
    assert NoteKind.RELATIVE not in {note.kind for note in wrong.notes}
