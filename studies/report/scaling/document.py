"""Part of a results document on predicted scaling: curves over P, and claims beside predictions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

from sstep_verify.errors import InputError
from sstep_verify.report.plain import Record

Mark = Literal["supported", "not supported", "not reproducible"]
"""Of a claim, not of a solver."""

MARKS: tuple[Mark, ...] = get_args(Mark)

DIGITS = 4
"""Significant digits of a predicted time: more would say nothing."""


@dataclass(frozen=True)
class ScalingPoint(Record):
    """Predicted microseconds per iteration on P ranks, each with the error stated of it.

    Parameters
    ----------
    ranks : int
        P.
    classical, s_step : float
        The paper's classical program; its s-step program at `s`, which takes least.
    s : int
        Iterations a window of the latter.
    ours : float
        This package's solver at `exchange` and `our_s`, which take least.
    exchange : str
        allreduce, reduce-scatter or gram.
    our_s : int
        Iterations a window.
    classical_error, s_step_error, our_error : str
        Median relative error of such predictions where they could be compared, such as ``14 %``, or that it
        is not known.
    """

    ranks: int
    classical: float
    s_step: float
    s: int
    ours: float
    exchange: str
    our_s: int
    classical_error: str
    s_step_error: str
    our_error: str

    def __post_init__(self):
        super().__post_init__()
        for name in ("classical", "s_step", "ours"):
            value = getattr(self, name)
            if value is None or value <= 0:
                raise InputError(
                    f"predictions at P = {self.ranks}: {name} = {value}, but a time is positive"
                )
            self._set(**{name: float(f"{value:.{DIGITS}g}")})


@dataclass(frozen=True)
class ScalingCurve(Record):
    """Predictions of one case, P ascending."""

    case: str
    points: tuple[ScalingPoint, ...]

    def __post_init__(self):
        super().__post_init__()
        ranks = [point.ranks for point in self.points]
        if not ranks or ranks != sorted(set(ranks)):
            raise InputError(f"curve of {self.case}: P = {ranks}, but it must ascend")


@dataclass(frozen=True)
class PaperClaim:
    """A claim of the paper beside predictions of its programs.

    Parameters
    ----------
    case : str
        Id of the case that it is on.
    text : str
        What it speaks of.
    stated, predicted, error : str
        Figures of the paper; the prediction; the error stated of the times that it is made of.
    timed : str
        What the published timings have; empty where there is nothing to compare.
    mark : {"supported", "not supported", "not reproducible"}
        Of the claim, not of a solver.
    reason : str
        Why.
    """

    case: str
    text: str
    stated: str
    predicted: str
    error: str
    timed: str
    mark: Mark
    reason: str


@dataclass(frozen=True)
class Scaling(Record):
    """The part of a document that a campaign of predictions adds.

    Parameters
    ----------
    machines : dict of str to str
        Name of each machine to what its predictions were off by.
    curves : tuple of ScalingCurve
        In the order of the cases.
    claims : tuple of PaperClaim
        Likewise.
    """

    machines: dict[str, str] = field(default_factory=dict)
    curves: tuple[ScalingCurve, ...] = ()
    claims: tuple[PaperClaim, ...] = ()
    broken: ClassVar[tuple[str, ...]] = ()
    """A claim that does not hold is no fault."""

    @property
    def named(self) -> list[tuple[str, str]]:
        """Who names which case."""
        return [
            *(("a predicted curve", curve.case) for curve in self.curves),
            *(("a claim", claim.case) for claim in self.claims),
        ]
