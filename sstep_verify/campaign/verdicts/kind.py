"""Campaigns that run solvers on problems and judge every run: the tables ``[[family]]``.

Families are read, fitted to a program, compared with what can be run, then run and summed up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, replace
from typing import Any, cast

from sstep_verify.adapters.program import ProgramFile, ProgramSolver, digests, read_program, set_up
from sstep_verify.adapters.python import digest_of_code
from sstep_verify.campaign import shipped
from sstep_verify.campaign.artefact.runs import bytes_of, exposing_nothing, refuse_too_large
from sstep_verify.campaign.cases import Range, limits, load_data, most_ranks, read_table, refuse_beyond
from sstep_verify.campaign.headline import FINAL_ONLY, by_final_vectors
from sstep_verify.campaign.model import Assembled, Definition, Finished, Kind, Plan, Prepared, State, Unit
from sstep_verify.campaign.summary import multiples_only, steps_decided, summarise
from sstep_verify.campaign.verdicts.case import expected_cost, make_case, memory_of, require_cache
from sstep_verify.campaign.verdicts.execute import REMARKS, CaseOutcome, execute_group
from sstep_verify.campaign.verdicts.family import Family, FamilyTable, expand
from sstep_verify.campaign.verdicts.measured import beside_classical
from sstep_verify.campaign.verdicts.runs import announce_starts, minimum_table, requests_of, starts_of
from sstep_verify.checks.shared.case import Case as CheckedCase
from sstep_verify.errors import InputError
from sstep_verify.files.records import table_from
from sstep_verify.oracle.choice import ORACLES
from sstep_verify.power import power_statement
from sstep_verify.problems.data.datasets import DataSet, told_of
from sstep_verify.problems.data.embedded import REGRESSION, SHAPES, Size, is_edges, size_in
from sstep_verify.problems.transforms import require_usable
from sstep_verify.protocol import is_external, is_program
from sstep_verify.report.case import Case
from sstep_verify.report.expected import Expected
from sstep_verify.report.results import MULTIPLES, TOO_FEW
from sstep_verify.report.words import lacking, lacking_together
from sstep_verify.verdict import UNSETTLED, Verdict

JUDGES = {
    "contract": "zero printed ranks",
    "step-replay": "zero ranks",
    "window-replay": "zero ranks shown",
    "trajectory": "zero printed ranks",
    "sstep-equals-classical": "zero printed",
    "box": "zero ranks",
    "determinism": "zero printed ranks",
    "optimum": "zero",
    "residual-gap": "shown",
    "rank-coherence": "zero printed ranks",
    "message-count": "zero printed ranks",
}
"""What checks can judge that others cannot: runs from zero alone, of a program that takes no a0, or no
index stream either, or makes no runs of any length; printed, rounded results; what communication on more
than the fewest ranks may spoil. Those of shown need to see the weights that a program carries.
"""

MEASURED = (
    "data", "task", "kernel", "parameter", "block", "s", "iterations", "windows", "start", "stream", "seed",
    "storage", "checks",
)  # fmt: skip
"""What problems, runs and checks of a family the measured power is said of."""


def judged(what: str) -> set[str]:
    """Checks by what they can judge, or need."""
    return {check for check, words in JUDGES.items() if what in words.split()}


def fitted(family: Family, described: ProgramFile) -> Family:
    """The family with what a program draws and counts itself, and those of its checks that can judge it.

    InputError if the program has no way to know its problems.
    """
    described.require_problem()
    wanted = set(family.checks)
    counts = described.conventions.counts
    if described.from_zero or counts != "iterations":  # Others make runs that go on, or of any length.
        wanted &= judged("zero")
        family = replace(family, start=0, from_zero=True)
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


def edges(family: Family) -> bool:
    """Whether its data are made for what they hold, and so may be no others."""
    return all(map(is_edges, family.data))


def made_for(family: Family, described: ProgramFile) -> Family:
    """The family with what a program has fixed; with no task or kernel where it is for none of these.

    One that carries weights has the linear kernel alone; windows are no longer than a fixed run.
    """
    fixed, names = described.fixed, described.names("kernel")
    allowed = set(described.names("task")) & set(described.conventions.tasks)
    tasks = tuple(task for task in family.task if task in allowed)
    kernels = [
        described.kernel(one)
        for one in family.kernel
        if one.name in names and (one.linear or not described.carries)
    ]
    penalty = {described.penalty(task) or family.parameter for task in tasks}
    block = int(fixed.get("b", 0))
    data = family.data
    if {"m", "n"} & set(fixed):
        data = tuple(_of_size(name, fixed, "krr" in family.task) for name in data)
    iterations = int(fixed.get("H", family.iterations))
    whole = block or max(family.block)
    too_many = any((size := size_in(name)) and whole > size.samples for name in data)
    if (block > 1 and "krr" not in tasks) or (edges(family) and data != family.data) or too_many:
        tasks = ()
    return replace(
        family,
        task=tasks,
        kernel=tuple(dict.fromkeys(kernels)),
        data=data,
        parameter=penalty.pop() if penalty else family.parameter,
        block=(block,) if block and "krr" in tasks else family.block,
        iterations=iterations,
        s=tuple(s for s in family.s if s <= iterations),
    )


def _of_size(name: str, fixed: Mapping[str, Any], regression: bool) -> str:
    """The name of a set with the samples (m) and features (n) that a program has fixed.

    It is like the set of this name where that is generated to a size, and like small elsewhere.
    """
    small = SHAPES["small"]
    size = size_in(name) or Size("sized", small.samples, small.features, REGRESSION * regression)
    samples, features = fixed.get("m", size.samples), fixed.get("n", size.features)
    return size._replace(samples=int(samples), features=int(features)).name


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
        "ranks": most_ranks(),
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


class Verdicts(Kind):
    """A unit are the cases of a family on the same data and kernel; an outcome is that of one case."""

    outcome = CaseOutcome
    read = staticmethod(read_family)

    def units(self, definition: Definition, only: str = "") -> list[Unit]:
        """The cases, those on the same data and kernel together."""
        return expand(definition, only)

    def prepare(self, plan: Plan, units: list[Unit]) -> Prepared:
        """Load every data set and build every case once, so that bad input ends the run at once."""
        loaded: dict[tuple[str, str | None], DataSet] = {}
        takes, prepared = [], []
        kept: list[int] = []
        code = _code(units)
        starts: dict[str, tuple[str, int]] = {}
        first: dict[str, tuple[Family, CheckedCase]] = {}
        for unit in units:
            name, family = unit.data[0], unit.work[0].family
            if (name, family.targets) not in loaded:
                loaded[name, family.targets] = found = load_data(name, plan.directory, family.targets)
                for line in told_of(name, found):
                    plan.say(line)
            data = loaded[name, family.targets]
            declaration = family.solvers()[""].declaration
            if plan.keep or plan.again:
                declaration = exposing_nothing(declaration)
            for spec in (spec for spec in unit.work if spec.id in unit.keys):
                case = make_case(spec, data, {"": declaration}, plan.definition.again, "")
                require_cache(spec, case)
                if spec.family.is_program and spec.family.recorded is None:
                    first.setdefault(declaration.name, (spec.family, case))
                    starts[spec.id] = declaration.name, starts_of(spec.family, case)
                takes.append((memory_of(spec, case), spec.id))
                if plan.keep:
                    kept.append(bytes_of(case, requests_of(spec.family, case).values()))
            cost = expected_cost(unit.work, data.data.shape[0])
            compiles = "krr" if unit.work[0].task == "krr" else "svm"
            prepared.append(replace(unit, cost=cost, compiles=compiles))
        refuse_too_large(kept)
        largest, name = max(takes, key=lambda item: item[0].total)
        if largest.notable:
            at_once = f"{plan.jobs} process{'es' * (plan.jobs > 1)} at a time"
            plan.say(f"memory: {name} {largest.words}; {at_once}")

        def announce(wanted: Set[str]) -> None:
            counted = [starts[key] for key in starts if key in wanted]
            if counted:
                programs = [first[name] for name in dict.fromkeys(name for name, _ in counted)]
                announce_starts(plan, sum(count for _, count in counted), programs)

        digests_of_data = {name: data.sha256 for (name, _), data in loaded.items()}
        return Prepared(prepared, digests_of_data, code, announce)

    def run(self, unit: Unit, plan: Plan) -> Iterator[Finished]:
        """Run the cases, one after the other."""
        return execute_group(unit, plan)

    def told(self, outcome: CaseOutcome, plan: Plan) -> tuple[str, bool]:
        """Status, problem and the first line of the reason; whether it failed or stayed open."""
        case = outcome.case
        if case.status not in UNSETTLED:
            return f"{case.status} {case.id}", False
        listed = {(one.id, one.kind): one.reason for one in plan.definition.expected}
        status = Expected(listed).status_of_case(case, [one.as_dict() for one in outcome.verdicts])
        return f"{status} {case.id}: {case.reason.splitlines()[0]}", True

    def assemble(self, plan: Plan, units: Sequence[Unit], state: State) -> Assembled:
        """Cases, verdicts, and what they show."""
        definition = plan.definition
        cases = [outcome.case for outcome in state.outcomes]
        verdicts = [verdict for outcome in state.outcomes for verdict in outcome.verdicts]
        short = [one for outcome in state.outcomes for one in outcome.too_few]
        families: tuple[Family, ...] = definition.families
        under_test = [unit.work[0].family for unit in units]
        limited = definition.tolerated_vacuous_per_check
        compared = {
            key: family.solvers()[""].declaration.precision
            for unit, family in zip(units, under_test, strict=True)
            if family.stability
            for key in unit.keys
        }
        specs = [spec for unit in units for spec in unit.work if spec.id in unit.keys]
        problems = {(one.data, one.kernel, one.task, one.parameter) for one in specs}
        summary = summarise(
            definition,
            cases,
            verdicts,
            planned_cases=sum(len(unit.keys) for unit in units),
            planned_problems=len(problems),
            steps=sum(run.iterations or 0 for case in cases for run in case.runs),
            too_few={one.case.id: lacking_together(one.too_few) for one in state.outcomes},
            state=state,
        )
        power = "" if state.interrupted else power_of(definition, plan.only, verdicts)
        summary = replace(summary, power=power)
        if not ORACLES[families[0].oracle].encloses:
            told = f"exact values evaluated by {families[0].oracle}, not enclosed"
            summary = replace(summary, sentence=f"{told}: {summary.sentence}")
        ends = len(by_final_vectors(cases, verdicts)) == len(cases) > 0
        return Assembled(
            summary=summary,
            title=f"{definition.title}, {FINAL_ONLY}" if ends else "",
            cases=cases,
            verdicts=verdicts,
            notes=[
                *_remarked(cases),
                *(f"too few comparisons: {line}" for line in lacking_together(short)),
            ],
            parameters={
                MULTIPLES: multiples_only(cases, verdicts),
                TOO_FEW: [asdict(one) | {"words": lacking(one)} for one in short],
                "tolerated_vacuous": definition.tolerated_vacuous,
                "tolerated_vacuous_per_check": limited or "not limited by check",
                "expected_failures": [asdict(one) for one in definition.expected],
                "oracle": families[0].oracle,
                "planned": [key for unit in units for key in unit.keys],
                "minimum_executed": minimum_table(min(family.minimum_windows for family in families)),
            },
            documents={"against_classical": beside_classical(cases, compared)},
            seeds=({} if definition.seed is None else {"values and further s": definition.seed})
            | {f"streams, seed {seed}": seed for seed in sorted({one.seed for one in under_test})},
        )


def _code(units: list[Unit]) -> dict[str, str]:
    """Digests of what is under test and not ours; programs are set up first."""
    found: dict[str, str] = {}
    families = (unit.work[0].family for unit in units)
    for family in (one for one in families if one.recorded is None):
        solver = family.solvers()[""]
        if isinstance(solver, ProgramSolver) and f"program file {family.solver}" not in found:
            program = solver.described.program
            set_up(program)
            found[f"program file {family.solver}"] = hashlib.sha256(
                repr(solver.described).encode()
            ).hexdigest()
            found |= {f"program {name}": sha for name, sha in digests(program).items()}
        elif is_external(family.solver) and family.given is None:
            found[f"code of {family.solver}"] = digest_of_code(family.solver)
    return found


def power_of(definition: Definition, only: str, verdicts: Sequence[Verdict]) -> str:
    """What was measured of a campaign, if all its problems were judged, as measured, and a step decided."""
    families: tuple[Family, ...] = definition.families
    if only or families[0].oracle != Family.oracle or not steps_decided(verdicts):
        return ""
    said = power_statement(definition.source)
    return said if said and _has_all_shipped(definition) else ""


def _has_all_shipped(definition: Definition) -> bool:
    """Whether all problems and runs of a shipped campaign are there, with the checks that judge them."""
    made = [_measured_of(family) for family in definition.families]
    where = f"{definition.source}: family"
    shipped_table = table_from(shipped()[definition.source].read_bytes(), where, "a campaign file")
    return all(_measured_of(read_family(table, where)) in made for table in shipped_table["family"])


def _measured_of(family: Family) -> list[object]:
    return [getattr(family, name) for name in MEASURED]


def _remarked(cases: Sequence[Case]) -> list[str]:
    """What was seen of runs that no check judges, each once, with the first case that it was seen in."""
    told: dict[str, list[str]] = {}
    for case in cases:
        for line in cast(list[str], case.facts.get(REMARKS, [])):
            told.setdefault(line, []).append(case.id)
    return [f"{ids[0]}{f' and {len(ids) - 1} more' * bool(ids[1:])}: {line}" for line, ids in told.items()]


KIND = Verdicts()
