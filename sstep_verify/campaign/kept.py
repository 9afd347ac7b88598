"""What was run, kept next to a report so that it can be made again without the solver.

A report with kept runs holds the folder ``runs``: ``campaign.json``, a folder for each problem, and a list
of digests. The kept runs are the evidence; whoever can write all files can forge them.
"""

from __future__ import annotations

import functools
import operator
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
import numpy as np

from sstep_verify import __version__
from sstep_verify.adapters.program import ProgramFile
from sstep_verify.campaign.artefact.files import SUMS, hold_digests, write_digests
from sstep_verify.campaign.artefact.form import Array, NotFinite, to_plain
from sstep_verify.campaign.artefact.runs import FILES, SCHEMA, built, name_of
from sstep_verify.campaign.model import Definition, Head, Plan
from sstep_verify.campaign.profile import Chosen
from sstep_verify.campaign.summary import ExpectedFailure
from sstep_verify.campaign.verdicts.family import Family
from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.files import open_regular, shortened
from sstep_verify.files.records import convert, decode, encode, strict
from sstep_verify.problems.kernels import KERNELS, Kernel
from sstep_verify.protocol import Solver
from sstep_verify.provenance import collect
from sstep_verify.report.results import ERRORS, Results

CAMPAIGN = "campaign.json"


@dataclass(frozen=True)
class HandedOver:
    """Stands for a solver that was handed over as an object."""


@dataclass(frozen=True)
class KeptFamily:
    """A family of problems, and what the solver under test and its variants declared."""

    family: Family
    declarations: dict[str, Declaration]


@dataclass(frozen=True)
class KeptCampaign(Head):
    """What was run, and how it ended, as far as the runs do not say it.

    The fields of a `Definition`, with those families that hold problems; `only` and `directory` of the
    `Plan`; the `errors` by kind, and whether the campaign was `interrupted`. `made_with` are the versions
    and the processor, `cases` the ids of the problems whose runs are kept.
    """

    families: tuple[KeptFamily, ...] = ()
    source: str = ""
    seed: int | None = None
    command: str = ""
    expected: tuple[ExpectedFailure, ...] = ()
    cut: Chosen | None = None
    only: str = ""
    directory: str | None = None
    interrupted: bool = False
    errors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    made_with: dict[str, object] = field(default_factory=dict)
    cases: tuple[str, ...] = ()
    schema: Literal[1] = SCHEMA
    version: str = __version__

    def definition(self) -> Definition:
        """The campaign, whose solvers make no runs."""
        names = {item.name for item in fields(Definition)} - {"families", "kind"}
        families = tuple(replace(one.family, recorded=one.declarations) for one in self.families)
        return Definition(**{name: getattr(self, name) for name in names}, families=families)


def made_with() -> dict[str, object]:
    """Versions, commit and kind of processor that a judgement may depend on."""
    known: dict[str, Any] = collect()
    return {
        **{name: known[name] for name in ("package", "git", "python", "packages")},
        "processor": known["machine"]["cpu"],
    }


def keep_campaign(plan: Plan, results: Results, folder: Path) -> None:
    """Write into a folder what was run of a plan, with the runs of its problems, which its `keep` holds."""
    definition = plan.definition
    names = {item.name for item in fields(KeptCampaign)} & {item.name for item in fields(Definition)}
    met: Any = results.campaign.parameters.get(ERRORS, {})
    cases = tuple(case.id for case in results.cases)
    folder.mkdir(parents=True)
    for case in cases:
        _copy(cast(Path, plan.keep) / name_of(case), folder / name_of(case), (*FILES, SUMS))
    kept = KeptCampaign(
        **{name: getattr(definition, name) for name in names - {"families"}},
        families=tuple(map(_kept_family, definition.families)),
        only=plan.only,
        directory=plan.directory,
        interrupted=results.summary.interrupted,
        errors={kind: tuple(lines) for kind, lines in met.items()},
        made_with=made_with(),
        cases=cases,
    )
    content = encode(to_plain(kept, "campaign", {}))
    convert(decode(content, CAMPAIGN), _form(tuple(KERNELS.values())), CAMPAIGN)
    (folder / CAMPAIGN).write_bytes(msgspec.json.format(content, indent=1) + b"\n")
    write_digests(folder, _listed(map(name_of, cases)))


def copy_runs(source: Path, folder: Path) -> None:
    """Copy all that is kept of a report into a folder; InputError if a file was changed or is missing."""
    kept = read_campaign(source)
    _copy(source, folder, (CAMPAIGN, SUMS))
    for name in map(name_of, kept.cases):
        _copy(source / name, folder / name, (*FILES, SUMS))


def _copy(source: Path, target: Path, names: Iterable[str]) -> None:
    """Give files a second place; where the file system has no second names for a file, by copies."""
    target.mkdir(parents=True)
    for name in names:
        try:
            os.link(source / name, target / name, follow_symlinks=False)
        except OSError:
            part = open_regular(source / name, "kept runs", follow=False)
            with part, open(target / name, "wb") as copy:
                shutil.copyfileobj(part, copy)


def _kept_family(family: Family) -> KeptFamily:
    solvers = family.solvers()
    declarations = {name: solver.declaration for name, solver in solvers.items()}
    is_object = family.given is not None and not isinstance(family.given, ProgramFile)
    # Of a program that a campaign file names, what its own file says of it.
    given: Any = HandedOver() if is_object else getattr(solvers[""], "described", family.given)
    return KeptFamily(replace(family, given=given, recorded=None), declarations)


def _listed(names: Iterable[str]) -> list[str]:
    return [CAMPAIGN, *(f"{name}/{SUMS}" for name in sorted(names))]


def read_campaign(folder: Path) -> KeptCampaign:
    """Read what was run; InputError if a file was changed or is missing, or another version wrote it."""
    if not (folder / CAMPAIGN).exists():
        raise InputError(
            f"{shortened(folder.parent)}: holds no runs to judge again; `check --keep-runs` and "
            "`run --keep-runs` keep them with the report"
        )
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    hold_digests(folder, _listed(names))
    for name in names:
        hold_digests(folder / name, FILES)
    found: KeptCampaign = built(folder, CAMPAIGN, _form(tuple(KERNELS.values())), dict)
    if sorted(map(name_of, found.cases)) != sorted(names):
        raise InputError(f"{shortened(folder)}: holds other problems than {CAMPAIGN} lists")
    return found


@functools.cache
def _form(kernels: tuple[type[Kernel], ...]) -> Any:
    """The document in a file, with the kernels registered so far."""
    instead: dict[Any, Any] = {float: float | NotFinite, np.ndarray: Array}
    made = (strict(kernel, instead, tagged=True) for kernel in kernels)
    instead[Kernel] = functools.reduce(operator.or_, made)
    instead[Solver] = strict(HandedOver, instead, tagged=True)
    return strict(KeptCampaign, instead, tagged=True)
