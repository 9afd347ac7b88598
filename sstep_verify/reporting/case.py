"""One case of a results document: a problem with its runs, curves and lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from sstep_verify.errors import InputError
from sstep_verify.reporting.plain import finite, plain
from sstep_verify.verdict import Status

GAP = "relative duality gap"
ERROR = "relative solution error"
DRIFT = "drift"

PREDICTED = "PREDICTED"
"""Status of a case of which something is predicted, and nothing judged."""

NOTHING_RUN = "nothing was run: the vector was handed over"
"""Why the run of a vector ended that a solver left elsewhere."""


@dataclass(frozen=True)
class Run:
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

    def __post_init__(self):
        set_fields(
            self,
            s=plain(self.s),
            iterations=plain(self.iterations),
            seconds=finite(self.seconds, "run.seconds"),
            final=finite(self.final, "run.final"),
        )


@dataclass(frozen=True)
class Series:
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
        where = f"series {self.name!r}, s = {self.s}"
        x, y = (tuple(plain(values, where)) for values in (list(self.x), list(self.y)))
        if len(x) != len(y):
            raise InputError(f"{where}: {len(x)} iterations but {len(y)} values")
        if any(later <= earlier for earlier, later in pairwise(x)):
            raise InputError(f"{where}: the iterations must ascend")
        set_fields(self, s=plain(self.s), x=x, y=tuple(finite(value, where) for value in y))


@dataclass(frozen=True)
class Line:
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

    def __post_init__(self):
        set_fields(self, y=finite(self.y, f"line {self.name!r}"))


@dataclass(frozen=True)
class Case:
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
        set_fields(
            self,
            samples=plain(self.samples),
            features=plain(self.features),
            block=plain(self.block),
            status=PREDICTED if self.status == PREDICTED else status_of(self.status, f"case {self.id}"),
            s=tuple(plain(list(self.s))),
            parameters=plain(self.parameters, f"case {self.id}: parameters"),
            facts=plain(self.facts, f"case {self.id}: facts"),
            runs=tuple(self.runs),
            series=tuple(self.series),
            lines=tuple(self.lines),
        )


def status_of(value, where: str) -> str:
    """The name of a status, as plain text.

    Raises
    ------
    InputError
        If there is no such status.
    """
    try:
        return Status(value).value
    except ValueError:
        known = ", ".join(status.value for status in Status)
        raise InputError(f"{where}: status {value!r} is unknown; known: {known}") from None


def set_fields(record, **values) -> None:
    """Set fields of a frozen record while it is being built."""
    for name, value in values.items():
        object.__setattr__(record, name, value)
