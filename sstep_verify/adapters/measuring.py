"""Counts that `sstep-verify solve` prints of measurements and enclosures: they must be those that are due.

A measurement takes the product of the kernel matrix with a dual vector. It forms a kernel row for each
entry that is not 0, or no row where the kernel is linear or all rows are kept. An enclosure does the same,
and reduces the norms of the samples. The step log says which dual vectors were measured.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sstep_verify.costs.messages import TRAILER
from sstep_verify.errors import ConductError
from sstep_verify.problems import IndexStream, Problem
from sstep_verify.solver.settings import Settings

NUMBERS = r"(\d+) kernel rows?, (\d+) collectives?, (\d+) words?$"

MONITORED = re.compile(rf"^monitoring: first, every (\d+) iterations? and last, {NUMBERS}", re.MULTILINE)

ENCLOSED = re.compile(rf"^enclosing: (\d+) times?, {NUMBERS}", re.MULTILINE)

STAGNATION = 16
"""Measurements from which on a training may form further kernel rows, to see what float64 attains."""

LOOKS = 3
"""Most looks whether a tolerance is reached."""


class Formed(NamedTuple):
    """Kernel rows, reductions, and the words that a rank hands to them."""

    rows: int = 0
    collectives: int = 0
    words: int = 0

    def plus(self, *other: int) -> Formed:
        """Both together."""
        return Formed(*(one + more for one, more in zip(self, other, strict=True)))


def require_measurements(
    problem: Problem, settings: Settings, used: Sequence[int], relative: Sequence[float], said: str
) -> None:
    """ConductError where printed counts are not those due; lines of a training that began at 0.

    `used`: entries of the dual vector that are not 0, at each measurement; `relative`: its relative value.
    """
    last = len(used) - 1
    looks = sorted({*_looks(relative, settings.tolerance), last})
    every, *measured = _numbers(MONITORED, said)
    times, *enclosed = _numbers(ENCLOSED, said)
    products = [_product(problem, settings, count) for count in used]
    due = Formed().plus(*map(sum, zip(*products, strict=True)))
    seen = Formed(*measured)
    # A look at stagnation forms more.
    right = seen == due if len(used) < STAGNATION else all(np.array(seen) >= np.array(due))
    if every != settings.interval or not right:
        raise ConductError(
            f"{len(used)} measurements, one in {settings.interval} iterations, form {due}, and printed are "
            f"{seen}, one in {every}"
        )
    needed = _enclosures(problem, settings, [used[place] for place in looks])
    if (times, Formed(*enclosed)) != (len(looks), needed):
        raise ConductError(
            f"{len(looks)} enclosures form {needed}, and printed are {times}, of {Formed(*enclosed)}"
        )


def used_at(stream: IndexStream, log: np.ndarray, places: Sequence[int]) -> list[int]:
    """Entries that are not 0 at some iterations, ascending, by the step log of a run from zero."""
    alpha, made, found = np.zeros(stream.samples), 0, []
    for place in places:
        for block, new in zip(stream.blocks(made, place), log[made:place], strict=True):
            alpha[block] = new
        made = place
        found.append(int(np.count_nonzero(alpha)))
    return found


def _numbers(form: re.Pattern[str], said: str) -> list[int]:
    found = form.search(said)
    if found is None:
        raise ConductError(f"the command does not say what it measured: {said[-300:]}")
    return [int(number) for number in found.groups()]


def _looks(relative: Sequence[float], tolerance: float) -> list[int]:
    """Measurements at which a training looks, by an enclosure, whether its tolerance is reached."""
    limit, looks = tolerance, list[int]()
    for place, value in enumerate(relative):
        if tolerance > 0 and value <= limit and len(looks) < LOOKS:
            limit = value / 2
            looks.append(place)
    return looks


def _product(problem: Problem, settings: Settings, used: int) -> Formed:
    """What a product of the kernel matrix with so many values takes."""
    samples = problem.samples
    if settings.keep_gram or (used == 0 and not problem.kernel.linear):
        return Formed()
    if problem.kernel.linear:
        return Formed(0, 1, samples + TRAILER)
    norms = problem.kernel.of_distance and settings.rbf == "norm-expansion"
    portions = -(-used // min(max(settings.panel_words // samples, 1), used)) + norms
    return Formed(used, portions, samples * (used + norms) + TRAILER * portions)


def _enclosures(problem: Problem, settings: Settings, used: Sequence[int]) -> Formed:
    """What enclosures take: two reductions each with the linear kernel, else a product, and norms once."""
    samples, looks = problem.samples, len(used)
    if problem.kernel.linear:
        return Formed(0, 2 * looks, looks * (3 * samples + 1 + 2 * TRAILER))
    total = Formed(0, 1, samples + 1 + TRAILER)
    for count in used:
        total = total.plus(*_product(problem, settings, count))
    return total
