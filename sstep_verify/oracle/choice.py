"""The oracles by the names that a user chooses them by."""

from __future__ import annotations

from sstep_verify.errors import InputError, closest
from sstep_verify.oracle.evaluated import EvaluatedOracle
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Problem

ORACLES: dict[str, type[Oracle]] = {one.name: one for one in (Oracle, EvaluatedOracle)}


def oracle_named(name: str, problem: Problem) -> Oracle:
    """The oracle of this name about problems that share data and kernel with one.

    Raises
    ------
    InputError
        If there is none of this name, or the problem is too large for it.
    """
    if name not in ORACLES:
        raise InputError(
            f"oracle = {name!r:.40}: no oracle has that name{closest(name, ORACLES)} (known: "
            f"{', '.join(ORACLES)}); leave it out for arb"
        )
    return ORACLES[name](problem)
