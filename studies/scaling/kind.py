"""Campaigns that predict strong scaling; nothing is run or judged: the tables ``[[scaling]]``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sstep_verify.campaign.messages import REFUSED, State
from sstep_verify.campaign.model import Assembled, Definition, Kind, Plan, Prepared, Unit
from sstep_verify.costs.prediction import read
from sstep_verify.errors import InputError, MissingExtraError
from sstep_verify.report import results as report
from studies.report.scaling.part import MARKS, PaperClaim, Scaling
from studies.scaling.units import (
    ScalingOutcome,
    execute_unit,
    load_profile,
    read_scaling,
    scaling_units,
)  # fmt: skip


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
        """Predict the curve."""
        yield execute_unit(unit.work, plan.directory)

    def assemble(self, plan: Plan, units: Sequence[Unit], state: State) -> Assembled:
        """All curves and claims, with what predictions were off by."""
        outcomes: list[ScalingOutcome] = state.outcomes
        families = list(dict.fromkeys(unit.work.family for unit in units))
        machines = [read(name) for name in dict.fromkeys(family.machine for family in families)]
        claims = tuple(claim for outcome in outcomes for claim in outcome.claims)
        return Assembled(
            report.Summary(
                sentence(len(units), outcomes, claims, state),
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


def sentence(
    planned: int, outcomes: Sequence[ScalingOutcome], claims: Sequence[PaperClaim], state: State
) -> str:
    """One sentence on what is predicted, and on how many claims that bears."""
    parts = [f"{len(outcomes)} of {planned} problems predicted"]
    if refused := len(state.errors[REFUSED]):
        parts.append(f"{refused} refused")
    if failures := len(state.internal):
        parts.append(f"{failures} internal errors")
    if claims:
        counts = Counter(claim.mark for claim in claims)
        told = ", ".join(f"{counts[mark]} {mark}" for mark in MARKS)
        parts.append(f"the paper's {len(claims)} claims on them: {told}")
    return ("interrupted: " if state.interrupted else "") + "; ".join(parts)


KIND = ScalingKind()
