"""Campaigns that predict strong scaling; nothing is run or judged: the tables ``[[scaling]]``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from sstep_verify.campaign.cases import OneOf, Range, chosen_units, read_table
from sstep_verify.campaign.model import REFUSED, Assembled, Definition, Kind, Plan, Prepared, State, Unit
from sstep_verify.costs.prediction import read
from sstep_verify.errors import InputError, MissingExtraError
from sstep_verify.problems.losses import TASKS
from sstep_verify.report.case import PREDICTED, Case
from sstep_verify.report.results import Summary
from studies.report.scaling.part import MARKS, PaperClaim, Scaling, ScalingPoint
from studies.scaling.claims import claims_on
from studies.scaling.curve import (
    KERNELS,
    RANKS,
    SHAPES,
    STEPS,
    Cell,
    DataItem,
    item_of,
    load_profile,
    points,
)


@dataclass(frozen=True)
class ScalingFamily:
    """Predictions of every data set with every task, kernel (by name: its parameters take no time) and b.

    P ascends; s is in addition to 1. The machine is a file, or the name of one that is shipped, fitted to
    the published programs.
    """

    data: tuple[DataItem, ...]
    task: Annotated[tuple[str, ...], OneOf(TASKS)]
    kernel: Annotated[tuple[str, ...], OneOf(KERNELS)]
    b: Annotated[tuple[int, ...], Range(1, 1 << 20)] = (1,)
    ranks: Annotated[tuple[int, ...], Range(1, 1 << 20)] = RANKS
    s: Annotated[tuple[int, ...], Range(2, 1 << 20, "s = 1, the classical method, is always predicted")] = (
        STEPS[1:]
    )
    machine: str = "perlmutter"


@dataclass(frozen=True)
class ScalingUnit:
    """One curve over P: what one process works on at a time; `refusal` says why it cannot be predicted."""

    family: ScalingFamily
    data: DataItem
    task: str
    kernel: str
    block: int
    refusal: str = ""

    @property
    def case(self) -> str:
        """Id of its case, such as ``duke/rbf/svm-l1`` or ``news20.binary/rbf/krr/b=4``."""
        block = [f"b={self.block}"] if self.task == "krr" else []
        return "/".join([self.data.name, self.kernel, self.task, *block])

    @property
    def cell(self) -> Cell:
        """What the paper's claims and the published timings are looked up by."""
        return Cell(self.data.name, self.task != "krr", self.kernel, self.block)


def scaling_units(families: Sequence[ScalingFamily], only: str = "") -> list[ScalingUnit]:
    """All units whose case id `only` selects, in the order of the file, those of a data set together.

    InputError if two tables hold the same case, or no case is left.
    """
    every = [
        ScalingUnit(family, data, task, kernel, block)
        for family in families
        for data in family.data
        for task in family.task
        for block in family.b
        for kernel in family.kernel
    ]
    order = list(dict.fromkeys(unit.data.name for unit in every))
    return sorted(chosen_units(every, only, "[[scaling]]"), key=lambda unit: order.index(unit.data.name))


def read_scaling(table: dict[str, Any], where: str) -> ScalingFamily:
    """The family of one ``[[scaling]]`` table; InputError if a key or a value cannot be used."""
    if isinstance(named := table.get("data"), list):
        table = table | {"data": [{"name": one} if isinstance(one, str) else one for one in named]}
    values = read_table(table, ScalingFamily, where)
    values["data"] = tuple(item_of(one, where) for one in values["data"])
    family = ScalingFamily(**values)
    if family.b != (1,) and any(name != "krr" for name in family.task):
        raise InputError(f"{where}: b = {list(family.b)}, but K-SVM makes steps of one coordinate")
    if tuple(sorted(family.ranks)) != family.ranks:
        raise InputError(f"{where}: ranks = {list(family.ranks)}, but they must ascend")
    try:
        published = read(family.machine).published
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if not published:
        raise InputError(f"{where}: machine {family.machine!r} was not fitted to the published programs")
    return family


@dataclass(frozen=True)
class ScalingOutcome:
    """Predictions of one unit and the paper's claims on its case, whose status is no verdict."""

    case: Case
    points: tuple[ScalingPoint, ...]
    claims: tuple[PaperClaim, ...]


