"""Runs of every s, each s judged by itself: the two loops of a check that compares no s with another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sstep_verify.checks.shared.case import Case
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Verdict

Requests = Callable[[Case, int], dict[str, RunRequest]]
"""The runs, by key, that the verdict on an s rests on; none where the check does not judge it."""


def runs_of_every_s(case: Case, requests: Requests) -> dict[str, RunRequest]:
    """The runs of every s that is judged, by key; see `Check.runs`."""
    return {key: request for s in case.s_values for key, request in requests(case, s).items()}


def judge_every_s(
    case: Case,
    trajectories: Mapping[str, Trajectory],
    oracle: Oracle,
    requests: Requests,
    judge_s: Callable[..., Iterable[Verdict]],
) -> list[Verdict]:
    """Judge the runs of every s by themselves: ``judge_s(case, s, oracle, *runs)``; see `Check.judge`."""
    verdicts: list[Verdict] = []
    for s in case.s_values:
        runs = [trajectories[key] for key in requests(case, s)]
        if runs:
            verdicts += judge_s(case, s, oracle, *runs)
    return verdicts
