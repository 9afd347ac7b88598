"""A family of problems in a campaign file: its keys, their types, and which values are refused."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sstep_verify.campaign.solvers import make_solvers
from sstep_verify.campaign.toml_values import expect, read_kernel, refuse_rest, take
from sstep_verify.checks.registry import CHECKS, checks_of
from sstep_verify.errors import InputError
from sstep_verify.problems import Kernel, LinearKernel
from sstep_verify.problems.bias import require_usable
from sstep_verify.problems.kernels import shortest
from sstep_verify.solver import Solver

TASKS = ("svm-l1", "svm-l2", "krr")


@dataclass(frozen=True)
class Family:
    """Problems that share everything but data, task, kernel and parameter: their product is run.

    Parameters
    ----------
    data : tuple of str
        Names of data sets, or paths.
    task : tuple of str
        svm-l1, svm-l2 (together), or krr (alone).
    kernel : tuple of Kernel
        Kernels.
    s : tuple of int
        Iterations per window; 1 is the classical method.
    parameter : tuple of float
        Values of C (K-SVM) or lambda (K-RR).
    block : tuple of int
        Block sizes (b); 1 for K-SVM.
    iterations : int
        Cap on the iterations of a run.
    tolerance : float
        Relative duality gap (K-SVM) or relative solution error (K-RR) at which a run ends.
    windows : int
        Windows sampled per run for window-replay.
    minimum_windows : int
        Fewest windows replayed per run; a run with fewer makes the campaign incomplete.
    replay_limit : int
        Largest number of kernel entries of a window that is replayed.
    drift : int
        Coordinate updates (b an iteration) over which the drift from the exact trajectory is measured;
        0 for none.
    start : int
        Iterations of the stream that are skipped: the runs then begin from a seeded vector and not from 0;
        see `sstep_verify.campaign.starts`.
    stream : str
        Kind of the index stream.
    seed : int
        Seed of stream and window sample.
    keep_gram : bool
        Let the solver keep the whole Gram matrix.
    update : str
        Form of the solver's update: in-place or frozen.
    rbf : str
        How the production solver forms squared distances: norm-expansion or difference.
    ranks : int
        Number of MPI ranks (P) of the production solver; 1 for this process alone.
    exchange : str
        What is communicated: allreduce, reduce-scatter or gram (linear kernel).
    cache : int
        Words that kernel rows may take to be kept from window to window; 0 for none.
    recompute : int
        Windows after which exchange gram forms its weights anew; 0 for never.
    separate_timers : bool
        Let the production solver tell waiting from transfer, and the gradient from the recurrence.
    interval : int
        Windows between two measurements of solver "training".
    solver, precision : str
        Solver under test and its arithmetic; see `sstep_verify.campaign.solvers`.
    storage : {"as-is", "dense", "csr"}
        How the data are held.
    memory : float
        GiB that a process may take for a case; what needs more is left out or refused, see
        `campaign.memory`.
    bias : float
        Value of a constant feature that is appended to the data; 0 for none. See `problems.bias`.
    checks : tuple of str
        Ids of the checks that judge the runs; all by default.
    """

    data: tuple[str, ...]
    task: tuple[str, ...]
    kernel: tuple[Kernel, ...]
    s: tuple[int, ...]
    parameter: tuple[float, ...] = (1.0,)
    block: tuple[int, ...] = (1,)
    iterations: int = 10_000
    tolerance: float = 1e-8
    windows: int = 4
    minimum_windows: int = 2
    replay_limit: int = 1 << 24
    drift: int = 0
    start: int = 0
    stream: str = "uniform"
    seed: int = 0
    keep_gram: bool = False
    update: str = "in-place"
    rbf: str = "norm-expansion"
    ranks: int = 1
    exchange: str = "allreduce"
    cache: int = 0
    recompute: int = 0
    separate_timers: bool = False
    interval: int = 0
    solver: str = "production"
    precision: str = "float64"
    storage: str = "as-is"
    memory: float = 4.0
    bias: float = 0.0
    checks: tuple[str, ...] = tuple(CHECKS)

    @property
    def label(self) -> str:
        """What sets the family's runs apart from those of the default solver; empty for it."""
        parts = [] if self.solver == "production" else [f"{self.solver}-{self.precision}"]
        parts += [] if self.storage == "as-is" else [self.storage]
        parts += [f"bias={shortest(self.bias)}"] if self.bias else []
        parts += [] if self.update == "in-place" else [self.update]
        parts += [] if self.rbf == "norm-expansion" else [self.rbf]
        parts += [f"P={self.ranks}"] if self.ranks > 1 else []
        parts += [self.exchange] if self.ranks > 1 or self.exchange != "allreduce" else []
        parts += [f"recompute={self.recompute}"] if self.recompute else []
        parts += [f"cache={self.cache}"] if self.cache else []
        parts += ["timers"] if self.separate_timers else []
        parts += [f"start={self.start}"] if self.start else []
        parts += [f"interval={self.interval}"] if self.interval else []
        # Of one rank the kept matrix has always been unnamed, as all its runs have it.
        parts += ["kept"] if self.keep_gram and self.ranks > 1 else []
        return "-".join(parts)

    @property
    def memory_bytes(self) -> int:
        """Bytes that a process may take for a case."""
        return int(self.memory * 2**30)

    def solvers(self) -> dict[str, Solver]:
        """The solver under test under the empty name, and its variants by theirs.

        Raises
        ------
        InputError
            If its options do not go together.
        """
        return make_solvers(
            self.solver,
            precision=self.precision,
            update=self.update,
            keep_gram=self.keep_gram,
            rbf=self.rbf,
            ranks=self.ranks,
            exchange=self.exchange,
            cache=self.cache,
            recompute=self.recompute,
            separate_timers=self.separate_timers,
            interval=self.interval,
            tolerance=self.tolerance,
        )


