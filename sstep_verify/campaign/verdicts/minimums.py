"""Least number of comparisons that every check must have executed, by the level of the solver under test.

A check that silently compared nothing would leave a green report. So every run that a check applies to,
at the solver's level and within the replay limit, must have led to at least one executed comparison, and
to the family's minimum of windows where comparisons are windows; anything less makes the campaign
incomplete. Level, application and cost are what each check declares (`sstep_verify.checks.shared.check`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sstep_verify.checks.registry import CHECKS, case_of, checks_of
from sstep_verify.checks.shared.case import Case, run_key
from sstep_verify.checks.shared.outcome import left_out_for_cost, nothing_compared
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Verdict


def minimum_table(minimum_windows: int) -> dict[str, int]:
    """Comparisons that every planned run needs, by check, for the report.

    `minimum_windows` are the fewest windows replayed per run, as the campaign file says.
    """
    return {
        check.id: minimum_windows if check.by_windows else 1
        for check in CHECKS.values()
        if check.level is not None
    }


def too_few(
    case: Case,
    checks: Sequence[str],
    verdicts: Sequence[Verdict],
    trajectories: Mapping[str, Trajectory],
    minimum_windows: int,
) -> tuple[str, ...]:
    """One line per check and run with fewer executed comparisons than its minimum.

    `checks` are the ids of those that judged the case, and gave the `verdicts`; a plain run that ended
    early has fewer windows to replay than the minimum. A line has check, case, s, executed, planned and
    needed comparisons.
    """
    short = []
    for check in checks_of(checks):
        if check.level is None or check.level > case.declaration.level:
            continue
        for s in case_of(check, case).s_values:
            if not (check.applies(case, s) and check.affordable(case, s)):
                continue
            needed = 1
            if check.by_windows:
                needed = min(minimum_windows, -(-trajectories[run_key(s)].length // s))
            found = [verdict for verdict in verdicts if verdict.check == check.id and verdict.s == s]
            # Several verdicts on one run judge different things (residual-gap: every state).
            executed = min((verdict.executed for verdict in found), default=0)
            planned = max((verdict.planned for verdict in found), default=needed)
            if executed < needed:
                short.append(
                    f"{check.id}, {case.id}, s = {s}: {executed} of {planned} planned comparisons "
                    f"executed, {needed} needed"
                )
    return tuple(short)


def left_out(case: Case, checks: Sequence[str], minimum_windows: int) -> list[Verdict]:
    """A VACUOUS verdict, nothing executed, on every run that a check leaves out for its cost.

    The replay limit of the campaign file is the only such reason: a window of more kernel entries is
    neither replayed nor compared entry by entry.

    `minimum_windows` comparisons are planned per run.
    """
    return [
        nothing_compared(
            check.id,
            case,
            s,
            minimum_windows,
            left_out_for_cost(case, s),
        )
        for check in checks_of(checks)
        for s in case_of(check, case).s_values
        if check.applies(case, s) and not check.affordable(case, s)
    ]
