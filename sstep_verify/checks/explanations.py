"""Each check in words: what it says of itself, with the derivations of the bounds it names."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass

from sstep_verify.checks.registry import CHECKS, checks_of
from sstep_verify.specification import decided_by


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
    needs : str
        Runs it needs.
    derivations : dict of str to str
        Path in the package of each module that bounds it, and its derivation; empty if the bound is 0.
    planted : str
        The defect that must show.
    vacuous : str
        What VACUOUS says of a run.
    sentences : dict of str to str
        The sentences of the specification that it decides, by number.
    """

    check: str
    claim: str
    method: str
    needs: str
    derivations: dict[str, str]
    planted: str
    vacuous: str
    sentences: dict[str, str]


def known_checks() -> tuple[str, ...]:
    """Ids of all checks, in the order in which they judge."""
    return tuple(CHECKS)


def explain(check: str) -> Explanation:
    """Explain one check.

    Raises
    ------
    InputError
        If there is no such check; the message names those there are.
    """
    (declared,) = checks_of((check,))
    return Explanation(
        check=check,
        claim=declared.claim,
        method=declared.method,
        needs=declared.needs,
        derivations={f"bounds/{name}.py": derivation(name) for name in declared.bounds},
        planted=declared.planted,
        vacuous=declared.vacuous,
        sentences={one.number: one.text for one in decided_by(check)},
    )


def derivation(name: str) -> str:
    """The docstring of a module of ``bounds/``, named by its path in there."""
    return inspect.getdoc(importlib.import_module("sstep_verify.bounds." + name.replace("/", "."))) or ""
