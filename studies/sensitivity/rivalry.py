"""What the rivals say of the very runs that a campaign judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sstep_verify.campaign.artefact import read_artefact
from sstep_verify.checks.shared.case import Case, run_key
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.adapters.reference import ReferenceSolver
from sstep_verify.trajectory import Trajectory
from studies.reporting.sensitivity.corpus import Opinion
from studies.rivals import RIVALS, Answers


def opinions(folder: Path) -> dict[str, Opinion]:
    """What each rival says of the runs kept in an artefact: refuses if it refuses at least one.

    Runs that ended at different iterations are compared where the shorter one ended.
    """
    artefact = read_artefact(folder)
    case, runs = artefact.case, artefact.trajectories
    own = runs.get(run_key(1))
    compared = [_compared(case, s, run, own) for s in case.s_values if (run := runs.get(run_key(s)))]
    trusted = _trusted(case, case.declaration.precision, compared)
    exact = _trusted(case, "longdouble", compared)
    said: dict[str, list[bool]] = {rival.name: [] for rival in RIVALS}
    for one in compared:
        at = one.length
        answers = Answers(
            case.problem,
            case.declaration.precision,
            one.s,
            one.final,
            trusted[at],
            one.classical,
            exact[at],
        )
        for rival in RIVALS:
            if (taken := rival.accepts(answers)) is not None:
                said[rival.name].append(taken)
    return {
        name: "not applicable" if not taken else "accepts" if all(taken) else "refuses"
        for name, taken in said.items()
    }


@dataclass(frozen=True, eq=False)
class Compared:
    """The answer of a run with this s after so many iterations, and that of the solver's own s = 1."""

    s: int
    length: int
    final: np.ndarray
    classical: np.ndarray | None


def _compared(case: Case, s: int, run: Trajectory, own: Trajectory | None) -> Compared:
    blocks = case.stream.blocks(case.start, case.start + run.length)
    length = run.length if own is None or s == 1 else min(run.length, own.length)
    final = _state(run, blocks, length)
    if final is None:
        length, final = run.length, run.final
    return Compared(s, length, final, None if own is None or s == 1 else _state(own, blocks, length))


def _trusted(case: Case, precision: str, compared: Sequence[Compared]) -> dict[int, np.ndarray]:
    """A after each number of iterations of the classical reference, made once to the largest of them."""
    lengths = sorted({one.length for one in compared})
    if not lengths:
        return {}
    request = RunRequest(
        case.problem, case.stream, 1, lengths[-1], start=case.start, initial=case.initial,
        record=tuple(lengths),
    )  # fmt: skip
    run = ReferenceSolver(precision, "classical").run(request)
    return {length: run.at(length) for length in lengths}


def _state(run: Trajectory, blocks: np.ndarray, length: int) -> np.ndarray | None:
    """A after so many iterations; None where neither a record nor the log of steps has it."""
    if length > run.length:
        return None
    place = int(np.searchsorted(run.iterations, length, side="right")) - 1
    begin = int(run.iterations[place])
    if begin == length:
        return run.alphas[place]
    if run.log is None:
        return None
    a = run.alphas[place].copy()
    # Of a coordinate that is drawn again the last value counts: the first one of the log read backwards.
    drawn, values = blocks[begin:length].ravel()[::-1], run.log[begin:length].ravel()[::-1]
    coordinates, first = np.unique(drawn, return_index=True)
    a[coordinates] = values[first]
    return a
