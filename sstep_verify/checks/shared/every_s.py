"""Parts shared by checks that judge every s by itself: the plain run of each s, and one verdict an s."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sstep_verify.checks.shared.case import Case, plain_request, run_key
from sstep_verify.solver import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Verdict


def plain_runs(case: Case) -> dict[str, RunRequest]:
    """The plain run of every s, by key."""
    return {run_key(s): plain_request(case, s) for s in case.s_values}


def judge_every_s(
    case: Case,
    trajectories: Mapping[str, Trajectory],
    judge_runs: Callable[..., Verdict | None],
    keys: Callable[[int], tuple[str, ...]] = lambda s: (run_key(s),),
) -> list[Verdict]:
    """Judge the runs of every s by themselves.

    Parameters
    ----------
    case : Case
        The case.
    trajectories : mapping of str to Trajectory
        The runs that the check asked for, by key.
    judge_runs : callable
        ``judge_runs(case, s, *runs)`` returns the verdict on the runs of one s; None if there is none.
    keys : callable, optional
        ``keys(s)`` returns the keys of these runs; the key of the plain run if absent.

    Returns
    -------
    list of Verdict
        One per s that has a verdict.
    """
    judged = [judge_runs(case, s, *(trajectories[key] for key in keys(s))) for s in case.s_values]
    return [verdict for verdict in judged if verdict is not None]
