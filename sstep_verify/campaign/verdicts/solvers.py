"""Solver under test of a family, by name and options, with the variants that make its runs again."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from typing import Annotated, Any

from sstep_verify.adapters.program import ProgramFile, ProgramSolver, read_program
from sstep_verify.adapters.python import load_solver, meant_by_file
from sstep_verify.adapters.reference import ReferenceSolver
from sstep_verify.campaign.cases import POSITIVE, Count, Range, Whole
from sstep_verify.checks.shared.case import told_by
from sstep_verify.errors import InputError, RefusedError, closest
from sstep_verify.protocol import Declaration, Observer, RunRequest, Solver, is_external, is_program
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver.settings import Options
from sstep_verify.trajectory import Trajectory

TRAINING = ("training", "solve")

NAMES = ("production", "training", "solve", "reference", "reference-classical")

FORM = ("update", "rbf", "separate_timers", "partition", "long_block", "panel_words")
"""Options of the production solver in its steps and loops."""

EXCHANGE = ("exchange", "keep_gram", "cache", "recompute")
"""Those in what is communicated and kept."""


@dataclass(frozen=True, kw_only=True)
class SolverTable:
    """Solver under test, as a table of a campaign file says it.

    `solver` is production, training (what `solve` runs: the production solver in intervals, with its
    monitor), solve (the command itself, through files), reference, reference-classical,
    ``module:object``, see `load_solver`, or the path of a program file (``NAME.toml``), see
    docs/adapters.md. The reference has any precision, the production solver float64 only; that or a program
    runs on so many MPI `ranks` (P), the former in this process if that is 1. Training and solve have so
    many windows of an `interval` between two measurements; they make windows of several s, each at most the
    one asked for, where `tuned`, and solve chooses exchange and cache, which must be those given, where
    `auto`. Runs end at a `tolerance`: the relative duality gap (K-SVM), the relative solution error, of
    training and solve the relative residual (K-RR).
    `bias` is the value of a constant feature that is appended to the data, 0 for none
    (`problems.transforms`). All else is as in `sstep_verify.solver.settings.Options`.
    """

    solver: str = "production"
    precision: str = "float64"
    ranks: int = 1
    update: str = "in-place"
    rbf: str = "norm-expansion"
    exchange: str = "allreduce"
    keep_gram: bool = False
    cache: Whole = 0
    recompute: Whole = 0
    partition: str = Options.partition
    separate_timers: bool = False
    long_block: Count = Options.long_block
    panel_words: Count = Options.panel_words
    interval: Whole = 0
    tolerance: Annotated[float, POSITIVE] = 1e-8
    tuned: bool = False
    auto: bool = False
    bias: Annotated[float, Range(-sys.float_info.max)] = 0.0

    def options(self, *names: str) -> dict[str, Any]:
        """Some of the options, by their names."""
        return {name: getattr(self, name) for name in names}


class NotRun:
    """Stands for a solver whose kept runs are judged: it declares what that declared, and makes no run."""

    def __init__(self, declaration: Declaration, described: ProgramFile | None):
        self.declaration, self.described = declaration, described
        vars(self).update(told_by(described and ProgramSolver(described)))

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """RefusedError: only kept runs are judged."""
        raise RefusedError("only kept runs are judged, and this one was not kept")


def make_solvers(asked: SolverTable) -> dict[str, Solver]:
    """The solver under test under the empty name, and its variants by theirs.

    The shipped solvers but the reference have variants that make the same run again, see `AGAIN` of
    `checks.determinism`. InputError if the name is unknown or options do not go together.
    """
    name, ranks, interval = asked.solver, asked.ranks, asked.interval
    if is_external(name) or is_program(name):
        own = ("precision", "update", "keep_gram", "rbf", *EXCHANGE, "separate_timers", "interval")
        if asked.options(*own) != SolverTable().options(*own):
            raise InputError(
                f"solver {name!r} declares itself what it does: precision, update, keep_gram, rbf, "
                "exchange, cache, recompute, separate_timers and interval are for the shipped solvers"
            )
        if is_program(name):
            return {"": program_solver(read_program(name), ranks, name)}
        if ranks > 1:
            raise InputError(
                f"solver {name!r} runs in one process, but ranks = {ranks}; ranks are for others"
            )
        return {"": load_solver(name)}
    if name not in NAMES:
        if os.path.isfile(name) and os.access(name, os.X_OK):
            program = name if os.sep in name else os.path.join(os.curdir, name)
            raise InputError(
                f"solver {name!r} is a program; check the command that starts it, --exec "
                f"{shlex.quote(shlex.quote(program) + ' {dir}')}, or describe it in a program file"
            )
        if meant := meant_by_file(name):
            raise InputError(f"solver {name!r} is a file, and an object of it is a solver: {meant}")
        raise InputError(
            f"solver {name!r} is unknown{closest(name, NAMES)}; known: {', '.join(NAMES)}, and any of your "
            'own as "module:object", or as a program file "FILE.toml"'
        )
    if (name in TRAINING) != bool(interval):
        raise InputError(
            f"solver {name!r} with interval = {interval}: training and solve need the windows between two "
            "measurements, interval >= 1; the others measure nothing"
        )
    if name.startswith("reference"):
        silent = ("ranks", "exchange", "cache", "recompute", "separate_timers")
        if asked.options(*silent) != SolverTable().options(*silent):
            raise InputError(
                f"solver {name!r} communicates nothing: ranks, exchange, cache, recompute and "
                "separate_timers are for the production solver"
            )
        return {
            "": ReferenceSolver(asked.precision, "classical" if name.endswith("classical") else "sstep")
        }
    if asked.precision != "float64":
        raise InputError(f"precision = {asked.precision!r}, but the production solver has float64 only")
    form, tested = asked.options(*FORM), asked.options(*EXCHANGE)
    if name in TRAINING:
        from sstep_verify.adapters.training import TrainingSolver

        given = {**asked.options("interval", "tolerance", "tuned"), **form, **tested}
        trained = TrainingSolver(ranks, **given)
        if name == "training":
            return {"": trained, "as-used": trained}
        from sstep_verify.adapters.command import CommandSolver

        ways: dict[str, dict[str, bool]] = {
            "": {},
            "as-used": {"predicts": False},
            "resumed": {"resumed": True},
        }
        commands = {
            way: CommandSolver(ranks, auto=asked.auto, bias=asked.bias, **given, **how)
            for way, how in ways.items()
        }
        for again in commands.values():
            again.sequences = commands[""].sequences  # Who makes a tuned run again follows the first.
        return {**commands}
    if asked.tuned:
        raise InputError(
            f"tuned is for {' and '.join(TRAINING)}: solver {name!r} has the s that it is given"
        )
    made = _production(ranks, form | tested)
    return {"": made, "as-used": made}


def program_solver(described: ProgramFile, ranks: int, where: str) -> Solver:
    """A program on so many ranks; InputError, with its name `where`, if they cannot reach it."""
    if ranks > 1 and not described.program.takes_ranks:
        raise InputError(f"{where}: its command has no {{np}}, so {ranks} ranks cannot reach it")
    return ProgramSolver(described, ranks)


def _production(ranks: int, options: dict[str, Any]) -> Solver:
    if ranks == 1:
        return ProductionSolver(**options)
    from sstep_verify.adapters.ours import DistributedSolver

    return DistributedSolver(ranks, **options)
