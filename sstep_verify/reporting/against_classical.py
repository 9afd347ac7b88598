"""Record of a results document: an s-step run beside the classical one, added by ``check --stability``."""

from __future__ import annotations

from dataclasses import dataclass, fields

from sstep_verify.reporting.case import set_fields
from sstep_verify.reporting.plain import plain, rounded


@dataclass(frozen=True)
class AgainstClassical:
    """Errors of an s-step run and of the classical run, s = 1, against the exact trajectory.

    Parameters
    ----------
    case : str
        Id of the case.
    s : int
        Iterations per window, > 1.
    iteration : int or None
        The last window end at which both runs were recorded; None if there is none, and then all below.
    error, classical : float or None
        Their relative errors there (2-norm); None where a run broke down.
    loss : float or None
        Stability loss factor: the first over the second, where an error below one unit roundoff counts as
        one; None where a run broke down.
    largest, largest_loss : float or None
        The largest s-step error over all such window ends, and its factor.
    bits, classical_bits : float or None
        Significant bits that `error` and `classical` leave right.
    """

    case: str
    s: int
    iteration: int | None = None
    error: float | None = None
    classical: float | None = None
    loss: float | None = None
    largest: float | None = None
    largest_loss: float | None = None
    bits: float | None = None
    classical_bits: float | None = None

    def __post_init__(self):
        where = f"{self.case}, s = {self.s}, against s = 1"
        set_fields(self, s=plain(self.s, where), iteration=plain(self.iteration, where))
        for name in (field.name for field in fields(self)[3:]):
            set_fields(self, **{name: rounded(getattr(self, name), where)})
