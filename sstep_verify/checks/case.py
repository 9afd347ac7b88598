"""Case: what a check is asked about - a problem, its stream, the runs to make, how much to replay."""

from __future__ import annotations

from dataclasses import dataclass

from sstep_verify.problems import IndexStream, Problem
from sstep_verify.solver import Declaration


@dataclass(frozen=True, eq=False)
class Case:
    """One problem of a campaign with one block size.

    Parameters
    ----------
    id : str
        Unique name within the campaign.
    problem : Problem
        The problem.
    stream : IndexStream
        The coordinates drawn, the same for every s.
    s_values : tuple of int
        Iterations per window of the runs; 1 is the classical method.
    iterations : int
        Most iterations of a run (H).
    declaration : Declaration
        What the solver under test says it is.
    windows : int
        Windows sampled per run, beside those chosen because a term acts in them.
    replay_limit : int
        Largest number of kernel entries (distinct coordinates times m) of a window that is replayed.
    seed : int
        Seed of the window sample.
    replay_command : str
        Command that makes the verdicts of this case again.
    """

    id: str
    problem: Problem
    stream: IndexStream
    s_values: tuple[int, ...]
    iterations: int
    declaration: Declaration
    windows: int = 4
    replay_limit: int = 1 << 24
    seed: int = 0
    replay_command: str = ""
