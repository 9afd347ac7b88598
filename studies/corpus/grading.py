"""A judged solver graded against its label: found or not, by which check, its class, its place.

Run as ``python -m studies.corpus.grading [NAME ...]`` it prints how often the true mistake is named: in how
many FAILs of the labelled set on one small problem it is in the class of mistakes that are named, in how
many alone, and those where it is not. Runs that an error ended are left out: nothing of them is explained.

A mistake acts in the steps of a run in which it can first change a value that the run leaves.
A place is the smallest one of `PLACES` that surely holds those steps, whatever the data are: where it hangs
on a clip, a rounding or the contents of a cache, it is the steps in which that may happen. A verdict that
names a step of a run names the right one if the place holds it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np

from sstep_verify import judge
from sstep_verify.problems import IndexStream, Problem, kernel_from, loss_from
from sstep_verify.report.telling import on_one_part
from sstep_verify.verdict import PLACE, Status, Verdict
from studies.corpus.labelled import Labelled, Made
from studies.corpus.mistakes import RARE, WRONG
from studies.report.sensitivity.corpus import Found, Judged, Opinion


class Steps:
    """The steps of a run: its blocks, shape (H, b), windows of s, and its start in the stream."""

    def __init__(self, blocks: np.ndarray, s: int, start: int):
        self.blocks, self.s, self.start, self.length = blocks, s, start, len(blocks)
        self.number = np.arange(self.length)
        self.window, self.place = np.divmod(self.number, s)

    @cached_property
    def before(self) -> np.ndarray:
        """How often each coordinate, shape (H, b), was drawn earlier in the run."""
        return _earlier(self.blocks)

    @cached_property
    def again(self) -> np.ndarray:
        """How often each coordinate, shape (H, b), was drawn earlier in its window."""
        return _earlier(self.window[:, None] * (int(self.blocks.max(initial=0)) + 1) + self.blocks)


def _earlier(keys: np.ndarray) -> np.ndarray:
    """How many equal keys stand before each key."""
    order = np.argsort(keys, axis=None, kind="stable")
    ordered = keys.ravel()[order]
    count = np.empty(keys.size, dtype=np.int64)
    count[order] = np.arange(keys.size) - np.searchsorted(ordered, ordered)
    return count.reshape(keys.shape)


PLACES: dict[str, Callable[[Steps], Any]] = {
    "every step": lambda run: run.number >= 0,
    "first step of a window": lambda run: run.place == 0,
    # An earlier step of the same window is needed: its increment, or a row next to its own.
    "after the first step of a window": lambda run: run.place > 0,
    "last step of a window": lambda run: (run.place == run.s - 1) | (run.number == run.length - 1),
    "coordinate drawn again in the window": lambda run: (run.again >= 1).any(axis=1),
    "coordinate drawn a third time in the window": lambda run: (run.again >= 2).any(axis=1),
    # A run that continues begins with values of an earlier one.
    "coordinate drawn before": lambda run: (run.before > 0).any(axis=1) | (run.start > 0),
    "after the first window": lambda run: run.window > 0,
    # What a window leaves is wrong: the a or the state at its end, and all later steps.
    "from the end of the first window": lambda run: run.number >= min(run.s, run.length) - 1,
    # Runs from the stream's start begin at 0.
    "window that begins with a not 0": lambda run: run.window >= (run.start == 0),
    "last short window": lambda run: run.number >= run.length // run.s * run.s,
    "block of several coordinates": lambda run: np.full(run.length, run.blocks.shape[1] > 1),
    "window of 37 steps": lambda run: np.bincount(run.window)[run.window] == 37,
    "window of more than 8 coordinates": lambda run: (
        np.bincount(run.window, weights=(run.again == 0).sum(axis=1))[run.window] > 8
    ),
    "every 64th window": lambda run: run.window % 64 == 63,
    "every 1000th window": lambda run: run.window % 1000 == 999,
    "after 10,000 iterations": lambda run: run.number >= 10_000,
    # A cache of 60 rows or more is full: more coordinates were drawn than it holds.
    "after 60 distinct coordinates": lambda run: (
        np.cumsum((run.before == 0).sum(axis=1))[np.minimum((run.window + 1) * run.s, run.length) - 1] > 60
    ),
    # In no step: in length, start, messages, or what is returned and claimed.
    "run": lambda run: run.number < 0,
    "continued run": lambda run: np.full(run.length, run.start > 0),
}
"""Places by name, with the steps in which a mistake may act there."""


@dataclass(frozen=True)
class CaseFound:
    """What one case has come to: its status with the reason, its verdicts, or an error.

    The status is empty if an error left it without one; `error` says too what kept a check from a verdict.
    `runs` is the name of the folder with its runs, empty if there is none; `seconds` the time until it was
    known to fail, or had been judged; `telling` the verdict that gives a failed case its reason.
    """

    id: str
    status: str = ""
    reason: str = ""
    verdicts: tuple[Verdict, ...] = ()
    error: str = ""
    runs: str = ""
    seconds: float = 0.0
    telling: Verdict | None = None

    @property
    def part_named(self) -> bool:
        """Whether it failed, and the telling verdict's first sentence is on one part of a solver."""
        return self.telling is not None and on_one_part(self.telling)


