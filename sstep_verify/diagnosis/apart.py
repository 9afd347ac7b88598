"""Active diagnosis: mistakes that explain a run equally are told apart by a further run of the solver.

The smallest problem is sought on which they would end apart; the solver makes a run on it, which is
judged like any other, and of the mistakes those stand that explain this run too. Where none explains the
first run, since too few of its steps are wrong, a longer one on the same problem is made. What is proposed
here is made in float64 and decides nothing: a mistake is named or not by the judgement of the run, within
its bound. No status changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
from sstep_reference import Float, Gram

from sstep_verify.declaration import Declaration
from sstep_verify.diagnosis.candidates import END, PAIR, Candidate, suspects_of
from sstep_verify.diagnosis.kernel_rows import rows_of
from sstep_verify.errors import InputError, RefusedError
from sstep_verify.problems import IndexStream, Problem, RBFKernel, Ridge
from sstep_verify.recurrence.mutants import run_mutant
from sstep_verify.recurrence.mutation import TERMS, off_by
from sstep_verify.recurrence.steps import finisher_of
from sstep_verify.specification import OFF, breaks, of_verdict, specification
from sstep_verify.verdict import DOUBT, NAMED, TRIED, Status, Verdict

CHECKS = "step-replay", "window-replay", "trajectory"
"""Checks whose verdicts name mistakes in runs."""

RUNS, SECONDS = 3, 10.0
"""Further runs that are made for a verdict at most, and time after which none is begun."""

SAMPLES, SEEDS, FEATURES = (2, 3, 4, 5, 6, 8), 3, 2
"""Sizes of the problems that are tried, smallest first, how many of each, and their features."""

WINDOWS, STEPS, MOST_STEPS = 3, 24, 128
"""Least windows and steps of a run on such a problem, beside a last window of one step; most s of one."""

LONGER = 1 << 18
"""Kernel entries (H b m) that a longer run on the problem itself may go through."""

WIDTH, PENALTY = 0.7, {True: 5.0, False: 0.7}
"""Factors on sigma, and on C (True) or lambda: what a mistake puts in their place may be right for some.

In the larger box of a larger C fewer steps are clipped, and so more of them show what is wrong.
"""

APART = 2.0**-16
"""Relative difference of the ends of two mistakes that tells them apart: far beyond rounding."""

CONTRADICTED = "a further run"
"""Doubt about mistakes of which none explains a further run."""

BY_ENDS = " It is wrong at ends of the box alone."
"""Said of a further run that tells no mistake either."""

Trial = tuple[Problem, IndexStream]
"""A run that may tell mistakes apart: a problem and the coordinates drawn."""

Judged = Callable[[Problem, IndexStream], list[Verdict]]
"""Has the solver make a run, and judges it as the first one was, without active diagnosis."""


def told_apart(verdict: Verdict, problem: Problem, declaration: Declaration, judged: Judged) -> Verdict:
    """A FAIL, with those of the mistakes named in it that explain further runs too.

    `judged` has the solver, which declares this, make a run on a problem and a stream with the verdict's s,
    and judges it. The verdict is itself unless it names several mistakes, or none, and a further run tells
    more; status, ratio and bound stay.
    """
    s, left, refuted = verdict.s, _named(verdict), set[str]()
    doubt = str(verdict.evidence.get(DOUBT, ""))
    # Another run tells nothing of an end that was read off this one.
    if verdict.check not in CHECKS or (len(left) == 1 and not doubt) or END in left:
        return verdict
    if verdict.evidence.get(TRIED) and not left:
        suspects = suspects_of(problem, declaration.update, s, verdict.block).alone()
        refuted = {candidate.words for candidate in suspects}
    # What a log contradicts that does not lead to its run is no mistake that explains steps.
    parts = {name for one in specification().sentences for name in (*one.quantities, *one.items)}
    runs, until = list[str](), time.monotonic() + SECONDS
    trials = _trials(problem, declaration, s, verdict.block, left)
    for other, stream in trials:
        if time.monotonic() > until:
            break
        try:
            again = judged(other, stream)
        except (InputError, RefusedError):  # A solver need not take every problem.
            break
        further = next((one for one in again if one.check == verdict.check), None)
        if further is None:  # Another check has ended it: that run is not what was asked for.
            break
        more = [name for name in _named(further) if name not in parts]
        size = f"m = {other.samples}, n = {other.features}, H = {stream.length}, s = {s}"
        # What was tried where the first run is wrong, and does not explain that, is not what is wrong.
        new = (
            []
            if left
            else [name for name in more if name not in refuted and not (refuted and _untold(name))]
        )
        theirs = str(further.evidence.get(DOUBT, ""))
        runs.append(_said(size, further.status, left.copy(), more, new) + BY_ENDS * (theirs == "ends"))
        both = [name for name in left if name in more]
        contradicted = further.status is Status.FAIL and bool(left and further.executed and not both)
        doubt = CONTRADICTED if contradicted else theirs if new or (doubt and both) else doubt
        left[:] = both or left or new
        if contradicted or (len(left) == 1 and not doubt) or len(runs) == RUNS:
            break
    return _with(verdict, problem.loss.task, left, runs, doubt) if runs else verdict


def _named(verdict: Verdict) -> list[str]:
    """The class of mistakes that a verdict names."""
    named = verdict.evidence.get(NAMED)
    return [str(name) for name in named] if isinstance(named, list) else []


def _untold(name: str) -> bool:
    """Whether a mistake is of a kind that is not tried in every run that mistakes are tried in."""
    return PAIR in name or name == END


def _said(size: str, status: Status, before: Sequence[str], more: Sequence[str], new: Sequence[str]) -> str:
    """What a further run told, by which of it `new` is named where nothing was before."""
    both = [name for name in before if name in more]
    if status is not Status.FAIL:
        return f"A further run ({size}) is no FAIL and tells nothing of this one."
    if not before:
        words = (
            f"A further run ({size}) fails too: {' or '.join(new or more) or 'nothing known here'} explains"
        )
        if new or not more:
            return f"{words} it."
        untold = any(map(_untold, more))
        return f"{words} it, {'which is not told of this one' if untold else 'but not this one'}."
    if not both:
        return f"A further run ({size}) fails too, and none of them explains it, so none is told."
    if len(both) == len(before):
        told = "does not tell them apart" if len(both) > 1 else f"is explained by {both[0]} too"
        return f"A further run ({size}) {told}."
    others = " or ".join(name for name in before if name not in both)
    return f"A further run ({size}) tells them apart: {' or '.join(both)} explains it too, not {others}."


def _with(verdict: Verdict, task: str, left: list[str], runs: list[str], doubt: str) -> Verdict:
    """The verdict with what further runs told, and the sentences that what is left breaks."""
    names = [] if doubt else left
    signs = [sign for name in names for part in name.split(PAIR) for sign in _signs(part)]
    sentences = of_verdict(verdict.check, task, signs)
    each = len(left) == 1
    # Where nothing is named, what the verdict itself says is broken stands.
    numbers = tuple(sentence.number for sentence in sentences) if left else verdict.sentences
    words = verdict.reason
    for way in (False, True):
        words = words.removesuffix(breaks(verdict.sentences, each=way))
    evidence = {**verdict.evidence, NAMED: left, DOUBT: doubt, "further runs": runs}
    return replace(
        verdict,
        reason=f"{words} {' '.join(dict.fromkeys(runs))}{breaks(numbers, each=each)}",
        sentences=numbers,
        evidence=evidence,
    )


def _signs(name: str) -> tuple[str, str]:
    """A mistake's name as the specification has it: that of its quantity, where it is a factor on one."""
    return name, name.removesuffix(OFF)


