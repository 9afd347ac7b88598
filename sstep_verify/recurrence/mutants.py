"""Mutants: the catalogue of defects, and runs of the recurrence over a whole stream, in any arithmetic.

Each defect is a named mutation of the one recurrence; `sstep_verify.meanings` says what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sstep_verify.meanings import meaning_of
from sstep_verify.recurrence.mutation import NONE, Before, LocalWindow, Mutation, Vector, local_window
from sstep_verify.recurrence.steps import Finisher, mutable_window


@dataclass(frozen=True)
class Defect:
    """A named defect.

    Parameters
    ----------
    mutation : Mutation
        Factors and switches that make the defect; its name is the defect's.
    bug_type : {"correction", "step", "box", "parameter", "stream", "store"}
        Part of a solver that it is in.
    tasks : tuple of str
        Tasks whose recurrence has the term: svm-l1, svm-l2, krr.
    """

    mutation: Mutation
    bug_type: str
    tasks: tuple[str, ...] = ("svm-l1", "svm-l2", "krr")

    @property
    def name(self) -> str:
        """Name of the defect."""
        return self.mutation.name

    @property
    def meaning(self) -> str:
        """What it is, in one line."""
        return meaning_of(self.name)


SVM = ("svm-l1", "svm-l2")

CATALOGUE: tuple[Defect, ...] = (
    Defect(Mutation("overlap-dropped", overlap=0), "correction"),
    Defect(Mutation("omega-dropped", omega_stale=0, omega_overlap=0), "step", ("svm-l2",)),
    Defect(Mutation("stale-alpha", kernel=0, kernel_overlap=0, overlap=0, omega_overlap=0), "correction"),
    Defect(Mutation("tail-lost", lose_tail=True), "stream"),
    Defect(Mutation("assigned-once", assign_once=True), "store"),
    Defect(Mutation("correction-dropped", kernel=0, kernel_overlap=0), "correction"),
    Defect(Mutation("curvature-halved", curvature=Fraction(1, 2)), "step"),
    Defect(Mutation("label-lost", labels=-1), "step", SVM),
    Defect(Mutation("upper-end-lost", upper=None), "box", ("svm-l1",)),
    Defect(Mutation("upper-end-halved", upper=Fraction(1, 2)), "box", ("svm-l1",)),
    Defect(Mutation("lower-end-lost", leak=1), "box", SVM),
    Defect(Mutation("boundary-off-by-one", boundary=0), "store"),
    Defect(Mutation("draws-off-by-one", early=True), "stream"),
    Defect(Mutation("m-doubled", samples=2), "parameter", ("krr",)),
    Defect(Mutation("lambda-doubled", penalty=2), "parameter", ("krr",)),
    Defect(Mutation("off-diagonal-dropped", off_diagonal=0), "step", ("krr",)),
    Defect(Mutation("write-back-lost", write_back=0), "store"),
)


@dataclass(frozen=True, eq=False)
class MutantWindow:
    """One window of a mutant's run.

    Parameters
    ----------
    begin, end : int
        Iterations before it and after it.
    window : LocalWindow or None
        Its data at its start; None of a last window that the mutation leaves out.
    steps : list
        What the finisher keeps of every step.
    reached : vector of length c
        The dual vector at its end, on its coordinates, as it is stored.
    alpha : vector of length m
        The whole dual vector at its end; the run goes on in it, and so who keeps it copies it.
    """

    begin: int
    end: int
    window: LocalWindow | None
    steps: list
    reached: Vector
    alpha: Vector


def run_mutants(
    kernel: Any,
    targets: Any,
    finisher: Finisher,
    initial: Any,
    blocks: Sequence[Sequence[int]],
    s: int,
    mutations: Sequence[Mutation],
    stored: Callable[[Vector], Any] = lambda reached: reached,
) -> Iterator[list[MutantWindow]]:
    """Run mutants of the s-step recurrence side by side, which share the kernel entries of each window.

    The kernel is a kernel object of `sstep_reference`, and the run is in its arithmetic; targets (labels)
    and the start vector, m numbers each, are not modified; blocks are H sequences of the b coordinates
    drawn. Each mutant has its mutation, `NONE` for the right run. `stored` says what is kept of the dual
    vector at the end of a window, on its coordinates; that itself by default. Yields the same window of
    every mutant.
    """
    arithmetic, signed = kernel.arithmetic, finisher.signed
    targets = arithmetic.vector(targets)
    alphas = [arithmetic.vector(initial) for _ in mutations]
    streams = [drawn_early(blocks, mutation) for mutation in mutations]
    before: list[Before | None] = [None] * len(alphas)
    for begin in range(0, len(blocks), s):
        end = min(begin + s, len(blocks))
        first: dict[bool, LocalWindow] = {}
        windows = []
        for place, (mutation, (drawn, of_window), alpha) in enumerate(
            zip(mutations, streams, alphas, strict=True)
        ):
            window, steps, reached = None, list[Any](), []
            if not (mutation.lose_tail and end - begin < s):
                shared = first.get(mutation.early)
                if shared is None:
                    window = local_window(
                        arithmetic, kernel, targets, alpha, drawn[begin:end], signed=signed
                    )
                else:
                    window = shared.begun_at(arithmetic, kernel, targets, alpha)
                first[mutation.early] = window
                if mutation.late:
                    last = before[place]
                    if last is not None:
                        window = window.after(arithmetic, kernel, targets, alpha, last)
                    before[place] = arithmetic.vector([*alpha]), drawn[begin:end]
                reached = stored(mutable_window(arithmetic, window, finisher, of_window, steps))
                for coordinate, value in zip(window.coordinates, reached, strict=True):
                    alpha[coordinate] = value
            windows.append(MutantWindow(begin, end, window, steps, reached, alpha))
        yield windows


def run_mutant(
    kernel: Any,
    targets: Any,
    finisher: Finisher,
    initial: Any,
    blocks: Sequence[Sequence[int]],
    s: int,
    mutation: Mutation = NONE,
) -> Iterator[MutantWindow]:
    """Run one mutant, or without a mutation the right recurrence; see `run_mutants`."""
    for (window,) in run_mutants(kernel, targets, finisher, initial, blocks, s, [mutation]):
        yield window


def drawn_early(
    blocks: Sequence[Sequence[int]], mutation: Mutation
) -> tuple[Sequence[Sequence[int]], Mutation]:
    """A whole stream as the mutation draws it, and the mutation without that."""
    if not mutation.early:
        return blocks, mutation
    return [*blocks[1:], *blocks[:1]], replace(mutation, early=False)
