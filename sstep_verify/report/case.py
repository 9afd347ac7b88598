"""One case of a results document: a problem with its runs, curves and lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from sstep_verify.errors import InputError
from sstep_verify.report.plain import DIGITS, Record
from sstep_verify.verdict import Status

GAP = "relative duality gap"
ERROR = "relative solution error"
DRIFT = "drift"

PREDICTED = "PREDICTED"
"""Status of a case of which something is predicted, and nothing judged."""

NOTHING_RUN = "nothing was run: the vector was handed over"
"""Why the run of a vector ended that a solver left elsewhere."""


@dataclass(frozen=True)
class Run(Record):
    """One run of one solver.

    Parameters
    ----------
    s : int
        Iterations per window; 1 is the classical method.
    iterations : int
        Iterations made.
    stop : str
        Why it ended: "tolerance reached", "attainable gap reached", "cap reached, gap = ...".
    seconds : float, optional
        Wall time in seconds.
    final : float, optional
        Last value of the measure.
    measure : str
        Name of the measure that `final` is a value of.
    solver : str
        Name of the solver.
    """

    s: int
    iterations: int
    stop: str
    seconds: float | None = None
    final: float | None = None
    measure: str = ""
    solver: str = ""


@dataclass(frozen=True)
class Series(Record):
    """One curve of a figure.

    Parameters
    ----------
    name : str
        Measure: `GAP`, `ERROR`, `DRIFT` (drawn in these figures) or another name (CSV only).
    s : int
        Iterations per window of the run; 1 is the classical method.
    x : tuple of int, shape (k,)
        Iterations, ascending.
    y : tuple of (float or None), shape (k,)
        Values; None where there is none (a gap in the curve).
    units : str
        Unit of y; "1" (or empty) for a relative quantity.

    Raises
    ------
    InputError
        If x and y have different lengths or x does not ascend.
    """

    name: str
    s: int
    x: tuple[int, ...]
    y: tuple[float | None, ...]
    units: str = ""

    def __post_init__(self):
        super().__post_init__()
        where = f"series {self.name!r}, s = {self.s}"
        if len(self.x) != len(self.y):
            raise InputError(f"{where}: {len(self.x)} iterations but {len(self.y)} values")
        if any(later <= earlier for earlier, later in pairwise(self.x)):
            raise InputError(f"{where}: the iterations must ascend")


@dataclass(frozen=True)
class Line(Record):
    """A horizontal line of a figure: target, attainable gap.

    Parameters
    ----------
    name : str
        Text of the label.
    y : float or None
        Height, in the units of the series.
    series : str
        Measure it belongs to; empty for the convergence figure of the case (`GAP` or `ERROR`).
    """

    name: str
    y: float | None
    series: str = ""


@dataclass(frozen=True)
class Case(Record):
    """One problem of the campaign, with its runs and curves.

    Parameters
    ----------
    id : str
        Unique in the document; verdicts refer to it.
    problem : str
        Label, such as ``duke / rbf sigma=1 / svm-l1 C=1``.
    dataset, kernel, loss : str
        Its three parts, as printed.
    task : str
        ``svm-l1``, ``svm-l2`` or ``krr``.
    samples, features : int
        Shape of the data (m, n).
    block : int
        Coordinates per iteration (b).
    parameters : dict
        Such as C or lambda; figures have one panel for each data set, kernel and parameters.
    s : tuple of int
        Values of s that were run.
    status : str
        Roll-up of the case's verdicts: a `Status` value; `PREDICTED` where there can be none.
    reason : str
        Why, in one sentence.
    facts : dict
        What a reader should know: largest off-diagonal kernel entry, reference optimum (value,
        enclosure, digits, how), attainable gap; a value may be a dict or a list.
    runs, series, lines : tuples of Run, Series and Line
        What was run and what is drawn.

    Raises
    ------
    InputError
        If the status is none of PASS, FAIL, VACUOUS, INCONCLUSIVE, PREDICTED.
    """

    id: str
    problem: str
    dataset: str
    kernel: str
    loss: str
    task: str
    samples: int
    features: int
    block: int
    status: str
    s: tuple[int, ...] = ()
    reason: str = ""
    parameters: dict[str, object] = field(default_factory=dict)
    facts: dict[str, object] = field(default_factory=dict)
    runs: tuple[Run, ...] = ()
    series: tuple[Series, ...] = ()
    lines: tuple[Line, ...] = ()

    def __post_init__(self):
        super().__post_init__()
        known = (*(status.value for status in Status), PREDICTED)
        if self.status not in known:
            raise InputError(
                f"case {self.id}: status {self.status!r} is unknown; known: {', '.join(known)}"
            )
        self._set(status=str(self.status))


@dataclass(frozen=True)
class CertifiedRow(Record):
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


@dataclass(frozen=True)
class Certified(Record):
    """The part of a document that a campaign of certified optima adds.

    Parameters
    ----------
    rows : tuple of CertifiedRow
        In the order of the cases.
    """

    rows: tuple[CertifiedRow, ...]


@dataclass(frozen=True)
class AgainstClassical(Record, digits=DIGITS):
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
