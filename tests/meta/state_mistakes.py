"""Mistakes of solvers that act in one state, transition, repetition, residue or size only: the list.

Each changes a method or two of the correct s-step solver in plain NumPy. ``python tests/meta/state_mistakes.py
[WORDS]`` has profile ci judge those with such words in their names, and prints which are refused.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify import CallableSolver, Declaration, verify
from sstep_verify.campaign import profile
from sstep_verify.diagnosis.candidates import Suspects
from studies.admissible.undeclared import USUAL
from studies.corpus.sstep import SStep

LITTLE = 1e-6
"""Relative size of a mistake that is no omission."""


class Watched(SStep):
    """The correct solver, which knows where in the run and in its history a step is.

    A mistake changes `changed`, which gets the new values of a step and returns those that are taken.
    """

    def solve(self, blocks, s, a0, log=None):
        self.length, self.first, self.turn = len(blocks), 0, 0
        self.begun_with = a0
        self.all, self.cached, self.drawn_before = blocks, {}, np.zeros(self.m, dtype=int)
        return super().solve(blocks, s, a0, log)

    def window(self, a, blocks):
        self.place, self.again = 0, np.zeros(self.m, dtype=int)
        end = super().window(a, blocks)
        self.first, self.turn = self.first + len(blocks), self.turn + 1
        return end

    def step(self, B, now, product, square):
        _, news = super().step(B, now, product, square)
        news = np.asarray(self.changed(B, now, product, square, news), dtype=self.type)
        self.place += 1
        self.again[B] += 1
        self.drawn_before[B] += 1
        return news - now, news

    def changed(self, B, now, product, square, news):
        return news

    @property
    def number(self):
        """The number of the step in its run."""
        return self.first + self.place

    @property
    def short(self):
        """Whether the window is a last one that is short."""
        return len(self.blocks) < self.s


@dataclass(frozen=True)
class StateMistake:
    """A mistake by what it acts in, with a task, or a task and a kernel, in which it can."""

    name: str
    on: str
    methods: dict[str, Callable[..., Any]]

    def solver(self) -> CallableSolver:
        """The solver with this mistake."""
        return solver_of(self.name, self.methods)


def solver_of(name: str, methods: dict[str, Callable[..., Any]]) -> CallableSolver:
    """The correct solver with methods changed; it declares what the correct one does."""
    solver, way = type("Changed", (Watched,), methods), Declaration(name, log=True, products="rows")

    def function(problem, blocks, s, a0, log=None):
        return solver(way, "forward", problem, USUAL).solve(blocks, s, a0, log)

    return CallableSolver(function, way)


def values(name, on, where, change):
    """A mistake in the new values of the steps for which `where` holds."""

    def changed(self, B, now, product, square, news):
        return change(self, now, news) if where(self, B, now, news) else news

    return StateMistake(name, on, {"changed": changed})


def unseen(name, on, where):
    """A mistake in the correction of a product: it lacks the increments at the places that `where` gives."""

    def correction(self, r, drawn, increments):
        left = increments.copy()
        left[where(self, r, drawn[: increments.size], drawn[r], increments)] = 0
        return SStep.correction(self, r, drawn, left)

    return StateMistake(name, on, {"correction": correction})


def products(name, on, change):
    """A mistake in the products of a window's rows with alpha at its start."""
    return StateMistake(
        name, on, {"products_of": lambda self, drawn, a: change(self, drawn, a, SStep.products_of)}
    )


def entries(name, on, change):
    """A mistake in the kernel entries of the drawn samples with all."""
    return StateMistake(
        name, on, {"entries": lambda self, drawn: change(self, drawn, SStep.entries(self, drawn))}
    )


def damped(self, now, news):
    """A step too short by little."""
    return news - LITTLE * (news - now)


def kept(self, now, news):
    """No step."""
    return now


def half_way(self, now, news):
    """Half a step."""
    return (now + news) / 2


def inside(self, value):
    return 0 < value[0] < self.upper


def _cached(self, drawn, a, made):
    """Coordinates of the window before have its products."""
    right = made(self, drawn, a)
    found = [self.cached.get(i, value) for i, value in zip(drawn.tolist(), right, strict=True)]
    self.cached = dict(zip(drawn.tolist(), right, strict=True))
    return np.array(found, dtype=self.type)


def _undrawn_start(self, drawn, a, made):
    if self.first == 0:
        a = np.where(np.isin(np.arange(self.m), drawn), a, 0)
    return made(self, drawn, a)


def _remembered(self, B, now, product, square, news):
    self.before_last = now[-1]
    return news


