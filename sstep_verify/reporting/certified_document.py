"""Part of a results document on certified optima: one row for each certificate."""

from __future__ import annotations

from dataclasses import dataclass

from sstep_verify.reporting.case import set_fields
from sstep_verify.reporting.plain import finite, plain


@dataclass(frozen=True)
class CertifiedRow:
    """Statements proved of one optimum; numbers of more digits than float64 holds are decimal strings.

    Parameters
    ----------
    case : str
        Id of the case.
    asked, digits : int
        Decimal digits asked for and certified: of a* in the 2-norm (K-RR), of the optimal value (K-SVM).
    objective, radius : str
        The optimal dual value lies within ``radius`` of ``objective``.
    gap_lower, gap_upper : str
        Enclosure of the duality gap of the point certified.
    distance : str
        Bound on the 2-norm distance of that point from a*; empty where uniqueness is not proved.
    zero, upper, free, undecided : int or None
        Coordinates proved to be 0, C or strictly between, and those undecided; None for K-RR.
    uniqueness : str
        Whether the solution is proved unique, and if not, what stands in the way.
    how : str
        How it was found.
    seconds, anew : float
        Wall time, in seconds, of certifying and of proving the certificate anew by separate code.
    memory : int or None
        Largest resident memory in bytes of the process meanwhile, what it held before included.
    """

    case: str
    asked: int
    digits: int
    objective: str
    radius: str
    gap_lower: str
    gap_upper: str
    distance: str
    zero: int | None
    upper: int | None
    free: int | None
    undecided: int | None
    uniqueness: str
    how: str
    seconds: float | None
    anew: float | None
    memory: int | None

    def __post_init__(self):
        where = f"certified row of {self.case}"
        set_fields(
            self,
            seconds=finite(self.seconds, where),
            anew=finite(self.anew, where),
            memory=plain(self.memory, where),
        )


@dataclass(frozen=True)
class Certified:
    """The part of a document that a campaign of certified optima adds.

    Parameters
    ----------
    rows : tuple of CertifiedRow
        In the order of the cases.
    """

    rows: tuple[CertifiedRow, ...]

    def __post_init__(self):
        set_fields(self, rows=tuple(self.rows))
