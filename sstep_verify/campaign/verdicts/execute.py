"""Runs the cases of one group: optimum, runs for every s, verdicts, curves. Works inside one process."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from sstep_verify.campaign.artefact.runs import (
    Again,
    Made,
    exposing_nothing,
    hold_draws,
    name_of,
    read_case,
    write_case,
)
from sstep_verify.campaign.artefact.verdicts import keep_artefacts, keep_runs
from sstep_verify.campaign.cases import case_in_report, load_data, out_of_range
from sstep_verify.campaign.headline import FINAL_ONLY, FURTHER, LEVEL, judges_ends, roll_up
from sstep_verify.campaign.model import REFUSED, Finished, Plan, Unit, attempted, say, tell
from sstep_verify.campaign.verdicts.case import make_case, memory_of
from sstep_verify.campaign.verdicts.family import CaseSpec
from sstep_verify.campaign.verdicts.measured import Reference, SharedReferences, exact_iterations
from sstep_verify.campaign.verdicts.runs import (
    RunsMade,
    checks_of_family,
    drift_series,
    left_out,
    make_runs,
    not_kept,
    sound_case,
    too_few,
)
from sstep_verify.checks import window_replay
from sstep_verify.checks.metamorphic_exact import ID as SAME_BITS
from sstep_verify.checks.registry import case_of, cases_to_judge, judges_a_vector, verdicts_of, with_draws
from sstep_verify.checks.shared.case import Case, Check, told_by
from sstep_verify.checks.shared.outcome import nothing_compared
from sstep_verify.checks.together import observed, related, settled
from sstep_verify.compiled import compile_seconds
from sstep_verify.oracle.choice import oracle_named
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems.draws import GENERATORS
from sstep_verify.protocol import Solver, is_external
from sstep_verify.report import case as report
from sstep_verify.report.results import TooFew
from sstep_verify.report.telling import on_one_part
from sstep_verify.verdict import UNSETTLED, Status, Verdict, Why

REMARKS = "told of its runs"
"""Fact of a case: what is seen of its runs that no check judges."""


@dataclass(frozen=True)
class CaseOutcome:
    """What one case yields: for the report, its verdicts, and what checks compared too little of.

    `runs` says where all its runs are kept, as in the replay commands of verdicts, `kept` in which folder
    they are for a report that can be made again; empty if nowhere.
    """

    case: report.Case
    verdicts: tuple[Verdict, ...]
    too_few: tuple[TooFew, ...]
    runs: str = ""
    kept: str = ""


def execute_group(unit: Unit, plan: Plan) -> Iterator[Finished]:
    """Run the cases of a unit, one after the other; an error in one ends only that one.

    What is yielded has a `CaseOutcome`, or an error that names the case, and perhaps a check that gave no
    verdict. Of cases that are not wanted, because another unit has them or they are finished, there is
    none; what the others share is as if they were.
    """
    options = shlex.join(["--data", plan.directory]) if plan.directory else ""
    for spec, case, solvers, shared in made_cases(unit, plan, options):
        if spec.id not in unit.keys or spec.id in plan.finished:
            continue
        if isinstance(shared, str):
            yield Finished(error=f"{spec.id}: {shared}", kind=REFUSED)
            continue
        crashed = {run: told for key, run, told in unit.crashed if key == spec.id}
        judged = _Judged(spec, case, solvers, shared, plan, crashed)
        message = attempted(judged.outcome, spec.id)
        yield from judged.failures
        yield replace(message, keep=not judged.failures)


def made_cases(
    unit: Unit, plan: Plan, options: str
) -> Iterator[tuple[CaseSpec, Case, dict[str, Solver], SharedReferences | str]]:
    """The cases of a unit on their data, with their solvers and what they share.

    Instead, it says why float64 cannot hold the numbers of a case, where it cannot. The
    `options` are those of `make_case`.
    """
    family, shared = unit.work[0].family, None
    data, solvers = load_data(unit.data[0], plan.directory, family.targets), family.solvers()
    declarations = {name: solver.declaration for name, solver in solvers.items()}
    if plan.keep or plan.again:
        declarations = {name: exposing_nothing(one) for name, one in declarations.items()}
    for spec in unit.work:
        case = make_case(spec, data, declarations, plan.definition.again, options)
        said = told_by(solvers[""])
        case = replace(case, scaled=said["scaled"], as_given=said["as_given"])
        if told := out_of_range(case.problem):
            yield spec, case, solvers, told
            continue
        if shared is None:
            oracle = oracle_named(case.oracle, case.problem)
            shared = SharedReferences(case.problem, oracle, whole=memory_of(spec, case).whole)
        yield spec, case, solvers, shared


@dataclass
class _Judged:
    """A case that is run and judged; a check that raises is left out and added to the failures."""

    spec: CaseSpec
    case: Case
    solvers: dict[str, Solver]
    shared: SharedReferences
    plan: Plan
    crashed: dict[str, str]
    failures: list[Finished] = field(default_factory=list)

    def outcome(self) -> CaseOutcome:
        """Runs, verdicts, curves and facts."""
        spec, case, solver = self.spec, self.case, self.solvers[""]
        family, reference = spec.family, self.shared.reference(case.problem)
        checks = checks_of_family(family)
        ids = [check.id for check in checks]
        getattr(solver, "remarks", {}).clear()
        limit = family.time_limit if is_external(family.solver) else 0.0
        tape, told = self._tape()
        options = (family.tolerance, limit, self.crashed, tape)
        made = make_runs(case, checks, self.solvers, reference, *options)
        verdicts: list[Verdict] = []
        seconds: dict[str, float] = {}
        for place, check in enumerate(checks):
            tell(case.id, (1 + place / len(checks)) / 2, f"check {check.id}")
            # What an earlier check has named, or found nothing for, is not looked for again.
            asked = replace(case_of(check, case), diagnose=case.diagnose and not _told(verdicts))
            begin = time.perf_counter()
            found = self._checked(check, asked, made, verdicts)
            if compile_seconds():  # It may go on for long.
                _say_first(check, case, found)
            verdicts += found
            seconds[check.id] = round(time.perf_counter() - begin, 6)
        verdicts += left_out(case, ids, family.minimum_windows)
        verdicts += not_kept(case, ids, solver.declaration)
        verdicts = observed(case, settled(case, verdicts), made.trajectories)
        status, reason = roll_up(verdicts)
        if status is Status.PASS and judges_ends(verdicts, case.declaration.level):
            reason = f"{FINAL_ONLY}: {reason}"
        ran = not judges_a_vector(verdicts)
        if ran and status is Status.VACUOUS and case.problem.samples > 1:
            largest = reference.largest_off_diagonal
            # A fact after the reason, and no reason by itself: it may be far from 0.
            reason = f"{reason} The largest off-diagonal kernel entry is {largest:.3g} in float64."
        sound = {key: run for key, run in made.trajectories.items() if key not in made.broken}
        whole = with_draws(case, sound.values())
        length = exact_iterations(family, case)
        drifts = drift_series(whole, sound, self.shared.oracle, length) if whole else []
        lines = [report.Line("target", family.tolerance)]
        if made.attainable:
            lines.append(report.Line("attainable gap of float64", made.attainable))
        remarks = [*told, *getattr(solver, "remarks", ())]
        outcome = case_in_report(
            case.problem,
            id=case.id,
            block=spec.block,
            status=status,
            s=case.s_values,
            reason=reason,
            facts=_facts(spec, case, reference) | ({REMARKS: remarks} if remarks else {}),
            runs=tuple(made.runs),
            series=(*made.series, *drifts),
            lines=tuple(lines),
            check_seconds=seconds,
        )
        short = too_few(case, ids, verdicts, made.trajectories, family.minimum_windows)
        artefacts, keep = self.plan.artefacts if self.plan.runs else None, self.plan.keep
        runs = keep_runs(case, made.trajectories, artefacts) if artefacts else ""
        kept = write_case(case, tape.runs, remarks, keep) if keep and isinstance(tape, Made) else ""
        return CaseOutcome(outcome, tuple(verdicts), short, runs, kept)

    def _tape(self) -> tuple[Made | Again | None, tuple[str, ...]]:
        """What keeps the runs, or gives those that were kept, with the remarks on who made these."""
        if self.plan.again is None:
            return (Made() if self.plan.keep else None), ()
        kept = read_case(self.plan.again / name_of(self.case.id))
        hold_draws(kept, self.case)
        return Again(kept), kept.remarks

    def _checked(
        self, check: Check, case: Case, made: RunsMade, earlier: Sequence[Verdict]
    ) -> list[Verdict]:
        """The verdicts of a check, seen with those of the checks before, with artefacts and hints."""
        verdicts: list[Verdict] = []
        oracle, runs = self.shared.oracle, made.trajectories
        for drawn, same in cases_to_judge(check, case, runs):
            work = partial(_judged, check, drawn, made, oracle, same=same)
            message = attempted(work, f"{case.id}, check {check.id}")
            if message.outcome is None:
                self.failures.append(message)
                continue
            found = related(message.outcome, [*earlier, *message.outcome])
            if any(one.status in UNSETTLED for one in found):
                from sstep_verify.campaign.verdicts.other_conventions import name_conventions

                found = keep_artefacts(check, drawn, runs, found, self.plan.artefacts)
                # After that: what the solver's file might have said is no part of what is judged again.
                hint = partial(name_conventions, check, drawn, runs, self.solvers[""], found, oracle)
                message = attempted(hint, f"{case.id}, conventions that {check.id} may have failed for")
                if message.outcome is None:
                    self.failures.append(message)
                found = message.outcome or found
            verdicts += found
        return verdicts


def _say_first(check: Check, case: Case, found: list[Verdict]) -> None:
    """Say the verdict of a check on a case if it is PASS or FAIL, unless one of the campaign was said."""
    statuses = {one.status for one in found}
    if Status.FAIL in statuses or statuses == {Status.PASS}:
        status = Status.FAIL if Status.FAIL in statuses else Status.PASS
        say(f"{status}: check {check.id} of {case.id}", "the first verdict")


def _told(verdicts: list[Verdict]) -> bool:
    """Whether a FAIL says which part of a run is wrong, or is of the check that knows all mistakes."""
    failed = [one for one in verdicts if one.status is Status.FAIL and one.check != SAME_BITS]
    return any(one.check == window_replay.ID or on_one_part(one) for one in failed)


def _judged(check: Check, case: Case, made: RunsMade, oracle: Oracle, *, same: bool) -> list[Verdict]:
    """The verdicts of a check; VACUOUS ones on every s whose runs are not what was asked for.

    `same` says whether the runs that it compares took the same index stream.
    """
    if not same:
        return [nothing_compared(check.id, case, s, 0, Why.DRAWS_DIFFER) for s in _judgeable(check, case)]
    sound, runs = sound_case(check, case, made.trajectories, made.broken), made.trajectories
    if not check.all_runs:
        runs = {key: run for key, run in runs.items() if key not in made.broken}
    found = verdicts_of(check, sound, runs, oracle) if sound is not None else []
    kept = sound.s_values if sound is not None else ()
    return found + [
        nothing_compared(check.id, case, s, 0, Why.PREREQUISITE)
        for s in _judgeable(check, case)
        if s not in kept
    ]


def _judgeable(check: Check, case: Case) -> list[int]:
    return [s for s in case.s_values if check.applies(case, s) and check.affordable(case, s)]


def _stream_words(case: Case) -> str:
    stream = case.stream
    if stream.kind == "logged":
        return "what the program says it drew" + ", with replacement" * stream.replacement
    if stream.kind in GENERATORS:
        told = ", with replacement" * stream.replacement
        return f"{stream.kind}, seed {stream.seed}: {GENERATORS[stream.kind]}{told}"
    return f"{stream.kind}, PCG64 seed {stream.seed}"


def _facts(spec: CaseSpec, case: Case, reference: Reference) -> dict[str, object]:
    family, memory = spec.family, memory_of(spec, case)
    declared, exchange = case.declaration, case.declaration.exchange
    counts = {
        "gram_rows": exchange.rows if exchange else 0,
        "cache_words": exchange.words if exchange else 0,
        "weights": declared.weights,
    }
    tested = family.given is not None or is_external(family.solver)
    function = tested and not (family.is_program or family.is_vector)
    not_replayed = [s for s in case.s_values if not window_replay.replayable(case, s)]
    return {
        "largest_off_diagonal_kernel_entry": reference.largest_off_diagonal,
        **reference.facts,
        # What is far below the limit decides nothing.
        **({"memory": memory.words} if memory.notable else {}),
        "solver": f"{declared.name}, {declared.precision}, update {declared.update}",
        "solver_options": {**declared.options, **{name: count for name, count in counts.items() if count}},
        "exchange": exchange.kind if exchange else "not declared",
        "ranks": declared.ranks,
        LEVEL: declared.level,
        "index_stream": _stream_words(case),
        "s_not_replayed": not_replayed or "none",
        **({FURTHER: [*case.further]} if case.further else {}),
        **({report.HELD: report.CSR if case.problem.is_sparse else report.DENSE} if function else {}),
    }
