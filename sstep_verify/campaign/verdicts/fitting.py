"""Families of campaign files: read, fitted to a program, compared with what can be run."""

from __future__ import annotations

from dataclasses import replace

from sstep_verify.adapters.program import ProgramFile, is_program, read_program
from sstep_verify.adapters.program.tables import Fixed
from sstep_verify.campaign.tables import Range, limits, most_ranks, read_table, refuse_beyond
from sstep_verify.campaign.verdicts.family import Family, FamilyTable
from sstep_verify.errors import InputError
from sstep_verify.problems.data.embedded import EDGES, REGRESSION, SHAPES, sized
from sstep_verify.problems.transforms import require_usable

JUDGES = {
    "contract": "zero printed ranks",
    "step-replay": "zero ranks",
    "window-replay": "zero ranks shown",
    "trajectory": "zero printed ranks",
    "sstep-equals-classical": "zero printed",
    "metamorphic-exact": "shown",
    "phases": "zero",
    "box": "zero ranks",
    "determinism": "zero printed ranks",
    "optimum": "zero",
    "residual-gap": "shown",
    "rank-coherence": "zero printed ranks",
    "message-count": "zero printed ranks",
}
"""What checks can judge that others cannot: runs from zero alone, of a program that takes no a0, or no
index stream either, or makes no runs of any length; printed, rounded results; what communication on more
than the fewest ranks may spoil. Those of shown need to see, or to be able to give, the weights that a
program carries.
"""


def judged(what: str) -> set[str]:
    """Checks by what they can judge, or need."""
    return {check for check, words in JUDGES.items() if what in words.split()}


def fitted(family: Family, described: ProgramFile) -> Family:
    """The family with what a program draws and counts itself, and those of its checks that can judge it."""
    wanted = set(family.checks)
    counts = described.conventions.counts
    if described.from_zero or counts != "iterations":  # Others make runs that go on, or of any length.
        wanted &= judged("zero")
        family = replace(family, start=0)
    if described.rounded or described.ends_apart:
        wanted &= judged("printed")
    if described.carries:
        wanted -= judged("shown")
    checks = tuple(one for one in family.checks if one in wanted)
    family = replace(family, checks=checks, counts=counts)
    own = described.stream
    if own is None:
        return family
    return replace(family, stream=own.kind, seed=own.seed, replacement=own.replacement)


def _sized(family: Family, fixed: Fixed) -> tuple[str, ...]:
    """The data of a family; where a size is fixed, of that size."""
    if not {"m", "n"} & set(fixed.values):
        return family.data
    usual = SHAPES["small"]
    name = sized(fixed.values.get("m", usual.samples), fixed.values.get("n", usual.features))
    return (name + REGRESSION if "krr" in family.task else name,)


def edges(family: Family) -> bool:
    """Whether its data are made for what they hold, and so may be no others."""
    return set(family.data) <= set(EDGES)


def made_for(family: Family, described: ProgramFile) -> Family:
    """The family with what a program has fixed; with no task or kernel where it is for none of these.

    One that carries weights has the linear kernel alone.
    """
    fixed, names = described.fixed_values, described.fixed_values.names("kernel")
    allowed = set(fixed.names("task")) & set(described.conventions.tasks)
    tasks = tuple(task for task in family.task if task in allowed)
    kernels = [
        fixed.kernel(one)
        for one in family.kernel
        if one.name in names and (one.linear or not described.carries)
    ]
    penalty = {fixed.penalty(task) or family.parameter for task in tasks}
    block = int(fixed.values.get("b", 0))
    data = _sized(family, fixed)
    if (block > 1 and "krr" not in tasks) or (edges(family) and data != family.data):
        tasks = ()
    return replace(
        family,
        task=tasks,
        kernel=tuple(dict.fromkeys(kernels)),
        data=data,
        parameter=penalty.pop() if penalty else family.parameter,
        block=(block,) if block and "krr" in tasks else family.block,
        iterations=int(fixed.values.get("H", family.iterations)),
    )


def read_family(table: dict, where: str) -> Family:
    """The family of one ``[[family]]`` table; InputError, with `where`, if it cannot be used."""
    family = Family(**read_table(table, FamilyTable, where))
    if is_program(family.solver):
        family = fitted(family, read_program(family.solver))
    refuse_unusable(family, where)
    return family


def refuse_unusable(family: Family, where: str) -> None:
    """Raise InputError if a value is beyond its limits, or options do not go together."""
    window = f"iterations = {family.iterations}, and a window holds no more"
    ends = f"windows = {family.windows}, and the first and the last are replayed too"
    set_by_others = {
        "s": Range(1, family.iterations, window),
        "minimum_windows": Range(1, family.windows + 2, ends),
        "ranks": Range(1) if family.source else most_ranks(),
    }
    refuse_beyond(where, vars(family), {**limits(Family), **set_by_others})
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
