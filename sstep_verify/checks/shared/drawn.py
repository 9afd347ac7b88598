"""Cases of a program that logs what it drew: their index stream is known only after the runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.check import Check
from sstep_verify.problems.streams import logged_stream
from sstep_verify.trajectory import Trajectory

APART = (
    "Left out: its runs drew other coordinates than one another, so that they cannot be compared, nor can "
    "they with one exact run; let the program draw from a fixed seed."
)
"""Why a check that needs several runs of a program says nothing of it."""


def with_draws(case: Case, runs: Iterable[Trajectory]) -> Case | None:
    """The case with the stream that some runs logged.

    Parameters
    ----------
    case : Case
        A case whose stream may not be known.
    runs : iterable of Trajectory
        The runs.

    Returns
    -------
    Case or None
        The case itself if its stream is known or no run logged any; None if the runs drew different ones.
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
    """The case, or one for each s, with the stream that the runs of a check logged.

    Parameters
    ----------
    check : Check
        The check.
    case : Case
        The case.
    trajectories : mapping of str to Trajectory
        All runs, by key.

    Yields
    ------
    (Case, bool)
        The case, and whether it can be judged: not where the runs drew different streams.
    """
    whole = with_draws(case, trajectories.values())
    if whole is not None or check.all_runs:  # The contract looks at each run by itself, at no draws.
        yield whole or case, True
        return
    for s in case.s_values:
        alone = replace(case, s_values=(s,))
        found = with_draws(alone, check.wanted(alone, trajectories).values())
        yield found or alone, found is not None
