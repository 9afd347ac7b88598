"""Time per iteration by phase, over s and P, of the production solver and of the paper's programs.

That of the production solver is its counts times a machine's rates.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sstep_verify.costs.machine import Machine
from sstep_verify.costs.messages import schedule
from sstep_verify.costs.profiles import Profile
from sstep_verify.costs.published import Times, runs_of, times
from sstep_verify.errors import InputError

WORD = 8
"""Bytes of a float64."""

Row = dict[str, int | float]
"""P, s, microseconds per iteration by phase, and their total."""


class Phases(NamedTuple):
    """Microseconds per iteration of the slowest rank."""

    panel: float
    reduction: float
    function: float
    gradient: float
    recurrence: float
    window: float

    @property
    def total(self) -> float:
        """Their sum."""
        return sum(self)


class Method(NamedTuple):
    """What is run: allreduce, reduce-scatter or gram; linear, polynomial or rbf; K-SVM or K-RR; b."""

    exchange: str
    kernel: str
    svm: bool
    block: int = 1


def distinct(samples: int, draws: int) -> float:
    """Distinct coordinates of so many uniform draws, on average."""
    return samples * (1 - (1 - 1 / samples) ** draws)


def solve_flops(block: int) -> int:
    """A Cholesky factorisation of order b, b (b + 1) (2 b + 1) / 6 + 2 b flops, and two triangular ones."""
    return block * (block + 1) * (2 * block + 1) // 6 + 2 * block + 2 * block * block


def phases(machine: Machine, profile: Profile, method: Method, ranks: int, s: int) -> Phases:
    """Phases of a run of windows of s iterations on P ranks, whose columns are dealt out by work."""
    samples, draws = profile.samples, s * method.block
    rows = distinct(samples, draws)
    shares = profile.shares(ranks, balanced=True)
    if method.exchange == "gram":
        each, entries = shares.most / samples, 0.0  # Nonzeros of a sample, here.
        products = rows * (rows + 1) / 2 * each + 2 * rows * each
    else:
        own = samples / ranks if method.exchange == "reduce-scatter" else samples
        entries, products = rows * own, rows * shares.most_pairs
    rate = machine.rate(machine.dense if profile.dense else machine.sparse, rows)
    function = {"linear": 0.0, "polynomial": machine.polynomial, "rbf": machine.rbf}[method.kernel]
    pairs = draws * (draws - 1) / 2
    solves = 0 if method.svm else s * solve_flops(method.block)
    recurrence = 1e3 * draws * machine.step + pairs * machine.correction + solves * machine.solve
    return Phases(
        panel=products * rate / 1e3 / s,
        reduction=_reduction(machine, method.exchange, samples, rows, ranks) / s,
        function=entries * function / 1e3 / s,
        gradient=entries * machine.gradient / 1e3 / s,
        recurrence=recurrence / 1e3 / s,
        window=machine.window / s,
    )


def _reduction(machine: Machine, exchange: str, samples: int, rows: float, ranks: int) -> float:
    """Microseconds of one window's reductions; its distinct rows lie between two whole numbers."""
    low = max(int(rows), 1)
    below, above = (schedule(exchange, samples, [count], norms=False) for count in (low, low + 1))
    share = max(rows - low, 0.0)
    return sum(
        machine.collective(one.name, ranks, WORD * (one.words + share * (two.words - one.words)))
        for one, two in zip(below, above, strict=True)
    )


def predict(
    machine: Machine,
    profile: Profile,
    method: Method,
    ranks: Iterable[int],
    steps: Iterable[int],
    program: str = "production",
    iterations: int = 640,
) -> list[Row]:
    """Microseconds per iteration by phase, a row for each P and s.

    `program` is production, this package's solver, or published, the paper's programs, the start of whose
    runs is spread over their `iterations` (H). InputError if the machine or the paper's programs do not go
    with what is asked.
    """
    steps = tuple(steps)
    sizes = [(count, s) for count in ranks for s in steps]
    if program == "production":
        own = [phases(machine, profile, method, *size) for size in sizes]
        return [_row(size, found._asdict()) for size, found in zip(sizes, own, strict=True)]
    if not machine.published:
        raise InputError(f"machine {machine.name!r} was not fitted to published programs; take perlmutter")
    if method.exchange != "allreduce":
        raise InputError(f"exchange {method.exchange}: the published programs have allreduce only")
    rows = [(profile, method.kernel, method.block, *size, iterations) for size in sizes]
    columns = zip(*(phase.tolist() for phase in times(machine.published, runs_of(rows))), strict=True)
    named = (dict(zip(Times._fields, values, strict=True)) for values in columns)
    return [_row(size, by_phase) for size, by_phase in zip(sizes, named, strict=True)]


def _row(size: tuple[int, int], by_phase: dict[str, float]) -> Row:
    return {"P": size[0], "s": size[1], **by_phase, "total": sum(by_phase.values())}