def place_right(acts: str, told: Verdict, stream: IndexStream, start: int, length: int) -> bool:
    """Whether a mistake that acts in this place does so in one of the steps that the verdict names.

    A verdict on a whole run names none, and so no wrong one.
    """
    place: Any = told.evidence.get(PLACE, ())
    steps = Steps(stream.blocks(start, start + length), told.s, start)
    return not place or bool(PLACES[acts](steps)[slice(*place)].any())


def graded(
    solver: Labelled,
    cases: Sequence[CaseFound],
    opinions: Sequence[dict[str, Opinion]],
    place: bool,
    again: str,
) -> Judged:
    """The record of a solver: what its cases came to, as judged, and what rivals say of their runs.

    `place` says whether the telling verdict of the first failed case names the right place, `again` by
    which command it is judged again.
    """
    said = [one for case in cases for one in case.verdicts]
    until = next((n for n, case in enumerate(cases, 1) if case.telling), 0)
    unsettled = [case for case in cases if case.error or case.status != Status.PASS]
    case = cases[until - 1] if until else next(iter(unsettled), None)
    telling = case.telling if until and case else None
    found: Found = "FAIL" if until else "PASS" if cases else "open"
    if unsettled and not until:
        found = "error" if any(one.error for one in cases) else "open"
    reason = f"{case.id}: {case.error or case.reason}"[:300] if case else "no case was judged"
    return Judged(
        solver.id,
        solver.kind,
        solver.right,
        found,
        solver.breaks,
        solver.acts,
        solver.where,
        solver.equivalent,
        failed=tuple(dict.fromkeys(one.check for one in said if one.status is Status.FAIL)),
        judged=tuple(dict.fromkeys(one.check for one in said if one.status in (Status.PASS, Status.FAIL))),
        first=f"{telling.check}, s = {telling.s}" if telling else "",
        sentences=telling.requirements if telling else (),
        class_right=telling is not None and bool({*telling.requirements[:1]} & {*solver.breaks}),
        place_right=place,
        reason="" if found == "PASS" else reason,
        cases=until or len(cases),
        seconds=sum(case.seconds for case in cases),
        seconds_to_kill=sum(case.seconds for case in cases[:until]),
        # One refuses if it does on some case, and accepts if it accepts on some and refuses on none.
        rivals={
            name: min((one[name] for one in opinions if name in one), key=get_args(Opinion).index)
            for name in dict.fromkeys(name for one in opinions for name in one)
        },
        again=again,
    )


@dataclass(frozen=True)
class Named:
    """A FAIL of a labelled solver by a check, and the class of mistakes that it names."""

    solver: Made
    s: int
    check: str
    named: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Whether the true mistake is in the class."""
        return bool(set(self.named) & set(self.solver.named))

    @property
    def alone(self) -> bool:
        """Whether it is there alone, by whatever name."""
        return self.right and len(self.named) == 1


def every_failure(only: Sequence[str] = ()) -> list[Named]:
    """The FAILs of all wrong solvers, or of some by name, for two s each, on their task and kernel."""
    found = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # Wrong solvers divide by 0 and overflow.
        for solver in (one for one in (*WRONG, *RARE) if not only or one.id in only):
            task, kernel = solver.on.split()
            # A small problem: two equal samples, a sample with zeros, both classes.
            generator = np.random.Generator(np.random.PCG64(11))
            data = generator.standard_normal((9, 4))
            data[3], data[6, 1:3] = data[5], 0.0
            labels = np.where(generator.random(9) < 0.5, 1.0, -1.0)
            labels[:2] = 1.0, -1.0
            targets = generator.standard_normal(9) if task == "krr" else labels
            chosen = kernel_from(kernel, degree=3, offset=1.0, sigma=0.3)
            loss = loss_from(task, 0.5 if task == "krr" else 0.7)
            problem = Problem("labelled", data, targets, chosen, loss)
            stream = IndexStream("uniform", 9, 3 if task == "krr" else 1, 30, 3)
            for s in (1, 8):
                for verdict in judge(solver.make(), problem, stream, s):
                    if verdict.status is Status.FAIL and verdict.check != "contract":
                        told = tuple(" together with ".join(one.names) for one in verdict.defects)
                        found.append(Named(solver, s, verdict.check, told))
    return found


def main(*only: str) -> None:
    """Print both figures of all solvers, or of some by name, and what is not named."""
    every = every_failure(only)
    for one in every:
        if not one.alone:
            what = "not named" if not one.right else "with others"
            print(f"{one.solver.id}, s = {one.s}, {one.check}: {what}: {', '.join(one.named) or 'nothing'}")
    print(f"FAILs: {len(every)}")
    for told, name in (("the true mistake in the named class", "right"), ("and alone in it", "alone")):
        count = sum(getattr(one, name) for one in every)
        print(f"{told}: {count} ({count / max(len(every), 1):.0%})")


if __name__ == "__main__":
    main(*sys.argv[1:])
