"""Runs the cases of one group: optimum, runs for every s, verdicts, curves. Works inside one process."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from sstep_verify.campaign.artefact_keep import keep_artefacts
from sstep_verify.campaign.expand import CaseSpec, Group, make_case
from sstep_verify.campaign.memory import Memory, memory_of
from sstep_verify.campaign.minimums import left_out, too_few
from sstep_verify.campaign.references import Reference, SharedReferences
from sstep_verify.campaign.runs import drift_series, make_runs
from sstep_verify.campaign.summary import roll_up
from sstep_verify.checks import window_replay
from sstep_verify.checks.case import Case
from sstep_verify.checks.registry import checks_of
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import kernels, losses
from sstep_verify.problems.datasets import load
from sstep_verify.reporting import results as report
from sstep_verify.solver import Solver
from sstep_verify.verdict import Status, Verdict


@dataclass(frozen=True)
class CaseOutcome:
    """What one case yields.

    Parameters
    ----------
    case : reporting Case
        For the report.
    verdicts : tuple of Verdict
        Its verdicts.
    too_few : tuple of str
        Lines on checks and runs with fewer executed comparisons than their minimum.
    """

    case: report.Case
    verdicts: tuple[Verdict, ...]
    too_few: tuple[str, ...]


def execute_group(
    group: Group,
    campaign: str,
    directory: str | None,
    options: str,
    artefacts: Path | None = None,
    finished: Collection[str] = (),
) -> Iterator[CaseOutcome]:
    """Run the cases of a group, one after the other.

    Parameters
    ----------
    group : Group
        Cases on the same data and kernel.
    campaign : str
        Name or path of the campaign, for replay commands.
    directory : str or None
        Folder of the data sets.
    options : str
        Further options of replay commands.
    artefacts : Path or None
        Where an artefact of every FAIL and INCONCLUSIVE is collected; None for nowhere.
    finished : collection of str
        Ids of cases that are left out, as they are finished; what the others share is as if they were not.

    Yields
    ------
    CaseOutcome
    """
    data = load(group.data, directory=directory)
    solvers = group.specs[0].family.solvers()
    declarations = {name: solver.declaration for name, solver in solvers.items()}
    oracle: Oracle | None = None
    for spec in group.specs:
        case = make_case(spec, data, declarations, campaign, options)
        if oracle is None:
            oracle = Oracle(case.problem, tuple(dict.fromkeys(item.parameter for item in group.specs)))
            shared = SharedReferences(case.problem, oracle, whole=memory_of(spec, case).whole)
        if spec.id in finished:
            continue
        yield _execute_case(spec, case, solvers, shared.reference(case.problem), oracle, artefacts)


def _execute_case(
    spec: CaseSpec,
    case: Case,
    solvers: dict[str, Solver],
    reference: Reference,
    oracle: Oracle,
    artefacts: Path | None,
) -> CaseOutcome:
    family = spec.family
    checks = checks_of(family.checks)
    made = make_runs(case, checks, solvers, reference, family.tolerance)
    verdicts: list[Verdict] = []
    for check in checks:
        found = check.judge(case, made.trajectories, oracle)
        verdicts += keep_artefacts(check, case, made.trajectories, found, artefacts)
    verdicts += left_out(case, family.checks, family.minimum_windows)
    status, reason = roll_up(verdicts)
    if status is Status.VACUOUS:
        reason += f"; the largest off-diagonal kernel entry is {reference.largest_off_diagonal:.3g}"
    lines = [report.Line("target", family.tolerance)]
    if made.attainable:
        lines.append(report.Line("attainable gap of float64", made.attainable))
    outcome = report.Case(
        id=case.id,
        problem=case.problem.label,
        dataset=spec.data,
        kernel=kernels.describe(spec.kernel),
        loss=losses.describe(case.problem.loss),
        task=spec.task,
        samples=case.problem.samples,
        features=case.problem.features,
        block=spec.block,
        status=status,
        s=case.s_values,
        reason=reason,
        parameters={"lambda" if spec.task == "krr" else "C": spec.parameter},
        facts=_facts(case, reference, memory_of(spec, case)),
        runs=tuple(made.runs),
        series=(*made.series, *drift_series(case, made.trajectories, oracle, family.drift // spec.block)),
        lines=tuple(lines),
    )
    short = too_few(case, family.checks, verdicts, made.trajectories, family.minimum_windows)
    return CaseOutcome(outcome, tuple(verdicts), short)


def _facts(case: Case, reference: Reference, memory: Memory) -> dict[str, object]:
    declared = case.declaration
    not_replayed = [s for s in case.s_values if not window_replay.replayable(case, s)]
    return {
        "largest off-diagonal kernel entry": reference.largest_off_diagonal,
        **reference.facts,
        "memory": memory.words,
        "solver": f"{declared.name}, {declared.precision}, update {declared.update}",
        "solver options": dict(declared.options),
        "exchange": declared.exchange or "not declared",
        "ranks": int(str(declared.options.get("ranks", 1))),
        "index stream": f"{case.stream.kind}, PCG64 seed {case.stream.seed}",
        "s not replayed (window above the replay limit)": not_replayed or "none",
    }
