"""Machine files; time per iteration by phase, over s and P, of our solver and of the paper's programs.

That of our solver is its counts times a machine's rates.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np

from sstep_verify.costs.messages import schedule
from sstep_verify.costs.profiles import Profile
from sstep_verify.costs.published import START, Times, network, runs_of, times
from sstep_verify.errors import InputError
from sstep_verify.files.writing import write_text

Rate = Annotated[float, msgspec.Meta(ge=0, le=1e300)]
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e300)]
Panel = Annotated[
    list[Annotated[list[Positive], msgspec.Meta(min_length=2, max_length=2)]], msgspec.Meta(min_length=1)
]
Collectives = list[Annotated[list[Positive], msgspec.Meta(min_length=3, max_length=3)]]

ERRORS = ("classical", "s_step", "unfitted_least", "unfitted_most", "best_s")
"""Medians in %: of both programs on more ranks than were fitted; least and most of a data set not fitted.
And the share of cells in %, on more ranks than were fitted, with the best s predicted within a factor 2."""


class Machine(msgspec.Struct, frozen=True, eq=False, forbid_unknown_fields=True):
    """A machine as the production solver sees it, and, where it was fitted to them, the published programs.

    Parameters
    ----------
    name, source : str
        What it is; what the figures come from.
    error : str
        How far predictions were from measurements, in words: printed next to every prediction.
    dense, sparse : list of [rows, ns]
        Panel rate: nanoseconds a product of two entries, with so many rows c a window; sparse ones also
        hold what an entry of the panel costs.
    polynomial, rbf, gradient : float
        Nanoseconds an entry of the kernel function, and of the product with alpha.
    step, correction, solve, window : float
        Microseconds a coordinate of a step; nanoseconds a pair of coordinates of a window, and an
        operation of a block's solve; microseconds a window.
    allreduce, reduce_scatter : list of [ranks, bytes, us]
        Measured collectives; empty where `published` says how long they take.
    published : dict
        Parameters of the published programs; empty where it was measured with the production solver.
    errors : dict
        What `error` says of a machine that was fitted to them, as numbers, by `ERRORS`.
    """

    name: str
    source: str
    error: str
    dense: Panel
    sparse: Panel
    polynomial: Rate
    rbf: Rate
    gradient: Rate
    step: Rate
    correction: Rate
    solve: Rate
    window: Rate
    allreduce: Collectives = []
    reduce_scatter: Collectives = []
    published: dict[str, Positive] = {}
    errors: dict[str, float] = {}

    def rate(self, table: Panel, rows: float) -> float:
        """Nanoseconds at so many rows, by power laws between those measured, constant beyond."""
        return _between(rows, *zip(*sorted(table), strict=True))

    def collective(self, name: str, ranks: int, volume: float) -> float:
        """Microseconds of one reduction of so many bytes on each of P ranks; 0 for one rank.

        Beyond the ranks measured, the latency of the largest grows by log2 P, and the rest stays. A
        reduce-scatter of a fitted machine is taken as half of the allreduce's transfer.
        """
        if ranks == 1:
            return 0.0
        if self.published:
            latency, transfer = network(self.published, float(ranks), float(volume))
            return float(latency + transfer * (0.5 if name == "reduce_scatter" else 1.0))
        table: Collectives = getattr(self, name)
        known = sorted({row[0] for row in table})
        if not known:
            raise InputError(
                f"machine {self.name!r} has no {name} measured; `perf calibrate --np 2` measures it"
            )
        curves = [np.array(sorted(row[1:] for row in table if row[0] == p)).T for p in known]
        # Beyond the largest size in proportion.
        values = [_between(volume, *curve) * max(1.0, volume / float(curve[0, -1])) for curve in curves]
        if ranks <= known[-1]:
            return _between(ranks, known, values)
        grown = math.log2(ranks) / math.log2(known[-1])
        return values[-1] + float(curves[-1][1, 0]) * (grown - 1)


def _between(place: float, known: Any, values: Any) -> float:
    """A value by power laws between those that are known; constant beyond."""
    return float(np.exp(np.interp(np.log(max(place, 1.0)), np.log(known), np.log(values))))


def write(machine: Machine, path: str | Path) -> None:
    """Write a machine file."""
    lines = [f"# Machine file of sstep-verify: {machine.name}"]
    fields = msgspec.structs.asdict(machine)
    tables = {name: fields.pop(name) for name in ("published", "errors")}
    for name, value in fields.items():
        if isinstance(value, list):
            rows = "".join(f"\n  [{', '.join(f'{number:.6g}' for number in row)}]," for row in value)
            lines.append(f"{name} = [{rows}\n]" if rows else f"{name} = []")
        elif isinstance(value, str):
            lines.append(f'{name} = "{value.translate(QUOTED)}"')
        else:
            lines.append(f"{name} = {float(value):.6g}")
    for title, table in tables.items():
        if table:
            lines += ["", f"[{title}]", *(f"{name} = {value!r}" for name, value in table.items())]
    write_text(path, "\n".join(lines) + "\n")


QUOTED = str.maketrans({'"': "'", "\\": "/", "\n": " "})
"""What a basic string of TOML may not hold as it is."""


def read(source: str) -> Machine:
    """A machine file, or one that is shipped, by its name; InputError if it is none."""
    path = Path(source)
    if not path.exists() and source in shipped():
        text = (resources.files("sstep_verify.costs") / "machines" / f"{source}.toml").read_text("utf-8")
    elif path.is_file():
        text = path.read_text("utf-8")
    else:
        raise InputError(
            f"no machine file {source!r}; shipped: {', '.join(shipped())}; make one by `perf calibrate`"
        )
    try:
        machine = msgspec.convert(tomllib.loads(text), Machine)
        for title, known in (("published", START), ("errors", ERRORS)):
            if (table := getattr(machine, title)) and set(table) != set(known):
                raise ValueError(f"[{title}] must hold {', '.join(known)}")
    except (msgspec.ValidationError, ValueError) as error:
        raise InputError(f"{source}: not a machine file: {error}; make one by `perf calibrate`") from error
    return machine


def shipped() -> list[str]:
    """Names of the machine files of the package."""
    folder = resources.files("sstep_verify.costs") / "machines"
    return sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml"))


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
    """Phases of a run of windows of s iterations on P ranks, whose columns are distributed by work."""
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
        named = [phases(machine, profile, method, *size)._asdict() for size in sizes]
    elif not machine.published:
        raise InputError(f"machine {machine.name!r} was not fitted to published programs; take perlmutter")
    elif method.exchange != "allreduce":
        raise InputError(f"exchange {method.exchange}: the published programs have allreduce only")
    else:
        rows = [(profile, method.kernel, method.block, *size, iterations) for size in sizes]
        columns = zip(*(phase.tolist() for phase in times(machine.published, runs_of(rows))), strict=True)
        named = [dict(zip(Times._fields, values, strict=True)) for values in columns]
    return [
        {"P": count, "s": s, **by_phase, "total": sum(by_phase.values())}
        for (count, s), by_phase in zip(sizes, named, strict=True)
    ]