def _without_last_step(self, drawn, a):
    """The last step of the window before is lost where its coordinate is the first of this one."""
    if self.first and self.all[self.first - 1, -1] == drawn[0]:
        a = a.copy()
        a[drawn[0]] = self.before_last
    return SStep.products_of(self, drawn, a)


def _without_last(self, drawn, a, made):
    """The last sample is left out of the products for m = 3k + 1."""
    a = a.copy()
    a[-1] *= self.m % 3 != 1
    return made(self, drawn, a)


def _scaled_feature(self, problem):
    data = problem.dense.copy()
    data[:, -1] *= 1 + LITTLE * (problem.features % 3 == 2)
    return replace(problem, data=data)


def _last_column_of_csr(self, problem):
    if not sp.issparse(problem.data):
        return problem
    data = problem.dense.copy()
    data[:, -1] = 0
    return replace(problem, data=data)


def _empty(self, drawn, made):
    empty = ~self.A.any(axis=1)
    made[np.ix_(empty[drawn], empty)] = 0
    return made


def _equal_others(self, drawn, made):
    equal = (self.A[drawn][:, None] == self.A[None]).all(axis=2)
    equal[np.arange(drawn.size), drawn] = False
    made[equal] *= 1 - LITTLE
    return made


def _one_label(self, drawn, made):
    return made + LITTLE * (np.unique(self.y).size == 1)


def _rounded(self, drawn, made):
    return made.astype(np.float32).astype(made.dtype) if self.penalty < 0.06 else made


def _reversed_where_sorted(self, B, now, product, square, news):
    ordered = B.size > 1 and (np.diff(B) > 0).all()
    return now + (news - now)[::-1] if ordered else news


def _large_clamped(self, B, now, product, square, news):
    curvature = square[0, 0] + self.omega
    if curvature <= 8:
        return news
    return self.clip(now - (product - 1 + self.omega * now) / 8)


def _uncorrected_omega(self, B, now, product, square, news):
    """The shift's term has alpha of the window's start where that is 0."""
    if self.start[B[0]] or not self.again[B[0]]:
        return news
    return self.clip(now - (product - 1) / (square[0] + self.omega))


