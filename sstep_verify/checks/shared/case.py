"""Case: what a check is asked about - a problem, its stream, the runs to make, how much to replay."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from sstep_verify.problems import IndexStream, Problem
from sstep_verify.protocol import Declaration, RunRequest
from sstep_verify.trajectory import Trajectory


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
    further : tuple of int
        Those of `s_values` that are judged only by the checks that decide whether an s is right.
    iterations : int
        Most iterations of a run (H).
    declaration : Declaration
        What the solver under test says it is.
    diagnose : bool
        Whether mistakes that reproduce a failure are looked for.
    start : int
        Position of the stream at which the plain runs begin; the short runs of other checks begin at 0.
    initial : ndarray, shape (m,), optional
        Vector from which the plain runs begin; zeros if absent.
    points : mapping of int to tuple of int
        Per s, window ends at which the plain run is recorded.
    short : int
        Most iterations of a run that a check makes beside the plain ones.
    unit : int
        Of how many iterations every run is a whole number, for a solver that makes no others; 1 for any.
    variants : mapping of str to Declaration
        What other options of the same solver declare, by the name that a request for them carries.
    claims : mapping of str to float
        What the runs claim of their end, such as a tolerance reached; box: how far a may leave its box.
    windows : int
        Windows sampled per run, beside those chosen because a term acts in them.
    replay_limit : int
        Largest number of kernel entries (distinct coordinates times m) of a window that is replayed.
    seed : int
        Seed of the window sample.
    replay_command : str
        Command that makes the verdicts of this case again.
    classical_right : bool
        Whether a run of s = 1 that is not judged here is known to be right; then causes of a failure that
        would be seen in it as well are none.
    """

    id: str
    problem: Problem
    stream: IndexStream
    s_values: tuple[int, ...]
    iterations: int
    declaration: Declaration
    points: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    short: int = 600
    variants: Mapping[str, Declaration] = field(default_factory=dict)
    claims: Mapping[str, float] = field(default_factory=dict)
    windows: int = 4
    replay_limit: int = 1 << 24
    seed: int = 0
    replay_command: str = ""
    start: int = 0
    initial: np.ndarray | None = None
    unit: int = 1
    diagnose: bool = True
    further: tuple[int, ...] = ()
    classical_right: bool = False

    def panel_words(self, steps: int) -> int:
        """Most kernel entries of a window of some steps: distinct coordinates times m."""
        samples = self.problem.samples
        return min(steps * self.stream.block, samples) * samples


AGAIN = {
    "as-used": "as a user makes it (in one call, without log and records)",
    "resumed": "ended early and gone on with from its checkpoint",
}
"""Variants that make a run again in another way, which must end with the same bits, and which way it is."""

LOG_WORDS = 1 << 25
"""Coordinates drawn in a run up to which it is logged: 256 MiB."""


def loggable(case: Case) -> bool:
    """Whether the solver logs its steps, float64 can judge them, and the log is of a size to be kept.

    Steps are made from a, or from weights carried beside it; a longdouble's digits do not fit.
    """
    declared = case.declaration
    known = not declared.state or declared.state[0] == "weights"
    return (
        declared.log
        and known
        and declared.precision != "longdouble"
        and case.iterations * case.stream.block <= LOG_WORDS
    )


def run_key(s: int) -> str:
    """Key of the plain run of an s, over all iterations."""
    return f"s={s}"


def plain_request(case: Case, s: int) -> RunRequest:
    """The plain run of an s, recorded at the case's points and where the window before each begins.

    A solver of level 0 has no window to show: of it, at the points only; of one that ends at whole units
    only, at those of the points, unless one run of it shows more than its end (level 2).
    """
    record = {end for end in (*case.points.get(s, ()), case.iterations) if end}
    if case.declaration.level < 2:
        record = {end for end in record if end % case.unit == 0}
    if case.declaration.level > (0 if case.unit == 1 else 1):
        record |= {(end - 1) // s * s for end in record}
    return RunRequest(
        case.problem, case.stream, s, case.iterations, case.start, case.initial, tuple(sorted(record))
    )


def after_run(trajectory: Trajectory) -> np.random.Generator:
    """A generator seeded by what a run returned, so that no run can know what it will draw."""
    digest = hashlib.sha256(np.ascontiguousarray(trajectory.final).tobytes()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:8], "little")))


def merge_requests(requests: Iterable[Mapping[str, RunRequest]]) -> dict[str, RunRequest]:
    """Unite the runs that several checks need: one run a key, recorded wherever any check wants it.

    Equal keys of what each check's ``runs`` returned stand for the same run.
    """
    merged: dict[str, RunRequest] = {}
    for wanted in requests:
        for key, request in wanted.items():
            other = merged.get(key, request)
            merged[key] = replace(
                request,
                record=tuple(sorted({*other.record, *request.record})),
                expose_panels=other.expose_panels or request.expose_panels,
                log=other.log or request.log,
                probes=other.probes or request.probes,
            )
    return merged
