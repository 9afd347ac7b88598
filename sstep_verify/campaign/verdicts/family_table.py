"""Family in a campaign file: its table, read and compared with what can be run."""

from __future__ import annotations

import os
import sys

from sstep_verify.campaign.ranges import (
    LONG,
    WORDS,
    Range,
    kernel_of,
    known,
    most_ranks,
    refuse_lists,
    within,
)
from sstep_verify.campaign.toml_values import take, take_several
from sstep_verify.campaign.verdicts.family import Family
from sstep_verify.campaign.verdicts.fitting import fitted
from sstep_verify.checks.registry import CHECKS
from sstep_verify.errors import InputError, closest
from sstep_verify.problems.bias import require_usable
from sstep_verify.problems.draws import GENERATORS
from sstep_verify.problems.losses import TASKS
from sstep_verify.solvers.adapters.program import is_program, read_program

STREAMS = ("uniform", "cyclic", "epochs", "logged", *GENERATORS)
COUNTS = ("iterations", "windows", "epochs")


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
        "tuned": bool, "auto": bool, "partition": str, "long_block": int, "panel_words": int,
        "bias": (int, float), "memory": (int, float), "time_limit": (int, float),
    }  # fmt: skip
    values: dict = {"kernel": tuple(kernel_of(item, where) for item in take(table, "kernel", list, where))}
    for key, kind in lists.items():
        if key in table:
            values[key] = take_several(table, key, kind, where)
    for key, kind in scalars.items():
        if key in table:
            values[key] = take(table, key, kind, where)
    for key in table:
        raise InputError(f"{where}: unknown key {key!r} in the family{closest(key, (*lists, *scalars))}")
    refuse_lists(where, values)
    for key in ("data", "task", "kernel", "s"):
        if not values.get(key):
            raise InputError(f"{where}: {key} is missing or empty")
    family = Family(**values)
    if is_program(family.solver):
        family = fitted(family, read_program(family.solver))
    refuse_unusable(family, where)
    return family


def _ranges(family: Family) -> dict[str, Range]:
    """Range of every number, those of lists included."""
    cores = f"this machine has {os.cpu_count()} cores, four ranks a core are the most, or 16"
    long = Range(1, LONG, "a run of more would not end within weeks")
    count, any_count = Range(1, WORDS), Range(0, WORDS)
    window = f"iterations = {family.iterations}, and a window holds no more"
    return {
        "s": Range(1, family.iterations, window),
        "block": count,
        "iterations": long,
        "parameter": Range(0, open=True),
        "tolerance": Range(0, open=True),
        "memory": Range(0, 1 << 20, "GiB", open=True),
        "time_limit": Range(0, 10**8, "seconds; three years", open=True),
        "bias": Range(-sys.float_info.max),
        "ranks": Range(1, WORDS) if family.source else Range(1, most_ranks(), cores),
        "replay_limit": count,
        "windows": Range(0, 1 << 20, "each is replayed in exact arithmetic"),
        "minimum_windows": Range(
            1,
            family.windows + 2,
            f"windows = {family.windows}, and the first and the last are replayed too",
        ),
        "seed": any_count,
        "start": Range(0, LONG),
        **dict.fromkeys(("drift", "cache", "recompute", "interval"), any_count),
        "long_block": count,
        "panel_words": count,
    }


def refuse_unusable(family: Family, where: str) -> None:
    """Raise InputError if a number is out of range, a name unknown, or options do not go together."""
    within(where, vars(family), _ranges(family))
    for check in family.checks:
        known(where, "check", check, tuple(CHECKS))
    for task in family.task:
        known(where, "task", task, TASKS)
    known(where, "storage", family.storage, ("as-is", "dense", "csr"))
    known(where, "stream", family.stream, STREAMS)
    known(where, "counts", family.counts, COUNTS)
    if family.stream == "logged" and not family.is_program:
        raise InputError(f"{where}: stream 'logged' is that of a program, and {family.solver!r} is none")
    try:
        family.solvers()
        for kernel in family.kernel:
            require_usable(family.bias, kernel)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if family.exchange == "gram" and any(not kernel.linear for kernel in family.kernel):
        raise InputError(f"{where}: exchange 'gram' is for the linear kernel; use another for the others")
    if "krr" in family.task and len(family.task) > 1:
        raise InputError(f"{where}: krr needs other data than a K-SVM; put it in a family of its own")
    if "krr" not in family.task and family.block != (1,):
        raise InputError(f"{where}: block = {list(family.block)}, but a K-SVM draws one coordinate a step")
    if family.start and family.drift:
        raise InputError(
            f"{where}: start = {family.start} and drift = {family.drift}, but drift is measured from zero "
            "at the stream's beginning; drop one"
        )
