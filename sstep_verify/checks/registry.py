"""The checks by id, in the order in which they judge, and how each is asked.

A new one adds its module here; docs/architecture.md says what else names it.

A run is judged against the problem as the declared precision holds it (rounding/arithmetic.py). The index
stream of a program that logs what it drew is known only after its runs.

Of a run that was made in another arithmetic than IEEE's, a PASS stands: what the run left is within the
bound. A FAIL stands where the run's arithmetic is not its cause. Numbers that are taken as 0 because they
lie below the smallest normal one are off by less than it; so the run is judged again by bounds in which any
number may be lost that is below it times 2^200 (2^24 in float32), which leaves room for what later
operations make of it. What exceeds those bounds too comes from something else. Another direction of
rounding may be the cause of any FAIL but that of a count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sstep_verify.checks import (
    box,
    contract,
    determinism,
    metamorphic_exact,
    optimum,
    sstep_equals_classical,
    step_replay,
    trajectory,
    window_replay,
)
from sstep_verify.checks.contract import FINITE
from sstep_verify.checks.optimum import ID as ANSWER
from sstep_verify.checks.recorded import (
    claim_honesty,
    kernel_entries,
    message_count,
    rank_coherence,
    residual_gap,
)
from sstep_verify.checks.shared.case import Case, Check, loggable
from sstep_verify.checks.shared.final_vector import ALONE
from sstep_verify.checks.shared.outcome import nothing_compared
from sstep_verify.checks.step_replay import ID as STEPS
from sstep_verify.checks.trajectory import ENDS_ALONE, ROUNDED
from sstep_verify.checks.trajectory import ID as ENDS
from sstep_verify.checks.window_replay import ID as WINDOWS
from sstep_verify.errors import InputError, closest
from sstep_verify.floating_point import SHORTENED, SUBNORMAL, restore, restore_with_warning
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems.streams import logged_stream
from sstep_verify.rounding.arithmetic import flushed_to_zero, rounded_problem
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Note, NoteKind, Status, Verdict, Why

APART = (
    "Left out: its runs drew other coordinates than one another, so that they cannot be compared, nor can "
    "they with one exact run; let the program draw from a fixed seed."
)
"""Why a check that needs several runs of a program says nothing of it."""


def with_draws(case: Case, runs: Iterable[Trajectory]) -> Case | None:
    """The case with the stream that some runs logged; itself if its stream is known or no run logged any.

    None if the runs drew different ones.
    """
    logged = [run.drawn for run in runs if run.drawn is not None]
    if case.stream.known or not logged:
        return case
    longest = max(logged, key=len)
    if not all(np.array_equal(drawn, longest[: len(drawn)]) for drawn in logged):
        return None
    return replace(case, stream=logged_stream(case.stream, longest))


def cases_to_judge(
    check: Check, case: Case, trajectories: Mapping[str, Trajectory]
) -> Iterator[tuple[Case, bool]]:
    """The case, or one for each s, with the stream that the runs of a check, of all by key, logged.

    Each comes with whether it can be judged: not where the runs drew different streams.
    """
    whole = with_draws(case, trajectories.values())
    if whole is not None or check.all_runs:  # The contract looks at each run by itself, at no draws.
        yield whole or case, True
        return
    for s in case.s_values:
        alone = replace(case, s_values=(s,))
        drawn = with_draws(alone, check.wanted(alone, trajectories).values())
        yield drawn or alone, drawn is not None


def verdicts_of(
    check: Check, case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle
) -> list[Verdict]:
    """Judge runs by a check: in IEEE arithmetic, on the problem as the declared precision holds it.

    The verdicts note runs, or a judgement, that were made in another arithmetic.
    """
    restore_with_warning(f"before a judgement by {check.id}")
    found = _judge_rounded_problem(check, case, trajectories, oracle)
    verdicts = [_noted_if_evaluated(check, oracle, verdict) for verdict in found]
    if left := restore():
        oracle.forget()
        return [_inconclusive(_noted(verdict, left)) for verdict in verdicts]
    return [_allowing_for_arithmetic(check, case, trajectories, oracle, verdict) for verdict in verdicts]


def _judge_rounded_problem(
    check: Check, case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle
) -> list[Verdict]:
    """Judge runs on the problem that their solver held; as it was given where a check says so."""
    rounded = case.problem if check.given else rounded_problem(case.problem, case.formulas)
    if rounded is None:
        judged = [s for s in case.s_values if check.applies(case, s)]
        return [nothing_compared(check.id, case, s, 0, Why.OUT_OF_RANGE) for s in judged]
    if rounded is case.problem:
        return check.judge(case, trajectories, oracle)
    truth = oracle.kept(f"rounded {rounded.digest}", lambda: oracle.of(rounded))
    verdicts = check.judge(replace(case, problem=rounded), trajectories, truth)
    return [replace(verdict, problem=case.problem.label) for verdict in verdicts]


def _noted_if_evaluated(check: Check, oracle: Oracle, verdict: Verdict) -> Verdict:
    """A verdict, which says so where what it calls exact is not enclosed."""
    if oracle.encloses or not (check.exact and verdict.executed):
        return verdict
    notes = (*verdict.notes, Note(NoteKind.EVALUATED))
    return replace(verdict, notes=notes)


def _allowing_for_arithmetic(
    check: Check, case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle, verdict: Verdict
) -> Verdict:
    """A verdict on runs that may have been made in another arithmetic."""
    alone = replace(case, s_values=(verdict.s,), diagnose=False)
    if not any(run.altered for run in trajectories.values()):
        return verdict
    runs = check.wanted(alone, trajectories)
    altered = sorted({word for run in runs.values() for word in run.altered})
    if not altered:
        return verdict
    noted = _noted(verdict, altered)
    if verdict.status is not Status.FAIL or not _may_explain(check, alone, runs, oracle, verdict, altered):
        return noted
    return _inconclusive(noted)


def _noted(verdict: Verdict, left: Sequence[str]) -> Verdict:
    """The verdict with a note of what altered arithmetic was left."""
    note = Note(NoteKind.ALTERED, tuple(left))
    return replace(verdict, notes=(*verdict.notes, note))


def _inconclusive(verdict: Verdict) -> Verdict:
    return replace(verdict, status=Status.INCONCLUSIVE, why=Why.ALTERED, requirement="")


def _may_explain(
    check: Check,
    case: Case,
    runs: Mapping[str, Trajectory],
    oracle: Oracle,
    verdict: Verdict,
    altered: list[str],
) -> bool:
    """Whether a FAIL may come from the arithmetic in which the run was made."""
    if check.all_runs:
        return bool(verdict.violations) and all(one.item == FINITE for one in verdict.violations)
    if check.level == 3 or altered == [SHORTENED]:
        return False  # counts of messages; an arithmetic that the run does not use
    if not check.bounds or not set(altered) <= {*SUBNORMAL, SHORTENED}:
        return True
    with flushed_to_zero():
        return all(
            one.status is not Status.FAIL for one in _judge_rounded_problem(check, case, runs, oracle)
        )


IN_ORDER: tuple[Check, ...] = (
    contract.CHECK,
    step_replay.CHECK,
    window_replay.CHECK,
    trajectory.CHECK,
    sstep_equals_classical.CHECK,
    metamorphic_exact.CHECK,
    kernel_entries.CHECK,
    box.CHECK,
    determinism.CHECK,
    optimum.CHECK,
    claim_honesty.CHECK,
    residual_gap.CHECK,
    rank_coherence.CHECK,
    message_count.CHECK,
)
"""The checks, in the order in which they judge."""

CHECKS: dict[str, Check] = {check.id: check for check in IN_ORDER}
"""All checks by id."""

PRIMARY: tuple[str, ...] = tuple(check.id for check in CHECKS.values() if check.primary)
"""Ids of the checks of which one must have passed a run, for its s to be right."""


def gates_of(verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """Ids of the checks of which one must have passed a run of a case, for its s to be right.

    The primary ones, which judge steps; of a program that writes down rounded results, which none of them
    can judge, and of a solver of level 0, the check of the run's ends; of a vector that was handed over,
    the check of the optimum.
    """
    known = list(verdicts)
    if any(one.check == ANSWER and one.evidence.get(ALONE) for one in known):
        return (ANSWER,)
    ends = [one for one in known if one.check == ENDS]
    stepless = not any(one.check in PRIMARY for one in known)
    alone = stepless and any(one.evidence.get(ENDS_ALONE) for one in ends)
    return (ENDS,) if alone or any(ROUNDED in one.evidence for one in ends) else PRIMARY


def deciders(case: Case) -> tuple[str, ...]:
    """Ids of the checks that decide whether an s of a case is right, the sharpest that its solver allows.

    With them go those that the sharpest rests on. That a program writes down rounded results, of which the
    ends are judged and no steps, is known after its runs.
    """
    if loggable(case):
        return (STEPS,)
    trusted = CHECKS[WINDOWS].rests_on
    return (WINDOWS, *trusted, ENDS) if case.formulas.level else (ENDS,)


def case_of(check: Check, case: Case) -> Case:
    """A case with those s that a check judges: all, or all but the further ones.

    Contract and `deciders` judge the further ones. On several ranks so do rank-coherence and message-count:
    `deciders` look at the alpha of one rank, and at no message.
    """
    judging = (*deciders(case), *((rank_coherence.ID, message_count.ID) if case.formulas.ranks > 1 else ()))
    if check.all_runs or not case.further or check.id in judging:
        return case
    return replace(case, s_values=tuple(s for s in case.s_values if s not in case.further))


def checks_of(ids: Sequence[str]) -> list[Check]:
    """The checks of some ids, in that order.

    Raises
    ------
    InputError
        If an id is unknown.
    """
    unknown = [name for name in ids if name not in CHECKS]
    if unknown:
        known = ", ".join(sorted(CHECKS))
        raise InputError(f"check {unknown[0]!r} is unknown{closest(unknown[0], CHECKS)}; known: {known}")
    return [CHECKS[name] for name in ids]


def judges_a_vector(verdicts: Iterable[Verdict]) -> bool:
    """Whether the verdicts on a case are on a vector that was handed over, not on runs."""
    return gates_of(verdicts) == (ANSWER,)
