"""One case of a results document: runs, curves and lines; certified optima; runs next to classical ones."""

from __future__ import annotations

from collections.abc import Collection
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

NOTHING_BACK = "an error ended it"
"""Why a run ended whose solver raised an error, or whose program failed."""

HELD = "data_held_as"
"""Fact of a case: in which of these forms a function was given the data; a program gets a file."""

DENSE, CSR = "dense array", "CSR"

OF_A_RUN = (
    "solver", "solver_options", "level", "exchange", "ranks", "index_stream", "s_not_replayed",
    "further_s", HELD,
)  # fmt: skip
"""Facts of a case that say how its runs were made."""

WORDS = {"exchange": "communication scheme", "further_s": "s drawn from the seed, for some of the checks"}
"""Facts that a reader knows by other words."""


@dataclass(frozen=True)
class Run(Record):
    """One run of one solver: its s (1 is the classical method), iterations, and why it ended.

    Such as "tolerance reached", "all iterations made, relative gap ...". Of a run that an error ended how
    many iterations it made is not known (None). `final` is the value of `measure` at its end, None where
    alpha was not finite there; wall time is in seconds.
    """

    s: int
    iterations: int | None
    stop: str
    seconds: float | None = None
    final: float | None = None
    measure: str = ""
    solver: str = ""


@dataclass(frozen=True)
class Series(Record):
    """One curve of a figure: values over ascending iterations, None for a gap.

    Named by its measure: `GAP`, `ERROR`, `DRIFT` or another, each drawn in figures of its own. `units` are
    those of y; "1" (or empty) for a relative quantity.
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
    """A horizontal line of a figure, such as a target or an attainable gap, named by its label.

    `series` is the measure it belongs to; empty for the convergence figure of the case (`GAP` or `ERROR`).
    """

    name: str
    y: float | None
    series: str = ""


@dataclass(frozen=True)
class Case(Record):
    """One problem of the campaign, with its runs, curves and lines; verdicts refer to its id.

    `problem` is a label, such as ``duke / rbf sigma=1 / svm-l1 C=1``, of which dataset, kernel and loss are
    the parts; task is ``svm-l1``, ``svm-l2`` or ``krr``; samples, features and block are m, n and b.
    Parameters are such as C or lambda; figures have one panel for each data set, kernel and parameters.
    The status is the roll-up of its verdicts, a `Status` value, or `PREDICTED` where there can be none, and
    `reason` says why in one sentence. `check_seconds`: check -> wall time in seconds of judging the runs of
    all s by it, without that of making them. `facts` are what a reader should know: largest off-diagonal
    kernel entry, reference optimum, attainable gap; a value may be a dict or a list.
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
    check_seconds: dict[str, object] = field(default_factory=dict)

    def __post_init__(self):
        super().__post_init__()
        known = (*(status.value for status in Status), PREDICTED)
        if self.status not in known:
            raise InputError(
                f"case {self.id}: status {self.status!r} is unknown; known: {', '.join(known)}"
            )
        self._set(status=str(self.status))

    @property
    def of_runs(self) -> bool:
        """Whether anything was run; a vector that was handed over has no s, no stream and no solver."""
        return not self.runs or any(run.stop != NOTHING_RUN for run in self.runs)

    @property
    def told_facts(self) -> dict[str, object]:
        """The facts by their names in words, of a vector that was handed over without those of a run."""
        told = {name: fact for name, fact in self.facts.items() if self.of_runs or name not in OF_A_RUN}
        return {WORDS.get(name, name.replace("_", " ")): fact for name, fact in told.items()}


def noun_of(cases: Collection[Case]) -> str:
    """What the cases are counted as: "problem" where each is of another one, else "case".

    A problem that is run with several block sizes, numbers of ranks or exchanges is one, of several cases.
    """
    return "problem" if len({case.problem for case in cases}) == len(cases) else "case"


@dataclass(frozen=True)
class CertifiedRow(Record):
    """Statements proved of one optimum; numbers of more digits than float64 holds are decimal strings.

    Decimal digits asked for and certified are of a* in the 2-norm (K-RR), of the optimal value (K-SVM),
    which lies within `radius` of `objective`. The duality gap of the point certified is enclosed;
    `distance` bounds its own from a* (2-norm), empty where uniqueness is not proved. Then the coordinates
    proved to be 0, C or strictly between, and those undecided, None for K-RR; whether the solution is
    proved unique, and if not, what stands in the way; how it was found; wall time in seconds of certifying
    and of proving the certificate again by separate code; the largest resident memory in bytes of the
    process meanwhile.
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
    """The part of a document that a campaign of certified optima adds, in the order of the cases."""

    rows: tuple[CertifiedRow, ...]


@dataclass(frozen=True)
class AgainstClassical(Record, digits=DIGITS):
    """Errors of an s-step run and of the classical run, s = 1, against the exact trajectory.

    `iteration` is the last window end at which both were recorded; None if there is none, and then all
    below. Relative errors there (2-norm), None where a run broke down; `loss`, their factor, where an error
    below one unit roundoff counts as one; `largest`, the largest s-step error over all such window ends,
    and its factor; the significant bits that both errors leave right.
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
