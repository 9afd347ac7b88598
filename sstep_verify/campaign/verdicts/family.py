"""Families of problems in a campaign file (keys, types, limits), and the cases that they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from sstep_verify.adapters.program import ProgramFile
from sstep_verify.adapters.stored import StoredVector
from sstep_verify.campaign.cases import (
    LONG,
    POSITIVE,
    WORDS,
    Count,
    Memory,
    OneOf,
    Range,
    Whole,
    case_id,
    chosen,
)
from sstep_verify.campaign.model import Definition, Unit
from sstep_verify.campaign.verdicts.solvers import NotRun, SolverTable, make_solvers, program_solver
from sstep_verify.checks.registry import CHECKS
from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.problems import Kernel
from sstep_verify.problems.draws import GENERATORS
from sstep_verify.problems.kernels import shortest
from sstep_verify.problems.losses import TASKS
from sstep_verify.protocol import ExternalSolver, Solver, is_external, is_program
from sstep_verify.solver.settings import Options
from sstep_verify.trajectory import STOPS

MOST_CASES = 10_000
"""Most problems of a campaign: a report of more can be neither read nor drawn."""


@dataclass(frozen=True)
class FamilyTable(SolverTable):
    """Problems that share everything but data, task, kernel and parameter: their product is run.

    `data` are names of data sets, or paths, held as `storage` says; tasks are svm-l1 and svm-l2 (together),
    or krr (alone); `s` iterations per window, 1 for the classical method; `parameter` C (K-SVM) or lambda
    (K-RR); `block` the block sizes (b), 1 for K-SVM. A run makes at most so many `iterations` of the
    `stream`, which is seeded, as the sample of windows is; so many of these are left out at its `start`,
    and the runs then begin from a seeded vector and not from 0, see `campaign.verdicts.case.seeded_start`.
    So many `windows` are sampled per run for window-replay, of at most `replay_limit` kernel entries each;
    a run of which fewer than `minimum_windows` are replayed makes the campaign incomplete. Over so many
    coordinate updates (b an iteration) the `drift` from the exact trajectory is measured, 0 for none. What
    needs more than `memory` GiB a process is left out or refused, see `campaign.verdicts.case`; a run of a
    solver ``module:object`` may take `time_limit` seconds. Plain runs are to end for one of the reasons
    `ends`, any if none is named. All checks judge the runs if none is named.
    """

    data: tuple[str, ...]
    task: Annotated[tuple[str, ...], OneOf(TASKS)]
    kernel: tuple[Kernel, ...]
    s: Annotated[tuple[int, ...], Range(1)]
    parameter: Annotated[tuple[float, ...], POSITIVE] = (1.0,)
    block: Annotated[tuple[int, ...], Range(1, WORDS)] = (1,)
    iterations: Annotated[int, Range(1, LONG, "a run of more would not end within weeks")] = 10_000
    windows: Annotated[int, Range(0, 1 << 20, "each is replayed in exact arithmetic")] = 4
    minimum_windows: Count = 2
    replay_limit: Count = 1 << 24
    drift: Whole = 0
    start: Annotated[int, Range(0, LONG)] = 0
    stream: Annotated[str, OneOf(("uniform", "cyclic", "epochs", "logged", *GENERATORS))] = "uniform"
    seed: Whole = 0
    storage: Annotated[str, OneOf(("as-is", "dense", "csr"))] = "as-is"
    memory: Memory = 4.0
    time_limit: Annotated[float, Range(0, 10**8, "seconds; three years", open=True)] = 600.0
    ends: Annotated[tuple[str, ...], OneOf(STOPS)] = ()
    checks: Annotated[tuple[str, ...], OneOf(CHECKS)] = tuple(CHECKS)


@dataclass(frozen=True)
class Family(FamilyTable):
    """The same, and what no campaign file says.

    A program may draw the coordinates of a block with `replacement`, and all its runs are whole numbers of
    what it `counts` (iterations, windows, epochs); those `from_zero` begin with a = 0 at the beginning of
    the stream. `further` are its s drawn from a seed. `given` is the program or solver under test, where
    `solver` is but a name for it. With `labels_as_targets` labels of two classes are targets of K-RR as
    they stand, where its data have such. With `stability` runs are compared with those of s = 1 against the
    exact trajectory (`verdicts.measured`).
    `oracle` is the name of that which judges (`oracle.choice`). `recorded` is what solver and variants
    declared whose kept runs are judged: none is loaded or started.
    """

    replacement: bool = False
    counts: str = "iterations"
    from_zero: bool = False
    given: ProgramFile | Solver | None = None
    stability: bool = False
    labels_as_targets: bool = False
    further: tuple[int, ...] = ()
    oracle: str = "arb"
    recorded: Mapping[str, Declaration] | None = None

    @property
    def label(self) -> str:
        """What sets the family's runs apart from those of the default solver; empty for it."""
        solver = "" if self.solver == "production" else f"{self.solver}-{self.precision}"
        solver = self.solver if is_external(self.solver) else solver
        solver = Path(self.solver).stem if self.is_program or self.given else solver
        several = self.ranks > 1
        parts = (
            (solver, solver),
            (self.storage, self.storage != "as-is"),
            (f"bias={shortest(self.bias)}", self.bias),
            (self.update, self.update != "in-place"),
            (self.rbf, self.rbf != "norm-expansion"),
            (f"P={self.ranks}", several),
            (self.exchange, (several and not self.is_program) or self.exchange != "allreduce"),
            (f"recompute={self.recompute}", self.recompute),
            (f"cache={self.cache}", self.cache),
            ("timers", self.separate_timers),
            (f"start={self.start}", self.start),
            (f"interval={self.interval}", self.interval),
            ("tuned", self.tuned),
            ("auto", self.auto),
            (self.stream, self.stream != "uniform" and not self.is_program),
            (self.partition, self.partition != Options.partition),
            (f"long={self.long_block}", self.long_block != Options.long_block),
            (f"panel={self.panel_words}", self.panel_words != Options.panel_words),
            # Of one rank the kept matrix has always been unnamed, as all its runs have it.
            ("kept", self.keep_gram and several),
        )
        return "-".join(text for text, said in parts if said)

    @property
    def is_program(self) -> bool:
        """Whether the solver under test is a program."""
        return isinstance(self.given, ProgramFile) or is_program(self.solver)

    @property
    def is_vector(self) -> bool:
        """Whether one vector is judged, which was handed over: nothing is run."""
        return isinstance(self.given, StoredVector)

    @property
    def targets(self) -> str | None:
        """What the targets of its data are used for, where the data do not say so themselves."""
        if not (self.is_vector or self.labels_as_targets):
            return None
        return "regression" if "krr" in self.task else "classification"

    @property
    def memory_bytes(self) -> int:
        """Bytes that a process may take for a case."""
        return int(self.memory * 2**30)

    def solvers(self) -> dict[str, Solver]:
        """The solver under test under the empty name, and its variants by theirs.

        InputError if its options do not go together.
        """
        if self.recorded is not None:
            described = self.given if isinstance(self.given, ProgramFile) else None
            return {name: NotRun(declared, described) for name, declared in self.recorded.items()}
        if isinstance(self.given, ProgramFile):
            return {"": program_solver(self.given, self.ranks, f"program {self.solver!r}")}
        if self.given is not None:
            return {"": ExternalSolver(self.given)}
        return make_solvers(self)


