"""How many comparisons every check must have executed, by the level of the solver under test.

A check that silently compared nothing would leave a green report. So every planned run of a check that the
solver's level allows must have led to at least one executed comparison, and to the family's minimum of
replayed windows for the primary gate; anything less makes the campaign incomplete.

Not in the table: optimum and claim-honesty, whose verdicts depend on how a run ended and on what it
reports, and rank-coherence, which needs several ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sstep_verify.checks import window_replay
from sstep_verify.checks.case import Case, run_key
from sstep_verify.checks.metamorphic.shared import comparable
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status, Verdict

LOWEST_LEVEL = {
    "trajectory": 0,
    "sstep-equals-classical": 0,
    "box": 0,
    "determinism": 0,
    "window-replay": 1,
    "metamorphic-exact": 1,
    "metamorphic-bounded": 1,
    "kernel-entries": 2,
    "residual-gap": 2,
    "message-count": 3,
}
"""Level of a solver (`Declaration.level`) from which on a check must have compared something.

0, only a final a: runs from zero are judged by their ends. 1, index stream and a0 are taken: windows and
transformed problems can be run. 2, a per-window trace: panels and carried state, where declared, are
recorded. 3: counts, where an exchange is declared.
"""

PLANNED: dict[str, Callable[[Case, int], bool]] = {
    "box": lambda case, s: case.problem.is_svm,
    "sstep-equals-classical": lambda case, s: s > 1,
    "window-replay": window_replay.replayable,
    "metamorphic-bounded": comparable,
    "kernel-entries": lambda case, s: case.declaration.exposes and window_replay.replayable(case, s),
    "residual-gap": lambda case, s: bool(case.declaration.state),
    "message-count": lambda case, s: bool(case.declaration.exchange),
}
"""Which runs a check judges, where these are not all of a case: by task, declaration, or replay limit."""


def minimum_table(minimum_windows: int) -> dict[str, int]:
    """Comparisons that every planned run needs, by check, for the report.

    Parameters
    ----------
    minimum_windows : int
        Fewest windows replayed per run, as the campaign file says.
    """
    return {check: minimum_windows if check == window_replay.CHECK else 1 for check in LOWEST_LEVEL}


def too_few(
    case: Case,
    checks: Sequence[str],
    verdicts: Sequence[Verdict],
    trajectories: Mapping[str, Trajectory],
    minimum_windows: int,
) -> tuple[str, ...]:
    """One line per check and run with fewer executed comparisons than its minimum.

    Parameters
    ----------
    case : Case
        The case.
    checks : sequence of str
        Ids of the checks that judged it.
    verdicts : sequence of Verdict
        Their verdicts.
    trajectories : mapping of str to Trajectory
        Runs by key; a plain run that ended early has fewer windows to replay.
    minimum_windows : int
        Fewest windows replayed per run that has as many.

    Returns
    -------
    tuple of str
        Each with check, case, s, executed, planned and needed comparisons.
    """
    short = []
    for check in checks:
        if LOWEST_LEVEL.get(check, case.declaration.level + 1) > case.declaration.level:
            continue
        planned_runs = PLANNED.get(check, lambda case, s: True)
        for s in (s for s in case.s_values if planned_runs(case, s)):
            needed = 1
            if check == window_replay.CHECK:
                needed = min(minimum_windows, -(-trajectories[run_key(s)].length // s))
            found = [verdict for verdict in verdicts if verdict.check == check and verdict.s == s]
            # Several verdicts on one run judge different things (residual-gap: every state).
            executed = min((verdict.executed for verdict in found), default=0)
            planned = max((verdict.planned for verdict in found), default=needed)
            if executed < needed:
                short.append(
                    f"{check}, {case.id}, s = {s}: {executed} of {planned} planned comparisons executed, "
                    f"{needed} needed"
                )
    return tuple(short)


def left_out(case: Case, checks: Sequence[str], minimum_windows: int) -> list[Verdict]:
    """A VACUOUS verdict, nothing executed, on every run that a check leaves out for its cost.

    The replay limit of the campaign file is the only such reason: a window of more kernel entries is
    neither replayed nor compared entry by entry.

    Parameters
    ----------
    case : Case
        The case.
    checks : sequence of str
        Ids of the checks that judge it.
    minimum_windows : int
        Comparisons planned per run.
    """
    samples, limit = case.problem.samples, case.replay_limit
    by_cost = {"window-replay", "metamorphic-bounded"} | (
        {"kernel-entries"} if case.declaration.exposes else set()
    )
    return [
        Verdict(
            check=check,
            case=case.id,
            problem=case.problem.label,
            s=s,
            block=case.stream.block,
            status=Status.VACUOUS,
            ratio=0.0,
            measured=0.0,
            bound=0.0,
            units="nothing compared",
            planned=minimum_windows,
            executed=0,
            reason=(
                f"Left out for its cost: a window of s = {s} holds up to "
                f"{min(s * case.stream.block, samples) * samples} kernel entries, above the replay limit "
                f"of {limit}."
            ),
            replay=case.replay_command,
        )
        for check in checks
        if check in by_cost
        for s in case.s_values
        if not PLANNED[check](case, s)
    ]
