"""Checks on what is stated of windows, panels, biases and coordinates: each decision on a small example."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from judged import judged, named, named_case

from sstep_verify.checks import sstep_equals_classical, window_replay
from sstep_verify.checks.recorded import kernel_entries as kernel_entries_check
from sstep_verify.diagnosis import other_problems
from sstep_verify.diagnosis.kernel_rows import SPLIT, differs
from sstep_verify.judging import judge
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import (
    Hinge,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.trajectory import Panel
from sstep_verify.verdict import Status


@pytest.mark.parametrize(("loss", "block"), [(Hinge(0.5), 1), (SquaredHinge(2.0), 1), (Ridge(0.05), 3)])
def test_a_window_that_no_other_problem_explains_is_put_down_to_none(loss, block):
    case, solver = named_case(loss, RBFKernel(0.3), block=block, s_values=(4,), iterations=8)

    def change(run):
        alphas = run.alphas.copy()
        alphas[1:, case.stream.blocks(0, 4)[-1]] *= 1.0 + 1e-4
        alphas[1:, case.stream.blocks(0, 4)[0]] += 1e-4
        return replace(run, alphas=alphas)

    verdict = judged(window_replay, case, solver, change)[4]
    assert verdict.status is Status.FAIL
    assert not {*named(verdict)} & {*other_problems.SOLVED_INSTEAD}


@pytest.mark.parametrize("whole", [False, True])
def test_a_panel_without_an_entry_is_what_is_wrong_and_no_error_of_a_check(whole):
    case, solver = named_case(Hinge(0.5), s_values=(4,), iterations=16)

    class Empty:
        declaration = solver.declaration

        def run(self, request, observe=None):
            made = solver.run(request, observe)
            none = np.zeros(0, dtype=np.int64)
            empty = Panel(none, np.zeros((0, case.problem.samples)))
            if made.panels and whole:  # Rows, of no entry.
                first = next(iter(made.panels.values()))
                empty = Panel(first.columns, np.zeros((len(first.columns), 0)), none)
            return replace(made, panels=dict.fromkeys(made.panels, empty))

    (verdict,) = judge(Empty(), case.problem, case.stream, 4, checks=("kernel-entries",))
    assert (verdict.check, verdict.status) == ("contract", Status.FAIL)
    assert [(one.item, one.found) for one in verdict.violations][:1] == [("panels", "no entry")]
    (alone,) = judged(kernel_entries_check, case, Empty()).values()
    assert (alone.status, alone.requirement) == (Status.FAIL, "S-5.2")


@pytest.mark.parametrize(("loss", "block"), [(Hinge(0.5), 1), (SquaredHinge(2.0), 1), (Ridge(0.05), 3)])
def test_coordinates_that_were_not_written_down_are_not_compared(loss, block):
    case, solver = named_case(loss, RBFKernel(0.3), block=block, s_values=(4,), iterations=24)
    known = np.ones(12, dtype=bool)
    known[case.stream.blocks(0, 4)[:2].ravel()[:2]] = False

    def change(run):
        alphas = run.alphas.copy()
        alphas[:, ~known] = 0.0
        return replace(run, alphas=alphas, known=known)

    verdict = judged(sstep_equals_classical, case, solver, change)[4]
    assert verdict.status in (Status.PASS, Status.VACUOUS), verdict.reason
    assert verdict.ratio < 1


def test_a_kernel_of_parts_differs_only_where_the_parts_do():
    half = np.array([[1.0, 0.5, 0.0, 0.0], [0.25, -1.0, 0.0, 0.0]])
    full = np.array([[1.0, 0.5, 0.25, 1.0], [0.25, -1.0, 0.5, 2.0]])
    for data, different in ((half, False), (full, True)):
        problem = Problem("parts", data, np.ones(2), PolynomialKernel(2, 0.0), Hinge(1.0))
        assert differs(problem, SPLIT, np.arange(2), Oracle(problem)) == different