def _trials(
    problem: Problem, declaration: Declaration, s: int, block: int, names: list[str]
) -> Iterator[Trial]:
    """Runs that may tell more of some mistakes, or, where there are none, of what is wrong at all."""
    if not names:
        steps = min(LONGER // (block * problem.samples), 16 * max(s, 8)) // s * s
        if steps > s:
            yield problem, IndexStream("uniform", problem.samples, block, steps, seed=1)
        return
    if s > MOST_STEPS:
        return
    length = max(WINDOWS, -(-STEPS // s)) * s + 1
    for samples in SAMPLES:
        for seed in range(SEEDS if samples >= max(block, 2) else 0):
            other, stream = (
                _small(problem, samples, seed),
                IndexStream("uniform", samples, block, length, seed),
            )
            if other and _tells(other, declaration, stream, s, names):
                yield other, stream


def _small(problem: Problem, samples: int, seed: int) -> Problem | None:
    """A small problem of the same task and kernel; None where there is none."""
    generator = np.random.Generator(np.random.PCG64(seed))
    data = generator.standard_normal((samples, FEATURES))
    targets = generator.standard_normal(samples)
    if problem.loss.labelled:
        targets = np.where(np.arange(samples) % 2, 1.0, -1.0)[generator.permutation(samples)]
    kernel = problem.kernel
    if isinstance(kernel, RBFKernel):
        kernel = RBFKernel(WIDTH * kernel.sigma)
    try:
        parameter, loss = PENALTY[problem.is_svm] * problem.loss.parameter, problem.loss
        loss = Ridge(parameter) if isinstance(loss, Ridge) else replace(loss, C=parameter)
        return Problem("told apart", data, targets, kernel, loss)
    except InputError:
        return None


def _tells(
    problem: Problem, declaration: Declaration, stream: IndexStream, s: int, names: Sequence[str]
) -> bool:
    """Whether all mistakes that are known here would leave another a than one another, and than none."""
    known = _known(problem, declaration, s, stream.block)
    mistakes = [known[name] for name in names if name in known]
    runs = [_run(candidate, declaration, stream, s) for candidate in (Candidate((), problem), *mistakes)]
    return bool(mistakes) and all(_apart(one, other) for one, other in combinations(runs, 2))


def _apart(one: np.ndarray, other: np.ndarray) -> bool:
    size = max(float(np.abs(one).max()), float(np.abs(other).max()))
    return bool(np.isfinite(size) and np.abs(one - other).max() > APART * size)


def _known(problem: Problem, declaration: Declaration, s: int, block: int) -> dict[str, Candidate]:
    """The mistakes known here, by what they are called in a verdict."""
    suspects = suspects_of(problem, declaration.update, s, block)
    factors = ((name, off_by(name, Fraction(1, 2))) for name in TERMS)
    moved = [Candidate((name + OFF,), problem, "", factor) for name, factor in factors if factor]
    return {candidate.words: candidate for candidate in reversed([*suspects.alone(), *moved])}


def _run(candidate: Candidate, declaration: Declaration, stream: IndexStream, s: int) -> np.ndarray:
    """The a at all window ends of a run with a mistake, from zero, in float64; shape (windows, m)."""
    problem, arithmetic = candidate.problem, Float("float64")
    everywhere = np.arange(problem.samples)
    with np.errstate(all="ignore"):
        matrix = rows_of(problem, declaration, everywhere, candidate.rows).values
        if not np.isfinite(matrix).all():
            return np.full((1, problem.samples), np.inf)
        run = run_mutant(
            Gram(arithmetic, matrix.tolist()),
            problem.targets,
            finisher_of(problem, arithmetic),
            np.zeros(problem.samples),
            stream.blocks(0, stream.length).tolist(),
            s,
            candidate.mutation,
        )
        return np.array([np.array(window.alpha, dtype=np.float64) for window in run])
