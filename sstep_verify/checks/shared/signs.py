"""Signs: names of what is wrong where that is plain without a diagnosis, and the hints that they give.

The specification says which requirement a sign violates; signs that are quantities have the names of these.
"""

from __future__ import annotations

from collections.abc import Iterable

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


def signs_of_one_run(signs: Iterable[str]) -> tuple[str, ...]:
    """Signs by which the requirement is named where both alpha are of one run.

    A coordinate that no step of the stream draws was changed by one then, which S-3.12 allows to none.
    Defects name other coordinates that were drawn.
    """
    found = tuple(signs)
    return (WRITE_BACK,) if set(found) == UNDRAWN else found
