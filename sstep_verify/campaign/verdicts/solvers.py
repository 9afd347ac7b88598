"""Solver under test of a family, by name and options, with the variants that some checks compare with."""

from __future__ import annotations

from typing import Any

from sstep_verify.errors import InputError, closest
from sstep_verify.solver import Solver
from sstep_verify.solvers.adapters.command import CommandSolver
from sstep_verify.solvers.adapters.distributed import DistributedSolver
from sstep_verify.solvers.adapters.foreign import is_foreign, load_solver
from sstep_verify.solvers.adapters.program import ProgramFile, ProgramSolver, is_program, read_program
from sstep_verify.solvers.adapters.reference import ReferenceSolver
from sstep_verify.solvers.adapters.training import TrainingSolver
from sstep_verify.solvers.production import ProductionSolver
from sstep_verify.solvers.production.options import Options

TRAINING = ("training", "solve")

NAMES = ("production", "training", "solve", "reference", "reference-classical")


def make_solvers(
    name: str,
    *,
    precision: str,
    update: str,
    keep_gram: bool,
    rbf: str = "norm-expansion",
    ranks: int = 1,
    exchange: str = "allreduce",
    cache: int = 0,
    recompute: int = 0,
    separate_timers: bool = False,
    interval: int = 0,
    tolerance: float = 0.0,
    tuned: bool = False,
    auto: bool = False,
    bias: float = 0.0,
    partition: str = Options.partition,
    long_block: int = Options.long_block,
    panel_words: int = Options.panel_words,
) -> dict[str, Solver]:
    """The solver under test under the empty name, and its variants by theirs.

    Variants of the production solver are the kept Gram matrix or, where the solver under test has it, the
    panels of every window; exchange "allreduce" without a cache, where it has something else; one rank,
    where it has several. The shipped solvers but the reference have variants that make the same run again,
    see `AGAIN`.

    Parameters
    ----------
    name : str
        production, training (what `solve` runs: the production solver in intervals, with its monitor),
        solve (the command itself, through files), reference, reference-classical, ``module:object``, see
        `load_solver`, or the path of a program file (``NAME.toml``), see docs/adapters.md.
    precision : {"float32", "float64", "longdouble"}
        Arithmetic of the reference; the production solver has float64 only.
    update : {"in-place", "frozen"}
        Form of the production solver's update.
    keep_gram : bool
        Whether the production solver keeps the whole Gram matrix.
    rbf : {"norm-expansion", "difference"}
        How the production solver forms squared distances; the reference takes differences.
    ranks : int
        Number of MPI ranks (P) of the production solver or a program; 1 runs the former in this process.
    exchange, cache, recompute, separate_timers, partition, long_block, panel_words
        See `sstep_verify.solvers.production.options.Options`.
    tuned : bool
        Let training make windows of several s, at most the one that is asked for.
    auto : bool
        Leave the choice of exchange and cache to the command; it is to choose those that are given.
    bias : float
        Constant that is the last feature of the samples; 0 for none.
    interval, tolerance
        Windows between two measurements of training, and the value at which it ends.

    Raises
    ------
    InputError
        If the name is unknown, the production solver is asked for another precision, the reference for
        ranks or an exchange, which it does not have, or intervals are not those of training.
    """
    if is_foreign(name) or is_program(name):
        own = (precision, update, keep_gram, rbf, exchange, cache, recompute, separate_timers, interval)
        if own != ("float64", "in-place", False, "norm-expansion", "allreduce", 0, 0, False, 0):
            raise InputError(
                f"solver {name!r} declares itself what it does: precision, update, keep_gram, rbf, "
                "exchange, cache, recompute, separate_timers and interval are for the shipped solvers"
            )
        return {
            "": program_solver(read_program(name), ranks, name)
            if is_program(name)
            else _foreign(name, ranks)
        }
    if name not in NAMES:
        raise InputError(
            f"solver {name!r} is unknown{closest(name, NAMES)}; known: {', '.join(NAMES)}, and any of your "
            'own as "module:object"'
        )
    if (name in TRAINING) != bool(interval):
        raise InputError(
            f"solver {name!r} with interval = {interval}: training and solve need the windows between two "
            "measurements, interval >= 1; the others measure nothing"
        )
    if name.startswith("reference"):
        if (ranks, exchange, cache, recompute, separate_timers) != (1, "allreduce", 0, 0, False):
            raise InputError(
                f"solver {name!r} communicates nothing: ranks, exchange, cache, recompute and "
                "separate_timers are for the production solver"
            )
        return {"": ReferenceSolver(precision, "classical" if name.endswith("classical") else "sstep")}
    if precision != "float64":
        raise InputError(f"precision = {precision!r}, but the production solver has float64 only")
    form: dict[str, Any] = {
        "update": update, "rbf": rbf, "separate_timers": separate_timers, "partition": partition,
        "long_block": long_block, "panel_words": panel_words,
    }  # fmt: skip
    tested: dict[str, Any] = {
        "exchange": exchange,
        "keep_gram": keep_gram,
        "cache": cache,
        "recompute": recompute,
    }
    if name in TRAINING:
        given = {"interval": interval, "tolerance": tolerance, "tuned": tuned, **form, **tested}
        trained = TrainingSolver(ranks, **given)
        if name == "training":
            return {"": trained, "as-used": trained}
        command, again = (
            CommandSolver(ranks, resumed=resumed, auto=auto, bias=bias, **given)
            for resumed in (False, True)
        )
        again.sequences = command.sequences  # Who makes a tuned run again follows the first.
        return {"": command, "as-used": command, "resumed": again}
    if tuned:
        raise InputError(
            f"tuned is for {' and '.join(TRAINING)}: solver {name!r} has the s that it is given"
        )
    made = {"": _production(ranks, form | tested)}
    made["as-used"] = made[""]
    if exchange != "allreduce" or cache:
        made["allreduce"] = _production(ranks, form)
    else:
        made["panels" if keep_gram else "gram"] = _production(ranks, form | {"keep_gram": not keep_gram})
    if ranks > 1:
        made["one-rank"] = _production(1, form | tested)
    return made


def program_solver(described: ProgramFile, ranks: int, where: str) -> Solver:
    """A program on so many ranks; InputError if they cannot reach it.

    Parameters
    ----------
    described : ProgramFile
        How it is started, and what it declares.
    ranks : int
        Number of ranks.
    where : str
        Name of the program, for the message.
    """
    if ranks > 1 and not described.program.takes_ranks:
        raise InputError(f"{where}: its command has no {{np}}, so {ranks} ranks cannot reach it")
    return ProgramSolver(described, ranks)


def _foreign(name: str, ranks: int) -> Solver:
    if ranks > 1:
        raise InputError(f"solver {name!r} runs in one process, but ranks = {ranks}; ranks are for others")
    return load_solver(name)


def _production(ranks: int, options: dict[str, Any]) -> Solver:
    return DistributedSolver(ranks, **options) if ranks > 1 else ProductionSolver(**options)


def offered(name: str, samples: int, memory: int) -> bool:
    """Whether a variant of the solver can be run: one that keeps the Gram matrix only if that fits.

    Parameters
    ----------
    name : str
        Name of the variant.
    samples : int
        Number of samples (m).
    memory : int
        Bytes that a process may take.
    """
    return name != "gram" or 8 * samples**2 <= min(8 * Options.gram_limit, memory)