def read_family(table: dict, where: str) -> Family:
    """The family of one ``[[family]]`` table; the table is emptied.

    Parameters
    ----------
    table : dict
        The table, as TOML gives it.
    where : str
        File and place, for messages.

    Raises
    ------
    InputError
        If a key is missing or unknown, or a value cannot be used.
    """
    lists = {"data": str, "task": str, "s": int, "parameter": (int, float), "block": int, "checks": str}
    scalars = {
        "iterations": int, "tolerance": (int, float), "windows": int, "minimum_windows": int,
        "replay_limit": int, "drift": int, "stream": str, "seed": int, "keep_gram": bool, "update": str,
        "solver": str, "precision": str, "storage": str, "rbf": str, "ranks": int, "exchange": str,
        "cache": int, "recompute": int, "separate_timers": bool, "start": int, "interval": int,
        "bias": (int, float), "memory": (int, float),
    }  # fmt: skip
    values: dict = {
        "kernel": tuple(read_kernel(item, where) for item in take(table, "kernel", list, where))
    }
    for key, kind in lists.items():
        if key in table:
            items = take(table, key, list, where)
            for item in items:
                expect(item, kind, f"{where}, {key}")
            values[key] = tuple(items)
    for key, kind in scalars.items():
        if key in table:
            values[key] = take(table, key, kind, where)
    refuse_rest(table, where, "family")
    for key in ("data", "task", "kernel", "s"):
        if not values.get(key):
            raise InputError(f"{where}: {key} is missing or empty")
    family = Family(**values)
    _refuse_unusable(family, where)
    return family


def _refuse_unusable(family: Family, where: str) -> None:
    checks_of(family.checks)
    if family.storage not in ("as-is", "dense", "csr"):
        raise InputError(f"{where}: storage {family.storage!r} is unknown; known: as-is, dense, csr")
    family.solvers()
    if not 0 < family.memory < math.inf:
        raise InputError(f"{where}: memory = {family.memory} GiB, but it must be finite and > 0")
    for kernel in family.kernel:
        try:
            require_usable(family.bias, kernel)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
    if family.exchange == "gram" and any(not isinstance(kernel, LinearKernel) for kernel in family.kernel):
        raise InputError(f"{where}: exchange 'gram' is for the linear kernel; use another for the others")
    for task in family.task:
        if task not in TASKS:
            raise InputError(f"{where}: task {task!r} is unknown; known: {', '.join(TASKS)}")
    if "krr" in family.task and len(family.task) > 1:
        raise InputError(f"{where}: krr needs other data than a K-SVM; put it in a family of its own")
    if "krr" not in family.task and family.block != (1,):
        raise InputError(f"{where}: block = {list(family.block)}, but a K-SVM draws one coordinate a step")
    for name, values in (("s", family.s), ("block", family.block)):
        if min(values) < 1:
            raise InputError(f"{where}: {name} = {min(values)}, but it must be >= 1")
    if min(family.parameter) <= 0:
        name = "lambda" if "krr" in family.task else "C"
        raise InputError(f"{where}: {name} = {min(family.parameter)}, but it must be > 0")
    for name in ("iterations", "minimum_windows", "replay_limit"):
        if getattr(family, name) < 1:
            raise InputError(f"{where}: {name} = {getattr(family, name)}, but it must be >= 1")
    if not family.tolerance > 0 or min(family.drift, family.seed, family.windows, family.start) < 0:
        raise InputError(f"{where}: tolerance must be > 0; drift, seed, start and windows >= 0")
    if family.start and family.drift:
        raise InputError(
            f"{where}: start = {family.start} and drift = {family.drift}, but drift is measured from zero "
            "at the stream's beginning; drop one"
        )
