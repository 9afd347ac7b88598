"""A correct solver and a case for a row of freedoms: all that the row leaves open is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sstep_verify import ProductionSolver, Trajectory
from sstep_verify.campaign.verdicts.case import stored_as
from sstep_verify.checks.shared.case import Case
from sstep_verify.declaration import KNOWN, PER_WINDOW, Declaration, Exchange
from sstep_verify.problems import (
    IndexStream,
    Kernel,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
)
from sstep_verify.problems.losses import loss_from
from sstep_verify.protocol import Observer, RunRequest, Solver
from sstep_verify.scenarios.draws import one_of
from sstep_verify.solver.settings import Options
from studies.admissible.arithmetic import ORDERS
from studies.admissible.solver import AdmissibleSolver
from studies.admissible.undeclared import Undeclared
from studies.coverage.freedoms import AGAIN, KEPT, LONG, MADE, OWN_EXCHANGES, SWITCHES, YES, row_of
from studies.coverage.rules import options_of, production_form
from studies.thread_ranks import ORDERS as OVER_RANKS
from studies.thread_ranks import ThreadRanksSolver


@dataclass(frozen=True)
class Planned:
    """A correct solver with a case of a single s, and the row of freedoms that both were read to be of.

    What was drawn is None of the production solver.
    """

    solver: Solver
    case: Case
    row: dict[str, str]
    drawn: AdmissibleSolver | None


Change = Callable[[Solver, RunRequest, Trajectory], Trajectory]
Wanted = Callable[[RunRequest], bool]


class Either:
    """A solver whose runs, or those of wanted requests, another one makes; changed then if that is said."""

    def __init__(self, solver: Solver, other: Solver, wanted: Wanted | None, change: Change | None = None):
        self._solver, self._other, self._wanted, self._change = solver, other, wanted, change
        self.declaration = solver.declaration

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """The run, by the solver that is to make it."""
        if self._wanted and not self._wanted(request):
            return self._solver.run(request, observe)
        made = self._other.run(request, observe)
        return self._change(self._other, request, made) if self._change else made


def planned(generator: np.random.Generator, row: dict[str, str]) -> Planned:
    """Draw a solver and a case for a row."""
    problem = _problem(generator, row)
    samples, wide = problem.samples, row["range"] == "whole"
    s = {"1": 1, "up to m": 2 + int(generator.integers(samples - 1))}.get(row["s"], samples + 2)
    length = {
        "one window": s,
        "whole windows": s * int(generator.integers(2, 5)),
        "a short last one": s * int(generator.integers(2, 5)) - 1 - int(generator.integers(s - 1 or 1)),
        "long": -(-LONG // s) * s + (0 if s == 1 or row["unit"] == "s" else int(generator.integers(s))),
    }[row["iterations"]]
    start = int(generator.integers(1, 9)) if row["start"] == "later" else 0
    block = int(generator.integers(2, 4)) if row["block"] == "several" else 1
    seed = int(generator.integers(1 << 30))
    stream = IndexStream("uniform", samples, block, start + length, seed)
    drawn = None
    if row["exchange"] in OWN_EXCHANGES:
        ranks = int(generator.integers(2, 9)) if row["ranks"] == "several" else 1
        options = Options(**options_of(row, samples))
        solver: Any = ProductionSolver(**vars(options))
        solver = solver if ranks == 1 else ThreadRanksSolver(ranks, one_of(generator, OVER_RANKS), options)
        variant: Any = ProductionSolver(keep_gram=True)
    else:
        solver = drawn = _drawn(generator, row, problem.kernel)
        variant = replace(drawn, order="reversed" if drawn.order in ORDERS[:4] else drawn.order)
    ends = tuple(sorted({*range(s, length, s), length})) if row["points"] == "windows" else ()
    case = Case(
        "planned", problem, stream, (s,), length, solver.declaration,
        points={s: ends} if ends else {},
        variants={"another order": variant.declaration} if row["variants"] == YES else {},
        windows=len(ends) + 5 if row["windows"] == "all" else 4,
        replay_limit=1 << 24 if row["replay_limit"] == "exact" else 0,
        start=start,
        initial=_start(generator, problem) if row["initial"] == "others" else None,
        unit=s if row["unit"] == "s" else 1,
        scaled=row["scaled"] == YES,
        as_given=row["as_given"] == YES,
    )  # fmt: skip
    if row["claims"] == YES and drawn:
        name = "gap" if problem.is_svm else "residual"
        with np.errstate(all="ignore"):
            end = solver.run(RunRequest(problem, stream, s, length, start, case.initial))
        reached = end.claims[name].value
        solver = replace(drawn, tolerance=reached)
        case = replace(case, claims={name: max(reached, 0.0)})
    undeclared = drawn.undeclared if drawn else production_form(Options(**options_of(row, samples)))
    values = row_of(case, undeclared, row["data"], wide, row["written"])
    return Planned(Either(solver, variant, lambda request: bool(request.variant)), case, values, drawn)


def _exchange(row: dict[str, str]) -> Exchange:
    """The exchange of a row; ranks that several make have a trailer of two words."""
    kind = row["exchange"]
    return Exchange(kind, trailer=2 if kind != PER_WINDOW and row["ranks"] == "several" else 0)


def _drawn(generator: np.random.Generator, row: dict[str, str], kernel: Kernel) -> AdmissibleSolver:
    order = row["summation"] if row["summation"] != "any" else one_of(generator, ORDERS)
    undeclared: Any = {name: row[name] for name in MADE} | {"clamped": row["clamped"] == YES}
    number = int(generator.integers(2, 6))
    values: dict[str, Any] = {name: row[name] for name in KNOWN}
    values |= {name: row[name] == YES for name in SWITCHES}
    declared = Declaration(
        "drawn",
        **values,
        exchange=_exchange(row) if row["exchange"] else None,
        ranks=number if row["ranks"] == "several" else 1,
        weights={KEPT: 0, AGAIN: number}.get(row["weights"]),
        level=int(row["level"]),
    )  # fmt: skip
    return AdmissibleSolver(
        declared,
        order,
        factored=row["products"] == "any" and kernel.linear and generator.random() < 0.8,
        reciprocal=generator.random() < 0.3,
        divided=one_of(generator, ("sum", "product")),
        products_first=generator.random() < 0.5,
        scale=3 if row["scaled"] == YES else 1,
        decimals=row["written"] == "decimals",
        undeclared=Undeclared(**undeclared),
    )


def _problem(generator: np.random.Generator, row: dict[str, str]) -> Problem:
    """A problem of 3 to 8 samples, its numbers held by the precision where these are not rounded to it."""
    single, wide = row["precision"] == "float32", row["range"] == "whole"
    m = int(generator.integers(3, 5 if row["data"] == "still" else 9))

    def size(power: int) -> float:
        high = (120 if single else 1000) // power if wide else 5
        return 2.0 ** int(generator.integers(-high, high + 1))

    def number(power: int = 1) -> float:
        return float(held((1.0 + generator.random()) * size(power)))

    def held(values: Any) -> Any:
        rounds = single and row["as_given"] == YES
        return np.float64(np.float32(values)) if rounds else values

    data = held(DATA[row["data"]](generator, m) * size(8 if row["kernel"] == "polynomial" else 2))
    squares = float(np.median((data * data).sum(axis=1))) or 1.0
    kernel: Any = {
        "linear": LinearKernel(),
        "polynomial": PolynomialKernel(int(generator.integers(2, 5)), one_of(generator, (0.0, 0.5, 1.0))),
        "rbf": RBFKernel(number(4) if wide else held(number() / squares / 8)),
    }[row["kernel"]]
    parameter = number(2)
    if not wide and generator.random() < 0.8:  # chosen by the size of kernel entries
        # Entries of K times C, or over lambda m, are near 1: steps are neither all clipped nor all alike.
        entry = {"rbf": 1.0, "linear": squares}.get(row["kernel"], 0.0)
        entry = entry or (squares + kernel.offset) ** kernel.degree
        near = 2.0 ** generator.uniform(-2, 3)
        parameter = float(held(entry / m * near if row["task"] == "krr" else near / entry))
    targets = generator.choice([-1.0, 1.0], size=m)
    if row["task"] == "krr":
        targets = held(generator.standard_normal(m) * size(2))
    stored = stored_as(data, row["storage"])
    return Problem("planned", stored, targets, kernel, loss_from(row["task"], parameter))


def _start(generator: np.random.Generator, problem: Problem) -> np.ndarray:
    """A start vector, of a K-SVM within its box, whose numbers all types hold but for C."""
    if problem.is_svm:
        C, samples = problem.hinge.C, problem.samples
        start = C * generator.choice([0.0, 1.0, 0.5, generator.random()], size=samples)
        return np.asarray(np.minimum(start.astype(np.float32).astype(np.float64), C))
    largest = min(max(float(np.abs(problem.targets).max()), 2.0**-100), 2.0**120)
    start = generator.standard_normal(problem.samples) * largest / problem.samples
    return start.astype(np.float32).astype(np.float64)


def _spread(generator: np.random.Generator, m: int) -> np.ndarray:
    data = generator.standard_normal((m, int(generator.integers(2, 6))))
    data = data * (generator.random(data.shape) < generator.choice([1.0, 0.6]))
    return data[0] + data * 2.0 ** -int(generator.integers(12)) if generator.random() < 0.3 else data


def _cancelling(generator: np.random.Generator, m: int) -> np.ndarray:
    """Rows of two kinds, whose products with each other are 2^20 to 2^40 times their sum."""
    large, off = 2.0 ** int(generator.integers(21)), 2.0 ** -generator.integers(20, 41, size=m)
    tall, turned = generator.uniform(1.0, 4.0), np.arange(m) % 2 == 1
    size = generator.choice([0.5, 1.0, 2.0], size=m)
    data = np.column_stack([np.full(m, large), np.full(m, tall * large), 0.1 * off])
    data[turned] = np.column_stack([tall * (1 + off), -np.ones(m), off])[turned] / large
    return data * size[:, None]


def _apart(generator: np.random.Generator, m: int) -> np.ndarray:
    """Samples that are equal up to an ulp."""
    row = generator.standard_normal(int(generator.integers(1, 4)))
    return row * (1 + 2.0**-52 * generator.integers(-1, 2, size=(m, row.size)))


DATA = {"spread": _spread, "still": _spread, "cancelling": _cancelling, "ulp apart": _apart}
"""Data near 1, by kind."""
