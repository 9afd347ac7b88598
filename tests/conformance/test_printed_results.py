"""A program that prints its result: the text of all its numbers says how exactly, and a verdict says so too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from daily import some
from printing import described, drawn_problem

from sstep_verify import judge
from sstep_verify.adapters.program import ProgramSolver, read_program
from sstep_verify.problems import Hinge
from sstep_verify.verdict import NoteKind, Status, Why

pytestmark = pytest.mark.pool_only

FINAL = '[final]\nfile = "final.txt"\n'


def rounded(verdict):
    """The notes on digits that were rounded: the largest rounding, for how many values, of how many."""
    return [note.detail for note in verdict.notes if note.kind is NoteKind.ROUNDED]


def judged(path, problem, stream, s=1):
    """The verdict of check trajectory, which is alone with that of contract."""
    verdicts = judge(ProgramSolver(read_program(path)), problem, stream, s, checks=("trajectory",))
    assert [one.check for one in verdicts] == ["contract", "trajectory"]
    return verdicts[1]


@pytest.mark.parametrize("seed", some(range(6), of=3))
def test_values_that_are_snapped_to_the_ends_of_the_box_fail_in_every_exact_format(
    printing, tmp_path, seed
):
    random = np.random.Generator(np.random.PCG64(seed))
    problem, stream = drawn_problem(random)
    problem = replace(problem, loss=Hinge(float(random.integers(1, 4))))
    low = float(random.uniform(0.2, 0.48)) * problem.hinge.C
    form, s = random.choice(["%.17g", "%.17e", "%a", "%.20f"]), int(random.choice([1, 3]))
    right = judged(described(tmp_path, printing, form, tables=FINAL), problem, stream, s)
    assert right.status is Status.PASS
    snapped = described(tmp_path, printing, form, ends=(low, problem.hinge.C - low), tables=FINAL)
    assert judged(snapped, problem, stream, s).status is Status.FAIL


@pytest.mark.parametrize("seed", range(4))
def test_a_rounding_that_is_most_of_the_bound_is_reported(printing, tmp_path, seed):
    random = np.random.Generator(np.random.PCG64(100 + seed))
    problem, stream = drawn_problem(random)
    digits, s = int(random.integers(3, 10)), int(random.choice([1, 3]))
    form = str(random.choice([f"%.{digits}g", f"%.{digits}e", f"%.{digits}f"]))
    verdict = judged(described(tmp_path, printing, form, tables=FINAL), problem, stream, s)
    assert verdict.status in (Status.PASS, Status.VACUOUS)
    assert rounded(verdict)


@pytest.mark.parametrize("seed", some(range(4), of=2))
def test_sixteen_digits_fail_no_right_program_and_hide_no_defect(printing, tmp_path, seed):
    random = np.random.Generator(np.random.PCG64(200 + seed))
    problem, stream = drawn_problem(random)
    problem = replace(problem, loss=Hinge(float(random.uniform(1.0, 2.0))))
    form, s = str(random.choice(["%.16g", "%.15e"])), int(random.choice([3, 8]))
    assert float(form % problem.hinge.C) != problem.hinge.C
    right = judged(described(tmp_path, printing, form, tables=FINAL), problem, stream, s)
    assert right.status is Status.PASS
    wrong = described(tmp_path, printing, form, mistake="none", tables=FINAL)
    assert judged(wrong, problem, stream, s).status is Status.FAIL
    # Without [final] nothing is held against exact values that the text may not show.
    bare = ProgramSolver(read_program(described(tmp_path, printing, form)))
    (told, *others) = judge(bare, problem, stream, s, checks=("window-replay", "trajectory"))
    assert told.status is Status.FAIL
    assert "printed with at most 16 significant digits" in told.reason
    assert not others


@pytest.mark.parametrize("s", [1, 3])
def test_integers_alone_hide_the_planted_defect(printing, tmp_path, s):
    problem, stream = drawn_problem(np.random.Generator(np.random.PCG64(7)))
    problem = replace(problem, loss=Hinge(1.0))
    verdict = judged(described(tmp_path, printing, "%.0f", tables=FINAL), problem, stream, s)
    assert verdict.status is Status.VACUOUS
    assert rounded(verdict) == [(pytest.approx(0.5), 14, 14)]
    assert verdict.why in (Why.WITHIN_BOUND, Why.NO_EFFECT)


def test_a_result_reads_alike_with_final_and_without(printing, tmp_path):
    problem, stream = drawn_problem(np.random.Generator(np.random.PCG64(3)))
    for form, exact in (("%.17g", True), ("%.17e", True), ("%a", True), ("%.6f", False), ("%g", False)):
        named = judged(described(tmp_path, printing, form, tables=FINAL), problem, stream, 3)
        assert (not rounded(named)) == exact
        alone = ProgramSolver(read_program(described(tmp_path, printing, form)))
        if exact:
            assert judge(alone, problem, stream, 3, checks=("trajectory",))[1].status is Status.PASS
        else:
            verdict = judge(alone, problem, stream, 3, checks=("trajectory",))[0]
            assert verdict.status is Status.FAIL
            assert "significant digits" in verdict.reason
            assert "[final]" in verdict.reason
