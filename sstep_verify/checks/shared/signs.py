"""Signs: names of what is wrong where that is plain without a diagnosis, and the hints that they give.

The specification says which requirement a sign violates; signs that are quantities have the names of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from sstep_verify.quantities import STREAM, WRITE_BACK
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Hint, HintKind

FIRST_ALPHA = "first a"
"""Sign of a run that starts elsewhere."""

NO_LOG = "no step log"
"""Sign of a log that was left out, is of another shape or was not filled: it contradicts nothing."""


APART = "two runs"
"""Detail of the hint on a coordinate that differs between the results of two runs."""

UNDRAWN = {STREAM, WRITE_BACK}
"""Signs of a coordinate that changed and was not drawn."""


def hints_of_signs(signs: Iterable[str], *, apart: bool = False) -> tuple[Hint, ...]:
    """Hints for what two recorded alpha contradict, by the signs of it; they may be of runs `apart`."""
    found = set(signs)
    moved = Hint(HintKind.UNDRAWN_MOVED, (APART,) if apart else ())
    started = Hint(HintKind.STARTED_ELSEWHERE)
    return (*[moved] * (found >= UNDRAWN), *[started] * (FIRST_ALPHA in found))


def hints_of_stillness(task: str, trajectory: Trajectory) -> tuple[Hint, ...]:
    """Return the hint where every alpha that a run recorded is its first one; nothing where one differs.

    Whatever stores nothing, or makes no increment, leaves alpha so: no defect of a step explains it better
    than another.
    """
    moved = (trajectory.alphas != trajectory.alphas[:1]).any()
    return () if moved or not trajectory.length else (Hint(HintKind.NOTHING_MOVED, (task,)),)


def hints_of_a_stop(moved: int, faulty: Iterable[int]) -> tuple[Hint, ...]:
    """Return the hint where all that is faulty is in the end of a run, in which nothing moves any more.

    Parameters
    ----------
    moved : int
        Iterations after which alpha is what the run ends with; 0 where it never moves.
    faulty : iterable of int
        Iterations made before each faulty step or window.
    """
    places = set(faulty)
    stopped = 0 < moved <= min(places, default=0)
    return (Hint(HintKind.STOPPED, (float(moved + 1),)),) if stopped else ()


def moved_until(runs: Sequence[Trajectory]) -> int:
    """Iterations after which every alpha that is recorded of a run is its last one.

    The first of `runs` is the whole run, the others are it or parts of it, made again.
    """
    final, at = runs[0].final, np.unique(np.concatenate([run.iterations for run in runs]))
    apart = [run.iterations[(run.alphas != final).any(axis=1)] for run in runs]
    last = max((int(one[-1]) for one in apart if one.size), default=-1)
    return int(at[at > last][0]) if last < at[-1] else int(at[-1])


def logged_moves_until(start: np.ndarray, draws: np.ndarray, log: np.ndarray) -> int:
    """Iterations after which no logged value differs from the one before it of the same coordinate.

    `start` is alpha before the first step, shape (m,); draws and log have the shape (steps, b).
    """
    flat, values = draws.ravel(), log.ravel()
    order = np.argsort(flat, kind="stable")
    before = np.empty(values.size)
    before[order[1:]] = values[order[:-1]]
    first = order[np.flatnonzero(np.diff(flat[order], prepend=-1))]
    before[first] = start[flat[first]]
    moved = np.flatnonzero(values != before)
    return int(moved[-1]) // draws.shape[1] + 1 if moved.size else 0


def signs_of_one_run(signs: Iterable[str]) -> tuple[str, ...]:
    """Signs by which the requirement is named where both alpha are of one run.

    A coordinate that no step of the stream draws was changed by one then, which S-3.12 allows to none.
    Defects name other coordinates that were drawn.
    """
    found = tuple(signs)
    return (WRITE_BACK,) if set(found) == UNDRAWN else found
