"""Records of the adversarial search: the worst cases of correct runs that were found, and their replay."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HardCase:
    """The worst case that a search found of one measure, task, kernel and precision.

    Parameters
    ----------
    measure : {"ratio", "loss", "hidden", "carried", "factored"}
        Ratio of measured error to bound of the worst step; stability loss: the error of the s-step run
        over that of the classical one; the ratio of a mistake that is labelled numerically equivalent,
        steps repeated in exact arithmetic included; the largest ratio over checks of windows, of a solver
        that carries a state, or that forms A (A'a).
    solver : str
        The solver, a name of `studies.adversary.measures.solver_named`.
    scenario : str
        Id of the scenario, which `Scenario.from_id` makes again.
    value : float
        The measure.
    method : str
        What found it: evolution, targeted, or random.
    random : float
        Largest value of as many seconds of random draws.
    """

    measure: str
    solver: str
    scenario: str
    value: float
    method: str
    random: float


@dataclass(frozen=True)
class ReplayedCase:
    """A case of the committed corpus, made and judged again.

    Parameters
    ----------
    case : HardCase
        The case.
    status : str
        Verdict of step-replay, exact steps included.
    value : float
        The measure now.
    """

    case: HardCase
    status: str
    value: float


@dataclass(frozen=True)
class AdversaryDocument:
    """All cases of the committed corpus, made and judged again.

    Parameters
    ----------
    cases : tuple of ReplayedCase
        The cases.
    failed : int
        Those of them that step-replay fails.
    ratio, loss : float
        Largest ratio and largest stability loss among them.
    """

    cases: tuple[ReplayedCase, ...]
    failed: int
    ratio: float
    loss: float
