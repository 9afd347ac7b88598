"""Greedy search of a small run that still fails: fewer iterations, smaller s and blocks, samples, features.

Hypothesis shrinks what it has drawn itself; here is a given problem, so the search is our own. It is
deterministic: what is tried follows from the size it begins with and from what has failed so far.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sstep_verify.campaign.verdicts.measured import measuring_points
from sstep_verify.checks import contract
from sstep_verify.checks.registry import CHECKS
from sstep_verify.checks.shared.case import Case
from sstep_verify.errors import SstepVerifyError
from sstep_verify.judging import judged_by
from sstep_verify.protocol import Solver
from sstep_verify.trajectory import RAISED
from sstep_verify.verdict import Status, Verdict


class OutOfTimeError(Exception):
    """The budget is spent; raised by what tries a size, and ends the search."""


@dataclass(frozen=True)
class Size:
    """What a run is cut down to: samples and features that are kept, ascending, and H, s and b."""

    samples: tuple[int, ...]
    features: tuple[int, ...]
    iterations: int
    s: int
    block: int

    @property
    def fitted(self) -> Size:
        """The size with no window longer than the run and no block of more coordinates than there are."""
        return replace(self, s=min(self.s, self.iterations), block=min(self.block, len(self.samples)))

    @property
    def words(self) -> str:
        """For reports."""
        shape = f"m = {len(self.samples)}, n = {len(self.features)}, H = {self.iterations}, s = {self.s}"
        return shape + (f", b = {self.block}" if self.block > 1 else "")


def smallest(size: Size, fails: Callable[[Size], bool]) -> Size:
    """The smallest size found that fails, from one that does.

    `fails` says whether a size fails; its `OutOfTimeError` ends the search with the smallest found so far.
    """
    best, tried = size, {size}

    def take(name: str, value: object) -> bool:
        """Go on from a size if it fails."""
        nonlocal best
        size = replace(best, **{name: value}).fitted  # type: ignore[arg-type]
        if size in tried:
            return size == best
        tried.add(size)
        if fails(size):
            best = size
            return True
        return False

    def lower(name: str) -> None:
        """Halve the range in which the smallest number that fails is looked for."""
        low = 1
        while low < getattr(best, name):
            middle = (low + getattr(best, name)) // 2
            if not take(name, middle):
                low = middle + 1

    def thin(name: str) -> None:
        """Leave out half of the members, then quarters, and so on down to single ones."""
        width = len(getattr(best, name)) // 2
        while width:
            begin = 0
            while begin < len(held := getattr(best, name)):
                left = held[:begin] + held[begin + width :]
                if not left or not take(name, left):
                    begin += width
            width //= 2

    before = None
    with contextlib.suppress(OutOfTimeError):
        while best != before:
            before = best
            for name in ("iterations", "s", "block"):
                lower(name)
            for name in ("samples", "features"):
                thin(name)
    return best


WORDS = 4
"""Words of an error's message that tell it from another of the same type."""


def kind_of(verdict: Verdict) -> tuple[str, ...]:
    """What a failure is told from others by: the error that was raised, or the sentences that it breaks.

    The likeliest comes first.
    """
    raised = verdict.evidence.get(RAISED)
    if not isinstance(raised, dict):
        return verdict.sentences
    kind, message = next(iter(raised.values()))
    words = re.sub(r"\S*/\S*|[\d.'\"]+", "", message).split()[:WORDS]
    return (" ".join([kind, *words]),)


def whole(case: Case, s: int) -> Size:
    """The size of a run as it was made."""
    problem = case.problem
    return Size(
        tuple(range(problem.samples)),
        tuple(range(problem.features)),
        case.iterations,
        s,
        case.stream.block,
    )


def cut_down(case: Case, size: Size) -> Case:
    """The case with a part of its problem, from a0 = 0 and the beginning of the stream on."""
    problem = case.problem
    rows, columns = np.array(size.samples), np.array(size.features)
    part = replace(problem, data=problem.data[rows][:, columns], targets=problem.targets[rows])
    drawn = replace(case.stream, samples=rows.size, block=size.block, length=size.iterations)
    return replace(
        case,
        problem=part,
        stream=drawn,
        s_values=(size.s,),
        iterations=size.iterations,
        points={size.s: measuring_points(size.iterations, size.s)},
        short=min(case.short, size.iterations),
        start=0,
        initial=None,
    )


@dataclass
class Tries:
    """Tries sizes of one failing case until the deadline, a time of ``time.monotonic()``.

    `solvers` are the solver under test under the empty name, and its variants; `found` is the failure of
    the last size that failed alike.
    """

    case: Case
    verdict: Verdict
    solvers: Mapping[str, Solver]
    deadline: float
    found: Verdict | None = None

    def __call__(self, size: Size) -> bool:
        """Whether the solver fails alike on a size; OutOfTimeError if the budget is spent."""
        if time.monotonic() > self.deadline:
            raise OutOfTimeError
        case = cut_down(self.case, size)
        before, left = (np.unique(one.problem.targets).size for one in (self.case, case))
        if left < min(before, 2 if case.problem.is_svm else 3):
            return False  # Too few classes or targets: a file of it would be read back as another task.
        checks = [CHECKS[name] for name in dict.fromkeys((contract.CHECK, self.verdict.check))]
        try:
            with np.errstate(all="ignore"):
                verdicts = judged_by(self.solvers, case, *checks)
        except (SstepVerifyError, ArithmeticError, ValueError, LookupError, MemoryError):
            return False  # No run, or none that the check can judge: nothing is known of this size.
        failed = [one for one in verdicts if one.status is Status.FAIL and one.check == self.verdict.check]
        # On a smaller problem more may explain a failure; what is likeliest on the whole is among it.
        likeliest = kind_of(self.verdict)[:1]
        alike = [one for one in failed if set(likeliest) <= set(kind_of(one))]
        self.found = alike[0] if alike else self.found
        return bool(alike)
