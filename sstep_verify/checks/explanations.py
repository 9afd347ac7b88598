"""What each check claims, needs and allows, read off the modules that do it, so that there is one text.

From a check's module come the claim (first sentence of its docstring), the method (the rest), the runs it
needs (first lines of ``runs`` and ``continued``) and the modules of ``bounds/`` that its text names, whose
docstrings are the derivations. A check may say more by three module-level names:

BOUND_MODULES : tuple of str
    Its modules in ``bounds/``, where its text does not name them.
PLANTED : str
    The defect that must show, or the verdict is VACUOUS.
VACUOUS_MEANS : str
    What VACUOUS says of a run.
"""

from __future__ import annotations

import fnmatch
import importlib
import inspect
import pkgutil
import re
import textwrap
from dataclasses import dataclass
from types import ModuleType
from typing import cast

from sstep_verify import bounds
from sstep_verify.checks.registry import MODULES, checks_of

BOUND_MODULES = {
    "sstep-equals-classical": ("trajectory_svm", "trajectory_ridge"),
}
"""Bounds of the checks whose text does not name them."""

PLANTED = {
    "kernel-entries": "entries that say nothing of the data, as if the kernel function were left out",
    "window-replay": "the kernel correction of the s-step recurrence left out (gradients stay stale)",
    "trajectory": "the kernel correction of the s-step recurrence left out in every window of the run",
    "sstep-equals-classical": "the kernel correction left out of the s-step run alone",
    "optimum": "a run that made no step at all",
    "box": "the clip left out",
    "rank-coherence": "a rank that goes its own way, or makes no updates",
    "determinism": "rounding that depends on the run, on every value that moved",
    "metamorphic-exact": "an absolute constant, or a lost state or position, that acts on some coordinate",
    "metamorphic-bounded": "a transformed run whose gradients lost what other samples or steps give",
    "residual-gap": "a carried quantity that is not updated",
    "message-count": "communication in every iteration, as the classical method has it",
    "claim-honesty": "the value of an earlier a reported as that of the last",
}
"""The planted defects of the checks that do not name their own."""

UNNAMED = "the one that the first term of each verdict names"


@dataclass(frozen=True)
class Explanation:
    """One check in words.

    Parameters
    ----------
    check : str
        Check id.
    claim : str
        What it claims, in one sentence.
    method : str
        How it goes about it; may be empty.
    needs : tuple of str
        Runs it needs.
    derivations : dict of str to str
        Path in the package of each module that bounds it, and its derivation; empty if the bound is 0.
    planted : str
        The defect that must show.
    vacuous : str
        What VACUOUS says of a run.
    """

    check: str
    claim: str
    method: str
    needs: tuple[str, ...]
    derivations: dict[str, str]
    planted: str
    vacuous: str


def known_checks() -> tuple[str, ...]:
    """Ids of all checks, in their order of registration."""
    return tuple(MODULES)


def explain(check: str) -> Explanation:
    """Explain one check.

    Raises
    ------
    InputError
        If there is no such check; the message names those there are.
    """
    module = cast("ModuleType", checks_of((check,))[0])
    claim, method = claim_of(module)
    functions = [vars(module)[name] for name in ("runs", "continued") if name in vars(module)]
    planted = getattr(module, "PLANTED", PLANTED.get(check, UNNAMED))
    vacuous = getattr(
        module,
        "VACUOUS_MEANS",
        "every comparison holds, but on this very input it would have held with the planted defect too, so "
        "it shows nothing; each term says for itself whether it could have been seen",
    )
    return Explanation(
        check=check,
        claim=claim,
        method=method,
        needs=tuple(_first_line(function) for function in functions),
        derivations={f"bounds/{name}.py": derivation(name) for name in _bound_modules(check, module)},
        planted=planted,
        vacuous=vacuous,
    )


def claim_of(module: ModuleType) -> tuple[str, str]:
    """The claim in a check's docstring, without its id, and what follows it."""
    head, _, rest = (inspect.getdoc(module) or "").partition("\n\n")
    sentence = re.sub(r"^Check [\w-]+:\s*", "", " ".join(head.split()))
    if not re.match(r"s\b", sentence):  # the symbol s stays small
        sentence = sentence[:1].upper() + sentence[1:]
    return sentence, rest.strip()


def derivation(name: str) -> str:
    """The docstring of a module of ``bounds/``."""
    return inspect.getdoc(importlib.import_module(f"sstep_verify.bounds.{name}")) or ""


def _first_line(function) -> str:
    return textwrap.dedent(inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")


def _bound_modules(check: str, module: ModuleType) -> tuple[str, ...]:
    """Modules that the check or the table names, or else those of its text, such as bounds/window_*.py."""
    told = getattr(module, "BOUND_MODULES", BOUND_MODULES.get(check))
    if told is not None:
        return told
    present = sorted(item.name for item in pkgutil.iter_modules(bounds.__path__))
    patterns = re.findall(r"bounds/([\w*]+)\.py", inspect.getsource(module))
    return tuple(dict.fromkeys(name for pattern in patterns for name in fnmatch.filter(present, pattern)))