class ScalingKind(Kind):
    """A unit is a curve over P; an outcome has its points, and the paper's claims on it."""

    outcome = ScalingOutcome
    read = staticmethod(read_scaling)

    def units(self, definition: Definition, only: str = "") -> list[Unit]:
        """The curves."""
        return [
            Unit((unit.case,), unit, data=(unit.data.name,))
            for unit in scaling_units(definition.families, only)
        ]

    def prepare(self, plan: Plan, units: list[Unit]) -> Prepared:
        """Load what there is; a unit whose data are not to be had is refused alone."""
        digests: dict[str, str] = {}
        refusals: dict[str, str] = {}
        found = []
        for unit in units:
            item = unit.work.data
            if first := item.name not in digests and item.name not in refusals:
                try:
                    digests[item.name] = load_profile(item, plan.directory)[1]
                except (InputError, MissingExtraError) as error:
                    refusals[item.name] = str(error)
            if item.name in refusals:
                work = replace(unit.work, refusal=refusals[item.name])
                refusals[item.name] = f"for the same reason as {work.case}" if first else work.refusal
                unit = replace(unit, work=work, data=())
            found.append(unit)
        return Prepared(
            found, {name: digest or "stated in the campaign" for name, digest in digests.items()}
        )

    def run(self, unit: Unit, plan: Plan) -> Iterator[ScalingOutcome]:
        """Predict the curve; InputError if its data are not to be had."""
        work: ScalingUnit = unit.work
        if work.refusal:
            raise InputError(work.refusal)
        item, family = work.data, work.family
        profile, _ = load_profile(item, plan.directory)
        machine, cell = read(family.machine), work.cell
        if SHAPES.get(cell.data) != (profile.samples, profile.features):
            cell = cell._replace(data="")  # Of the same name as one of the paper's, but other data.
        curve = tuple(points(work.case, machine, profile, cell, family.ranks, (1, *family.s)))
        last = curve[-1]
        source = f"counted in {item.counts}" if item.counts else "of the data set"
        case = Case(
            id=work.case,
            problem=f"{item.name} / {work.kernel} / "
            + (f"K-RR, b = {work.block}" if work.task == "krr" else "K-SVM"),
            dataset=item.name,
            kernel=work.kernel,
            loss="K-RR" if work.task == "krr" else "K-SVM",
            task=work.task,
            samples=profile.samples,
            features=profile.features,
            block=work.block,
            status=PREDICTED,
            s=(1, *sorted(work.family.s)),
            reason=(
                f"at P = {last.ranks:,}, microseconds per iteration: classical {last.classical:g}, s-step "
                f"{last.s_step:g} (s = {last.s}), ours {last.ours:g} ({last.exchange}, s = {last.our_s})"
            ),
            facts={
                "nonzeros": round(profile.nonzeros),
                "nonzeros of a column": "stated as even" if item.features else source,
                "P": list(work.family.ranks),
                "machine": machine.name,
            },
        )
        yield ScalingOutcome(case, curve, tuple(claims_on(work.case, machine, profile, cell)))

    def assemble(self, plan: Plan, units: Sequence[Unit], state: State) -> Assembled:
        """All curves and claims, with what predictions were off by."""
        outcomes: list[ScalingOutcome] = state.outcomes
        families = list(dict.fromkeys(unit.work.family for unit in units))
        machines = [read(name) for name in dict.fromkeys(family.machine for family in families)]
        claims = tuple(claim for outcome in outcomes for claim in outcome.claims)
        marks = Counter(claim.mark for claim in claims)
        told = ", ".join(f"{marks[mark]} {mark}" for mark in MARKS)
        parts = [f"{len(outcomes)} of {len(units)} problems predicted"]
        if refused := len(state.errors[REFUSED]):
            parts.append(f"{refused} refused")
        if failures := len(state.internal):
            parts.append(f"{failures} internal errors")
        if claims:
            parts.append(f"the paper's {len(claims)} claims on them: {told}")
        return Assembled(
            Summary(
                "interrupted: " * state.interrupted + "; ".join(parts),
                state.exit_code(False, len(outcomes) < len(units)),
            ),
            [outcome.case for outcome in outcomes],
            parameters={
                "machine": {machine.name: machine.source for machine in machines},
                "P": sorted({ranks for family in families for ranks in family.ranks}),
                "s": sorted({s for family in families for s in (1, *family.s)}),
            },
            documents={
                "scaling": Scaling(
                    {machine.name: machine.error for machine in machines},
                    tuple(point for outcome in outcomes for point in outcome.points),
                    claims,
                )
            },
        )


KIND = ScalingKind()