MISTAKES = [
    # Transitions.
    values(
        "free to 0 stops half way",
        "svm-l2",
        lambda self, B, now, news: inside(self, now) and news[0] == 0,
        half_way,
    ),
    values(
        "free to C stops short",
        "svm-l1",
        lambda self, B, now, news: inside(self, now) and news[0] == self.upper,
        damped,
    ),
    values(
        "C to free is too short",
        "svm-l1",
        lambda self, B, now, news: now[0] == self.upper and inside(self, news),
        damped,
    ),
    values(
        "0 to free is too short, drawn before",
        "svm-l2",
        lambda self, B, now, news: now[0] == 0 and news[0] > 0 and self.drawn_before[B[0]] > 0,
        damped,
    ),
    values(
        "C to C leaves C",
        "svm-l1",
        lambda self, B, now, news: now[0] == news[0] == self.upper,
        lambda self, now, news: news * (1 - LITTLE),
    ),
    values(
        "gradient of exactly 0",
        "svm-l1",
        lambda self, B, now, news: inside(self, now) and (now == news).all(),
        lambda self, now, news: news * (1 + LITTLE),
    ),
    values(
        "negative alpha grows",
        "krr",
        lambda self, B, now, news: (now < 0).all() and (news > now).all(),
        damped,
    ),
    values(
        "alpha of a block changes every sign",
        "krr",
        lambda self, B, now, news: (now * news < 0).all(),
        half_way,
    ),
    unseen("increments of C", "svm-l1", lambda self, r, past, i, made: np.abs(made) == self.upper),
    unseen("negative increments", "svm-l2", lambda self, r, past, i, made: made < 0),
    unseen("increments below 1e-8", "krr", lambda self, r, past, i, made: np.abs(made) < 1e-8),
    # Repetitions.
    unseen(
        "fourth draw of a window", "svm-l1", lambda self, r, past, i, made: np.flatnonzero(past == i)[2:]
    ),
    unseen(
        "drawn twice in succession",
        "svm-l2",
        lambda self, r, past, i, made: np.flatnonzero(past[-1:] == i) + len(past) - 1,
    ),
    unseen(
        "drawn 8 steps before",
        "svm-l1",
        lambda self, r, past, i, made: np.flatnonzero(past == i)[
            np.flatnonzero(past == i) == len(past) - 8
        ],
    ),
    unseen(
        "a coordinate whose increments change sign",
        "svm-l1",
        lambda self, r, past, i, made: np.isin(past, np.intersect1d(past[made > 0], past[made < 0])),
    ),
    unseen(
        "two shared with the block before",
        "krr",
        lambda self, r, past, i, made: (
            np.arange(past.size) >= past.size - self.blocks.shape[1]
            if self.place and np.intersect1d(self.blocks[self.place - 1], self.blocks[self.place]).size >= 2
            else np.zeros(past.size, bool)
        ),
    ),
    products("coordinates of the window before", "svm-l2", _cached),
    values(
        "third draw of a run",
        "svm-l2",
        lambda self, B, now, news: self.drawn_before[B[0]] == 2,
        damped,
    ),
    StateMistake("drawn again from 0 without omega", "svm-l2", {"changed": _uncorrected_omega}),
    # Residues.
    values("i = 5k + 3", "svm-l1", lambda self, B, now, news: B[0] % 5 == 3, damped),
    values("step 7k + 6", "krr", lambda self, B, now, news: self.number % 7 == 6, damped),
    products("m = 3k + 1", "svm-l1", _without_last),
    StateMistake("n = 3k + 2", "svm-l2", {"given": _scaled_feature}),
    unseen(
        "window 4k + 3",
        "svm-l2",
        lambda self, r, past, i, made: np.full(past.size, self.turn % 4 == 3),
    ),
    unseen(
        "s = 3k + 2",
        "krr",
        lambda self, r, past, i, made: (np.arange(past.size) == past.size - 1) & (self.s % 3 == 2),
    ),
    values(
        "b = 4k + 3, last of the block",
        "krr",
        lambda self, B, now, news: B.size % 4 == 3,
        lambda self, now, news: np.append(news[:-1], damped(self, now, news)[-1]),
    ),
    values(
        "last step where H = 5k + 4",
        "svm-l1",
        lambda self, B, now, news: self.length % 5 == 4 and self.number == self.length - 1,
        half_way,
    ),
    # Boundaries and sizes.
    values(
        "after half of a run", "svm-l1", lambda self, B, now, news: 2 * self.number > self.length, damped
    ),
    values(
        "short last window of several steps",
        "svm-l2",
        lambda self, B, now, news: self.short and len(self.blocks) > 1,
        damped,
    ),
    unseen(
        "s > 8, more than 8 steps back",
        "svm-l2",
        lambda self, r, past, i, made: np.arange(past.size) < (past.size - 8) * (self.s > 8),
    ),
    unseen(
        "beyond 100 steps of a window",
        "svm-l1",
        lambda self, r, past, i, made: np.arange(past.size) >= 100,
    ),
    unseen(
        "windows of more draws than samples, drawn again",
        "krr",
        lambda self, r, past, i, made: (past == i) & (self.blocks.size > self.m),
    ),
    unseen(
        "beyond 20 distinct coordinates",
        "svm-l2",
        lambda self, r, past, i, made: np.isin(past, list(dict.fromkeys(past.tolist()))[20:]),
    ),
    products("undrawn coordinates that a run begins with", "krr", _undrawn_start),
    StateMistake(
        "one coordinate at both sides of a boundary",
        "svm-l1",
        {"products_of": _without_last_step, "changed": _remembered},
    ),
    values(
        "first step of a run",
        "svm-l2",
        lambda self, B, now, news: self.number == 0,
        damped,
    ),
    values(
        "last step of a run in a whole window",
        "svm-l1",
        lambda self, B, now, news: self.number == self.length - 1 and not self.short and self.s > 1,
        half_way,
    ),
    values("after 250 steps", "krr", lambda self, B, now, news: self.number >= 250, damped),
    unseen("coordinate 0", "svm-l1", lambda self, r, past, i, made: past == 0),
    values(
        "coordinate 0 not first in its block",
        "krr",
        lambda self, B, now, news: 0 in B[1:],
        kept,
    ),
    # Data and parameters.
    entries("two empty samples", "svm-l1 rbf", _empty),
    entries("equal samples at two places", "svm-l2", _equal_others),
    entries("one label throughout", "svm-l1", _one_label),
    entries("lambda below 0.06", "krr", _rounded),
    StateMistake("the last column of CSR", "svm-l1", {"given": _last_column_of_csr}),
    StateMistake("blocks in order", "krr", {"changed": _reversed_where_sorted}),
    StateMistake("curvature above 8", "svm-l1 polynomial", {"changed": _large_clamped}),
    values(
        "label -1 at C",
        "svm-l1",
        lambda self, B, now, news: self.y[B[0]] < 0 and now[0] == self.upper,
        half_way,
    ),
    values("C above 1", "svm-l2", lambda self, B, now, news: self.penalty > 1, damped),
    # Two states at once.
    values(
        "C to 0 in the second half of a run",
        "svm-l1",
        lambda self, B, now, news: now[0] == self.upper and news[0] == 0 and 2 * self.number > self.length,
        half_way,
    ),
    values(
        "0 to C in the last step of a window of several",
        "svm-l1",
        lambda self, B, now, news: (
            now[0] == 0
            and news[0] == self.upper
            and self.place == len(self.blocks) - 1
            and len(self.blocks) > 1
        ),
        half_way,
    ),
    values(
        "even coordinate that stays at 0",
        "svm-l2",
        lambda self, B, now, news: B[0] % 2 == 0 and now[0] == news[0] == 0,
        lambda self, now, news: news + 1e-12,
    ),
    values(
        "last sample in the first step of a window",
        "svm-l2",
        lambda self, B, now, news: self.place == 0 and B[0] == self.m - 1,
        damped,
    ),
    values(
        "at C where the window begins, inside now",
        "svm-l1",
        lambda self, B, now, news: self.start[B[0]] == self.upper and inside(self, now),
        damped,
    ),
    values(
        "first and last sample in one block",
        "krr",
        lambda self, B, now, news: {0, self.m - 1} <= set(B.tolist()),
        damped,
    ),
    unseen(
        "the largest increment, of an odd coordinate drawn again",
        "svm-l2",
        lambda self, r, past, i, made: (
            (np.abs(made) == np.max(np.abs(made), initial=0)) & (past == i) & (i % 2 == 1)
        ),
    ),
    unseen(
        "as many draws in a window as samples, or a multiple",
        "krr",
        lambda self, r, past, i, made: np.full(past.size, self.blocks.size % self.m == 0),
    ),
    unseen(
        "windows of a power of two steps, of 16 or more",
        "svm-l2",
        lambda self, r, past, i, made: np.full(
            past.size, len(self.blocks) >= 16 and len(self.blocks).bit_count() == 1
        ),
    ),
    values(
        "third draw in a window of a coordinate with label -1",
        "svm-l1",
        lambda self, B, now, news: self.again[B[0]] == 2 and self.y[B[0]] < 0,
        damped,
    ),
    values(
        "a coordinate first drawn after 100 steps",
        "svm-l2",
        lambda self, B, now, news: self.number > 100 and self.drawn_before[B[0]] == 0,
        damped,
    ),
    values(
        "empty sample drawn again",
        "svm-l2",
        lambda self, B, now, news: self.drawn_before[B[0]] > 0 and not self.A[B[0]].any(),
        lambda self, now, news: news + LITTLE,
    ),
    values(
        "short last window of a run that does not begin with 0",
        "krr",
        lambda self, B, now, news: self.short and self.begun_with.any(),
        damped,
    ),
    values(
        "block of three or more, drawn again whole within the run",
        "krr",
        lambda self, B, now, news: B.size > 2 and (self.drawn_before[B] > 0).all(),
        damped,
    ),
    values(
        "step shorter than 1e-6, of a coordinate inside",
        "svm-l1",
        lambda self, B, now, news: inside(self, now) and 0 < abs(news[0] - now[0]) < 1e-6,
        kept,
    ),
]
"""Mistakes by what they act in."""


