"""The classical reference in longdouble, which studies compare runs with and nobody declares."""

from __future__ import annotations

from sstep_reference.arithmetic import Float

from sstep_verify import ReferenceSolver


class LongReference(ReferenceSolver):
    """Algorithms 1 and 3 in longdouble; its recorded vectors are of that type."""

    def __init__(self) -> None:
        super().__init__("float64", "classical")
        self._arithmetic = Float("longdouble")
