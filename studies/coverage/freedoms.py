"""The freedoms of a solver and of a case, by name, with the values that are distinguished.

What a solver may declare is read from the fields of `Declaration`, what it does without declaring it from
those of `Undeclared`, what a campaign may plan from those of `Case`: a test says so of one that stands in
none of these tables.
"""

from __future__ import annotations

import os
from dataclasses import fields
from typing import get_args, get_type_hints

import scipy.sparse

from sstep_verify.checks.shared.case import Case
from sstep_verify.declaration import EXCHANGES, KNOWN, Declaration
from sstep_verify.problems.losses import TASKS
from sstep_verify.scenarios.draws import KERNEL_NAMES
from studies.admissible.undeclared import Undeclared

NO, YES = "no", "yes"
SWITCH = (NO, YES)

NONE, KEPT, AGAIN = "none", "kept", "formed again"
"""Values of `Declaration.weights`: not maintained, maintained for ever, and formed again now and then."""

OWN_EXCHANGES = ("reduce-scatter", "gram", "support", "kept-gram", "column-cache")
"""Exchanges that the production solver alone makes."""

NO_FREEDOM = {
    "name": "a name: it is in messages, and nothing is derived from it",
    "options": "shown to readers; of separate timers alone it follows that every window has a barrier",
}
"""Fields of `Declaration` that are no freedom, and why."""

CHOSEN: dict[str, tuple[str, ...]] = {
    **KNOWN,
    "exchange": ("", *EXCHANGES),
    "ranks": ("1", "several"),
    "weights": (NONE, KEPT, AGAIN),
    "level": ("0", "1", "2", "3"),
}
"""Values of the fields of `Declaration` that are more than there or not."""

SWITCHES = tuple(one.name for one in fields(Declaration) if isinstance(one.default, bool))

DECLARED = {
    name: CHOSEN.get(name, SWITCH)
    for name in (
        *KNOWN,
        *(one.name for one in fields(Declaration) if one.name not in NO_FREEDOM),
    )
}
"""What a solver may declare, by field of `Declaration`."""

MADE: dict[str, tuple[str, ...]] = {
    name: SWITCH if kind is bool else get_args(kind) for name, kind in get_type_hints(Undeclared).items()
}
"""What a solver does without declaring it, by field of `Undeclared`."""

PLANNED: dict[str, tuple[str, ...]] = {
    "block": ("1", "several"),
    "s": ("1", "up to m", "above m"),
    "iterations": ("one window", "whole windows", "a short last one", "long"),
    "start": ("0", "later"),
    "initial": ("zeros", "others"),
    "points": ("end", "windows"),
    "windows": ("few", "all"),
    "unit": ("1", "s"),
    "variants": SWITCH,
    "claims": SWITCH,
    "replay_limit": ("float64", "exact"),
    "storage": ("dense", "csr"),
    "range": ("near 1", "whole"),
    "data": ("spread", "cancelling", "ulp apart", "still"),
    "written": ("binary", "decimals"),
    "scaled": SWITCH,
    "as_given": SWITCH,
}
"""What a case may be, and how its data are."""

NO_PLAN = {
    "restarts": "which runs a program may be asked for: of the same runs the same verdicts",
    "told": "whether a claim is the solver's or the observer's: the bound on it is the same",
    "ends": "for which reasons a run may end: compared with its own word, without a bound",
    "oracle": "who evaluates: a campaign of its own compares both",
    "problem": "told by task, kernel, storage, range and data",
    "stream": "told by block",
    "s_values": "told by s",
    "declaration": "told by what a solver may declare",
    "id": "a name: it is in messages",
    "replay_command": "a command: it is in messages",
    "diagnose": "defects are searched for after a verdict, and do not change it",
    "classical_right": "which causes a failure may have, of the same verdicts",
    "further": "which s are judged by fewer checks: of the same runs the same verdicts",
    "short": "the length of short runs: those of a study are shorter than any of it",
    "seed": "the seed of a sample of windows, of the same runs",
}
"""Fields of `Case` that are no freedom of their own, and why."""

CORES = ("", "Haswell", "Prescott")
"""Processor kinds for which matrices are multiplied, by OpenBLAS's names; its own choice if empty."""

CORE = "OPENBLAS_CORETYPE"
"""Variable of the environment that OpenBLAS reads as it is loaded."""

VALUES: dict[str, tuple[str, ...]] = {
    **{"task": TASKS, "kernel": KERNEL_NAMES, "processor": CORES},
    **DECLARED,
    **MADE,
    **PLANNED,
}
"""All freedoms with their values."""


LONG = 200
"""Iterations from which on a run is long: a stands still in many of its windows."""


def declared_values(declaration: Declaration) -> dict[str, str]:
    """The values that a declaration has of each of its freedoms."""
    values = {name: getattr(declaration, name) for name in DECLARED}
    values |= {
        "exchange": declaration.exchange.kind if declaration.exchange else "",
        "ranks": DECLARED["ranks"][declaration.ranks > 1],
        "weights": NONE if declaration.weights is None else AGAIN if declaration.weights else KEPT,
        "level": str(declaration.level),
    }
    return {name: one if isinstance(one, str) else SWITCH[bool(one)] for name, one in values.items()}


def made_values(undeclared: Undeclared) -> dict[str, str]:
    """The values of what a solver does without declaring it."""
    return {name: one if isinstance(one, str) else SWITCH[one] for name, one in vars(undeclared).items()}


def row_of(
    case: Case, undeclared: Undeclared, data: str = "spread", wide: bool = False, written: str = "binary"
) -> dict[str, str]:
    """The values that solver and case have of every freedom; of the case's data those that are given."""
    (s,), length, samples = case.s_values, case.iterations, case.problem.samples
    tail = "whole windows" if length % s == 0 else "a short last one"
    second = {
        "block": case.stream.block > 1,
        "start": case.start > 0,
        "initial": case.initial is not None and bool(case.initial.any()),
        "points": bool(case.points),
        "windows": case.windows > 4,  # those that a campaign samples of a run
        "unit": case.unit > 1,
        "variants": bool(case.variants),
        "claims": bool(case.claims),
        "replay_limit": case.replay_limit > 0,
        "storage": scipy.sparse.issparse(case.problem.data),
        "range": wide,
        "scaled": case.scaled,
        "as_given": case.as_given,
    }
    return {
        **declared_values(case.declaration),
        **made_values(undeclared),
        **{name: PLANNED[name][place] for name, place in second.items()},
        "s": "1" if s == 1 else "up to m" if s <= samples else "above m",
        "iterations": "long" if length >= LONG else "one window" if length <= s else tail,
        "data": data,
        "written": written,
        "processor": os.environ.get(CORE, ""),
        "task": case.problem.loss.task,
        "kernel": case.problem.kernel.name,
    }
