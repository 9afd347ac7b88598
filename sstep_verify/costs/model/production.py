"""Time per iteration of the production solver by phase: its counts times a machine's rates."""

from __future__ import annotations

from typing import NamedTuple

from sstep_verify.costs.flops import solve_flops
from sstep_verify.costs.messages import schedule
from sstep_verify.costs.model.machine import Machine
from sstep_verify.costs.model.profiles import Profile

WORD = 8
"""Bytes of a float64."""


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
    """What is run.

    Parameters
    ----------
    exchange : {"allreduce", "reduce-scatter", "gram"}
        What is communicated.
    kernel : {"linear", "polynomial", "rbf"}
        The kernel.
    svm : bool
        Whether it is a K-SVM.
    block : int
        Coordinates a step (b).
    """

    exchange: str
    kernel: str
    svm: bool
    block: int = 1


def distinct(samples: int, draws: int) -> float:
    """Distinct coordinates of so many uniform draws, on average."""
    return samples * -float(_expm1_power(1 / samples, draws))


def _expm1_power(share: float, draws: int) -> float:
    """(1 - share)^draws - 1."""
    return (1 - share) ** draws - 1 if share < 1 else -1.0


def phases(machine: Machine, profile: Profile, method: Method, ranks: int, s: int) -> Phases:
    """Phases of a run whose columns are dealt out by work.

    Parameters
    ----------
    machine : Machine
        The machine.
    profile : Profile
        The data.
    method : Method
        What is run.
    ranks, s : int
        P, and iterations a window.

    Returns
    -------
    Phases
    """
    samples, draws = profile.samples, s * method.block
    rows = distinct(samples, draws)
    shares = profile.shares(ranks, balanced=True)
    own = samples / ranks if method.exchange == "reduce-scatter" else samples
    entries = 0.0 if method.exchange == "gram" else rows * own
    if method.exchange == "gram":
        each = shares.most / samples  # Nonzeros of a sample, here.
        products = rows * (rows + 1) / 2 * each + 2 * rows * each
    else:
        products = rows * shares.most_pairs
    table = machine.dense if profile.dense else machine.sparse
    rate = machine.rate(table, rows)
    function = {"linear": 0.0, "polynomial": machine.polynomial, "rbf": machine.rbf}[method.kernel]
    pairs = draws * (draws - 1) / 2
    solves = 0 if method.svm else s * solve_flops(method.block)
    nano = {
        "panel": products * rate,
        "function": entries * function,
        "gradient": entries * machine.gradient,
        "recurrence": 1e3 * draws * machine.step + pairs * machine.correction + solves * machine.solve,
    }
    of_window = {name: value / 1e3 / s for name, value in nano.items()}
    return Phases(
        reduction=sum(
            machine.collective(name, ranks, WORD * words)
            for name, words in _reductions(method.exchange, samples, rows)
        )
        / s,
        window=machine.window / s,
        **of_window,
    )


def _reductions(exchange: str, samples: int, rows: float) -> list[tuple[str, float]]:
    """Reductions of one window with so many distinct rows; between what is counted of whole numbers."""
    low = int(rows)
    below = list(schedule(exchange, samples, [max(low, 1)], norms=False))
    above = list(schedule(exchange, samples, [max(low, 1) + 1], norms=False))
    share = rows - low if low else 0.0
    return [
        (one.name, one.words + share * (two.words - one.words))
        for one, two in zip(below, above, strict=True)
    ]