KERNELS = ("rbf", "linear", "polynomial")


def refusing(one: StateMistake) -> list[str]:
    """The checks of profile ci that fail a mistake, on the first kernel on which one does.

    Its seed is the usual one, as users have it: it adds further s, without which two mistakes pass.
    """
    task, *kernels = one.on.split()
    for kernel in kernels or KERNELS:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            report = verify(one.solver(), "ci", tasks=[task], kernels=[kernel], seed=profile.USUAL)
        if report.results.summary.exit_code == 1:
            return [kernel, *sorted({failure["check"] for failure in report.failures})]
    return []


def unexplained(suspects: Suspects) -> list[Any]:
    """No causes of a failure, which take most of its time and change no verdict."""
    return []


def main(*words: str) -> int:
    """Judge mistakes, and print which are refused; the number of those that are not."""
    Suspects.alone = unexplained
    chosen, alive = [one for one in MISTAKES if " ".join(words) in one.name], 0
    for one in chosen:
        begin = time.process_time()
        found = refusing(one)
        alive += not found
        what = "refused" if found else "ALIVE  "
        seconds = time.process_time() - begin
        print(f"{what} {seconds:4.0f} s  {one.on}, {one.name}: {', '.join(found)}", flush=True)
    print(f"{len(chosen) - alive} of {len(chosen)} refused")
    return alive


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