@dataclass(frozen=True)
class CaseSpec:
    """One case, by names and numbers only; `parameter` is C or lambda, `block` b."""

    data: str
    task: str
    kernel: Kernel
    parameter: float
    block: int
    family: Family

    @property
    def id(self) -> str:
        """Unique name, see `case_id`."""
        more = [f"b={self.block}"] if self.task == "krr" else []
        more += [self.family.label] if self.family.label else []
        return case_id(self.data, self.kernel, self.task, self.parameter, *more)


def expand(definition: Definition, only: str = "") -> list[Unit]:
    """All cases of a campaign whose id `only` selects (`sstep_verify.campaign.cases`), in units.

    The work of a unit are the specs of a family's cases on the same data and kernel: they share kernel
    matrices and optimum searches.

    InputError if two cases coincide, or no case is left.
    """
    specs: dict[str, CaseSpec] = {}
    for spec in (spec for family in definition.families for spec in _product(family)):
        if spec.id in specs and definition.cut and spec.family is not specs[spec.id].family:
            continue  # What two families of a profile differ in, such as an a0, the solver has not.
        if spec.id in specs:
            where = "two families" if spec.family is not specs[spec.id].family else "one family twice"
            raise InputError(f"{definition.source}: case {spec.id} stands in {where}")
        specs[spec.id] = spec
        if len(specs) > MOST_CASES:
            raise InputError(
                f"{definition.source}: has more than {MOST_CASES:,} problems; make several campaigns of it"
            )
    wanted = chosen(only, specs)
    groups: dict[tuple, list[CaseSpec]] = {}
    for spec in specs.values():
        if spec.id in wanted:
            groups.setdefault((spec.data, spec.kernel, id(spec.family)), []).append(spec)
    return [
        Unit(
            tuple(spec.id for spec in same),
            tuple(same),
            data=(same[0].data,),
            ranks=same[0].family.ranks,
            external=is_external(same[0].family.solver) and same[0].family.recorded is None,
        )
        for same in groups.values()
    ]


def _product(family: Family) -> Iterator[CaseSpec]:
    return (
        CaseSpec(data, task, kernel, parameter, block, family)
        for data in family.data
        for kernel in family.kernel
        for task in family.task
        for parameter in family.parameter
        for block in family.block
    )
