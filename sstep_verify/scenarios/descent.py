"""Runs in float64 for the design of scenarios: near-converged starts, and which terms of a step act.

They come from the reference and from the mutable recurrence of `sstep_verify.recurrence`. Nothing is judged
by these numbers: they choose inputs. A wrong one makes an input less telling, never a verdict wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from sstep_reference import Kernel, dcd_ksvm
from sstep_reference.arithmetic import Float

from sstep_verify import quantities
from sstep_verify.problems.problem import Problem
from sstep_verify.problems.streams import IndexStream
from sstep_verify.recurrence.mutants import run_mutant
from sstep_verify.recurrence.mutation import NONE, LocalWindow, Mutation, left_out, off_by
from sstep_verify.recurrence.steps import BlockSolve, Finisher, Solve, finisher_of, mutable_window
from sstep_verify.scenarios.data import BITS, in_bits, in_precision

SWEEPS = 64
"""Passes over all coordinates behind a near-converged start of a K-SVM."""

SHARE = 0.01
"""Part of a term's relative change that must show in alpha, next to what a window adds to it at most."""

CHANGE = Fraction(1, 2**10)
"""Relative change of a term, either way, whose effect at the window's end is looked at."""

TERMS = (quantities.KERNEL, quantities.OVERLAP, quantities.OMEGA)

_FLOAT = Float("float64")


def design_kernel(problem: Problem) -> np.ndarray:
    """Kernel matrix (K), shape (m, m), float64, distances by direct difference."""
    return np.array(_kernel(problem).matrix())


def design_diagonal(problem: Problem) -> np.ndarray:
    """Diagonal of the kernel matrix, shape (m,), float64."""
    kernel = _kernel(problem)
    return np.array([kernel.values(i, i + 1)[i] for i in range(problem.samples)])


def _kernel(problem: Problem) -> Kernel:
    data: Any = problem.dense
    # The fields of a description are the parameters of the reference's kernel of that name.
    return Kernel(_FLOAT, data, problem.kernel.name, **asdict(problem.kernel))


def near_converged(problem: Problem, precision: str) -> np.ndarray:
    """A start vector close to the optimum (a0), shape (m,), feasible, rounded to 24 bits.

    K-SVM: the result of `SWEEPS` cyclic sweeps of the reference from zero. K-RR: the solution of
    ``(K/lambda + m I) a = y`` in float64. Rounding leaves it a distance of about 2**-24 from there, and
    hides most of what differs between linear algebra libraries. With float32 it is representable there.
    """
    upper = np.inf
    if problem.is_svm:
        upper, m = problem.hinge.upper, problem.samples
        options: dict[str, Any] = {"loss": problem.loss.task, "C": problem.hinge.C}
        cyclic = [i for _ in range(SWEEPS) for i in range(m)]
        with np.errstate(over="ignore"):  # a step beyond the range of numbers ends at the box all the same
            labels, zeros = problem.targets.tolist(), [0] * m
            vector = dcd_ksvm(_FLOAT, _kernel(problem), labels, zeros, cyclic, **options)
    else:
        vector = _ridge_solution(problem, design_kernel(problem), problem.targets)
    return in_precision(np.minimum(in_bits(vector, BITS), upper), precision)


def _ridge_solution(
    problem: Problem, kernel: np.ndarray, right: np.ndarray, mutation: Mutation = NONE
) -> np.ndarray:
    """Solution of ``(K/lambda + m I) x = right`` for a positive semidefinite K, however large.

    By eigenvalues: m would be lost in the sum if K/lambda is large, and elimination meet a zero pivot. A
    mutation scales m, lambda and the entries off the diagonal.
    """
    if mutation.off_diagonal != 1:
        diagonal = np.diag(np.diag(kernel))
        kernel = diagonal + float(mutation.off_diagonal) * (kernel - diagonal)
    values, vectors = np.linalg.eigh(kernel / (problem.ridge.penalty * float(mutation.penalty)))
    shifted = np.maximum(values, 0.0) + problem.samples * float(mutation.samples)
    return vectors @ ((vectors.T @ right) / shifted)


def acting_terms(
    problem: Problem,
    stream: IndexStream,
    s: int,
    initial: np.ndarray | None = None,
    terms: Collection[str] = TERMS,
) -> frozenset[str]:
    """Quantities of the s-step recurrence (the paper's form) that have an effect somewhere in a run.

    A term has an effect if making it larger or smaller by `CHANGE` throughout some window moves alpha at
    that window's end, either way, by at least ``SHARE CHANGE`` times the most that any window of the run
    moved alpha (by largest coordinates). A window that reached its optimum moves alpha by rounding errors,
    so its own move is no measure. A run that moves alpha by less than a near-converged start is rounded
    (``2**-BITS``) says nothing about any term.

    A term's size says less: an overlap that only moves a free K-SVM step has size but no effect, and a clip
    may swallow any effect. A quantity that is there or not (`off_by` knows no small change of it) is left
    out instead, which is a change by all of it. A window's boundary has an effect only where a window comes
    after, and the tail where the last window is short and moves alpha. The run goes through all of the
    stream.
    """
    finisher = _finisher(problem)
    known = quantities.quantities_of(problem.loss.task, "frozen", s, stream.block)
    missing = {quantity.name for quantity in known if quantity.name in terms}
    start = np.zeros(problem.samples) if initial is None else initial
    blocks = stream.blocks(0, stream.length).tolist()
    with np.errstate(over="ignore"):
        runs = run_mutant(_kernel(problem), problem.targets, finisher, start, blocks, s)
        windows = [(run.window, run.reached) for run in runs if run.window]
    moves = [float(np.abs(end - window.start).max()) for window, end in windows]
    most = max(moves, default=0.0)
    if most < 2.0**-BITS * max((float(np.abs(end).max()) for _, end in windows), default=0.0):
        return frozenset()
    acting: set[str] = set()
    for place, (window, end) in enumerate(windows):
        last = place + 1 == len(windows)
        for term in sorted(missing - acting) if moves[place] else ():
            if term == quantities.BOUNDARY and last:
                continue
            if term == quantities.TAIL:
                effect = moves[place] if last and len(window.draws) < s else 0.0
            else:
                effect = _effect(term, partial(_apart, finisher, window, end))
            if effect >= SHARE * most:
                acting.add(term)
    return frozenset(acting)


@np.errstate(over="ignore")
def _apart(finisher: Finisher, window: LocalWindow, end: np.ndarray, mutation: Mutation) -> float:
    """Largest distance of a mutant's window end from the right one."""
    return float(np.abs(mutable_window(_FLOAT, window, finisher, mutation) - end).max())


def _effect(term: str, apart: Callable[[Mutation], float]) -> float:
    """What a change of a term does, per unit of it: the lesser of both ways, or that of leaving it out."""
    changed = [off_by(term, change) for change in (-CHANGE, CHANGE)]
    if None in changed:
        return apart(left_out(term))
    return min(apart(mutation) for mutation in changed if mutation) / float(CHANGE)


def _finisher(problem: Problem) -> Finisher:
    """The finisher of a problem's steps, block systems solved by eigenvalues."""
    finisher = finisher_of(problem, _FLOAT)
    if not isinstance(finisher, Solve):
        return finisher

    def systems(window: LocalWindow, mutation: Mutation) -> BlockSolve:
        def solve(step: int, right: np.ndarray) -> np.ndarray:
            block = window.draws[step]
            system = np.array([window.gram[i][block] for i in block])
            return _ridge_solution(problem, system, right, mutation)

        return solve

    return replace(finisher, systems=systems)
