"""Signs: names of what is wrong where that is plain without a diagnosis, and the hints that they give.

The specification says which requirement a sign violates; signs that are quantities have the names of these.
"""

from __future__ import annotations

from collections.abc import Iterable

from sstep_verify.quantities import STREAM, WRITE_BACK
from sstep_verify.verdict import Hint, HintKind

FIRST_ALPHA = "first a"
"""Sign of a run that starts elsewhere."""

NO_LOG = "no step log"
"""Sign of a log that was left out, is of another shape or was not filled: it contradicts nothing."""


def hints_of_signs(signs: Iterable[str]) -> tuple[Hint, ...]:
    """Hints for what two recorded alpha contradict, by the signs of it."""
    found, moved = set(signs), {STREAM, WRITE_BACK}
    kinds = {HintKind.UNDRAWN_MOVED: moved <= found, HintKind.STARTED_ELSEWHERE: FIRST_ALPHA in found}
    return tuple(Hint(kind) for kind, told in kinds.items() if told)
