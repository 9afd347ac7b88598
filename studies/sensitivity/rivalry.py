"""What the rivals say of the very runs that a campaign judged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sstep_verify.adapters.reference import ReferenceSolver
from sstep_verify.campaign.artefact import read_artefact
from sstep_verify.checks.shared.case import Case, run_key
from sstep_verify.solver import RunRequest
from sstep_verify.trajectory import Trajectory
from studies.report.sensitivity.corpus import Opinion
from studies.rivals import RIVALS, Answers


def opinions(folder: Path) -> dict[str, Opinion]:
    """What each rival says of the runs kept in an artefact: refuses if it refuses at least one.

    Runs that ended at different iterations are compared where the shorter one ended.
    """
    artefact = read_artefact(folder)
    case, runs = artefact.case, artefact.trajectories
    own = runs.get(run_key(1))
    found = {s: _ends(case, s, run, own) for s in case.s_values if (run := runs.get(run_key(s)))}
    lengths = sorted({length for length, _, _ in found.values()})
    precision = case.declaration.precision
    trusted, exact = (_classical(case, one, lengths) for one in (precision, "longdouble"))
    said: dict[str, list[bool]] = {rival.name: [] for rival in RIVALS}
    for s, (length, final, classical) in found.items():
        answers = Answers(case.problem, precision, s, final, trusted[length], classical, exact[length])
        for rival in RIVALS:
            if (taken := rival.accepts(answers)) is not None:
                said[rival.name].append(taken)
    return {
        name: "not applicable" if not taken else "accepts" if all(taken) else "refuses"
        for name, taken in said.items()
    }


def _ends(
    case: Case, s: int, run: Trajectory, own: Trajectory | None
) -> tuple[int, np.ndarray, np.ndarray | None]:
    """Where a run is looked at: after how many iterations, its a there, and that of the run with s = 1."""
    blocks = case.stream.blocks(case.start, case.start + run.length)
    other = None if s == 1 else own
    length = run.length if other is None else min(run.length, other.length)
    final = _state(run, blocks, length)
    if final is None:
        length, final = run.length, run.final
    return length, final, None if other is None else _state(other, blocks, length)


def _classical(case: Case, precision: str, lengths: Sequence[int]) -> dict[int, np.ndarray]:
    """A after each number of iterations of the classical reference, made once to the largest of them."""
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
