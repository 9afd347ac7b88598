"""Families of campaign files: read, and compared with what can be run."""

from __future__ import annotations

from sstep_verify.campaign.tables import Range, limits, most_ranks, read_table, refuse_beyond
from sstep_verify.campaign.verdicts.family import Family, FamilyTable
from sstep_verify.campaign.verdicts.fitting import fitted
from sstep_verify.errors import InputError
from sstep_verify.problems.bias import require_usable
from sstep_verify.solvers.adapters.program import is_program, read_program


def read_family(table: dict, where: str) -> Family:
    """The family of one ``[[family]]`` table; InputError, with `where`, if it cannot be used."""
    family = Family(**read_table(table, FamilyTable, where))
    if is_program(family.solver):
        family = fitted(family, read_program(family.solver))
    refuse_unusable(family, where)
    return family


def _limits(family: Family) -> dict[str, Range]:
    """Limits of numbers that others set."""
    window = f"iterations = {family.iterations}, and a window holds no more"
    ends = f"windows = {family.windows}, and the first and the last are replayed too"
    return {
        "s": Range(1, family.iterations, window),
        "minimum_windows": Range(1, family.windows + 2, ends),
        "ranks": Range(1) if family.source else most_ranks(),
    }


def refuse_unusable(family: Family, where: str) -> None:
    """Raise InputError if a value is beyond its limits, or options do not go together."""
    refuse_beyond(where, vars(family), {**limits(Family), **_limits(family)})
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
