"""Hypothesis strategies that draw scenarios by `sstep_verify.scenarios.draws`: sizes and names shrink, never the data."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from acting_draws import acts, draw_candidate
from hypothesis import assume
from hypothesis import strategies as st

from sstep_verify.errors import InputError
from sstep_verify.problems.losses import TASKS
from sstep_verify.scenarios.descent import TERMS
from sstep_verify.scenarios.draws import KERNEL_NAMES, balanced, draw_kernel, draw_scenario
from sstep_verify.scenarios.numbers import PRECISIONS, SCALES
from sstep_verify.scenarios.scenario import Scenario

_SEEDS_TRIED = 16


def _one_of(values: Collection, known: Sequence, what: str) -> st.SearchStrategy:
    unknown = [value for value in values if value not in known]
    if unknown or not values:
        raise InputError(f"strategy: {what} {unknown or 'none'}; known: {', '.join(map(str, known))}")
    return st.sampled_from([value for value in known if value in values])


class Shrinking:
    """Chooses by Hypothesis, which shrinks towards the smallest integers."""

    def __init__(self, draw: st.DrawFn):
        self._draw = draw

    def integers(self, low: int, high: int | None = None) -> int:
        """An integer in ``low..high - 1``; with one argument, in ``0..low - 1``."""
        return self._draw(st.integers(0, low - 1) if high is None else st.integers(low, high - 1))


def _tasks(task: str | None) -> st.SearchStrategy[str]:
    return _one_of(TASKS if task is None else [task], TASKS, "task")


@st.composite
def scenarios(
    draw: st.DrawFn,
    task: str | None = None,
    *,
    kernels: Collection[str] = KERNEL_NAMES,
    max_samples: int = 32,
    max_features: int = 8,
    max_block: int = 8,
    max_s: int = 32,
    max_iterations: int = 64,
    max_ranks: int = 4,
    scales: Collection[str] = ("normal", "small", "large"),
    precisions: Collection[str] = ("float64",),
) -> Scenario:
    """Draw any scenario.

    Parameters
    ----------
    task : str, optional
        One of svm-l1, svm-l2, krr; without it, any of them.
    kernels : collection of str
        Names of the kernels allowed.
    max_samples, max_features, max_block, max_s, max_iterations, max_ranks : int
        Largest m >= 2, n, b, s, H, P >= 1.
    scales, precisions : collection of str
        Scales and data precisions allowed; kernel parameters and C or lambda do not follow the scale.

    Raises
    ------
    InputError
        If a name is unknown.
    """
    options = {
        "precision": draw(_one_of(precisions, PRECISIONS, "precisions"), label="precision"),
        "scales": [value for value in SCALES if value in scales],
    }
    _one_of(scales, tuple(SCALES), "scales")
    name = draw(_one_of(kernels, KERNEL_NAMES, "kernels"), label="kernel")
    return draw_scenario(
        Shrinking(draw),
        draw(_tasks(task), label="task"),
        draw_kernel(
            Shrinking(draw), name
        ),  # at once, or it would not shrink to a kernel with fewer parameters
        samples=max_samples,
        features=max_features,
        block=max_block,
        s=max_s,
        iterations=max_iterations,
        ranks=max_ranks,
        **options,
    )


@st.composite
def acting_scenarios(
    draw: st.DrawFn,
    task: str | None = None,
    *,
    kernels: Collection[str] = KERNEL_NAMES,
    terms: Collection[str] = ("kernel-correction", "overlap"),
    max_samples: int = 64,
    max_features: int = 8,
    max_block: int = 8,
    max_ranks: int = 4,
    starts: Collection[str] = ("zero", "mixed"),
    precisions: Collection[str] = ("float64",),
) -> Scenario:
    """Draw scenarios in which correction terms have an effect.

    m <= 64, n <= 8; every C K_ii lies in [0.1, 10] (K-RR: every K_ii within a factor 10 of lambda m); some
    window draws a coordinate twice; each of `terms` has an effect (`descent.acting_terms`). Data are dense;
    samples have norm 1 up to rounding where the kernel's diagonal depends on it.

    Parameters
    ----------
    task : str, optional
        One of svm-l1, svm-l2, krr; without it, any of them.
    kernels : collection of str
        Names of the kernels allowed.
    terms : collection of str
        Terms that must act, of `descent.TERMS`; omega exists for svm-l2 only.
    max_samples, max_features, max_block, max_ranks : int
        Largest m (2..64), n (1..8), b, P >= 1.
    starts, precisions : collection of str
        Start vectors and data precisions allowed.

    Raises
    ------
    InputError
        If a name is unknown, or no scenario of the task can have the term.
    """
    _check_terms(terms, task)
    task = draw(_tasks("svm-l2" if "omega" in terms else task), label="task")
    _one_of(kernels, KERNEL_NAMES, "kernels")
    # Never near-converged: from there nothing moves by enough for an effect.
    _one_of(starts, ("zero", "mixed"), "starts")
    drawn, place = draw_candidate(
        Shrinking(draw),
        task,
        terms,
        [value for value in ("zero", "mixed") if value in starts],
        [value for value in KERNEL_NAMES if value in kernels],
        (2, min(max_samples, 64), min(max_features, 8), max_block),
        ranks=draw(st.integers(1, max_ranks), label="P"),
        precision=draw(_one_of(precisions, PRECISIONS, "precisions"), label="precision"),
    )
    # Trying a few seeds wastes far fewer draws than giving up at the first that does not act.
    for seed in range(drawn.seed, drawn.seed + _SEEDS_TRIED):
        scenario = balanced(replace(drawn, seed=seed), place)
        if acts(scenario, terms):
            return scenario
    assume(False)
    raise AssertionError("unreachable: assume(False) raises")


def _check_terms(terms: Collection[str], task: str | None) -> None:
    _one_of(terms, TERMS, "terms")
    if "omega" in terms and task not in (None, "svm-l2"):
        raise InputError(f"strategy: task {task!r} has no omega term; ask for svm-l2")
