"""Scenarios drawn until given terms act in one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from sstep_verify.scenarios.descent import acting_terms
from sstep_verify.scenarios.draws import (
    EIGHTHS,
    KERNEL_NAMES,
    Chooser,
    balanced,
    draw_kernel,
    draw_sizes,
    draw_spectrum,
    in_balance,
    one_of,
)
from sstep_verify.scenarios.scenario import Scenario

EIGHTHS_CLIPPED = (7, 6)
"""Places of C for an overlap of a K-SVM-L2: its steps are rarely clipped unless C K_ii is large."""


def overlaps(scenario: Scenario) -> bool:
    """True if some window draws a coordinate twice."""
    stream, length, s = scenario.stream(), scenario.iterations, scenario.s
    windows = [stream.blocks(begin, min(begin + s, length)) for begin in range(0, length, s)]
    return any(np.unique(draws).size < draws.size for draws in windows)


def acts(scenario: Scenario, terms: Collection[str] = ("kernel-correction", "overlap")) -> bool:
    """True if the scenario is balanced, has an overlap, and each of the terms has an effect."""
    if not (overlaps(scenario) and in_balance(scenario)):
        return False
    return set(terms) <= acting_terms(scenario.problem(), scenario.stream(), scenario.s, scenario.initial())


def draw_acting_scenario(
    generator: np.random.Generator, task: str, terms: Collection[str], starts: Sequence[str] = ("zero",)
) -> Scenario:
    """Draw scenarios until each of `terms` acts in one.

    As `scenario_strategies.acting_scenarios`: m <= 64, n <= 8, b <= 8; every C K_ii in [0.1, 10] (K-RR: every K_ii
    within a factor 10 of lambda m); some window draws a coordinate twice; each term has an effect
    (`descent.acting_terms`).

    Parameters
    ----------
    generator : numpy.random.Generator
        Source of the numbers.
    task : {"svm-l1", "svm-l2", "krr"}
        The task.
    terms : collection of str
        Terms that must act, of `descent.TERMS`; omega exists for svm-l2 only.
    starts : sequence of str
        Start vectors to choose from; near-converged ones are of no use, for nothing moves there.

    Returns
    -------
    Scenario
    """
    while True:
        scenario = balanced(*draw_candidate(generator, task, terms, starts))
        if acts(scenario, terms):
            return scenario


def draw_candidate(
    chooser: Chooser,
    task: str,
    terms: Collection[str],
    starts: Sequence[str],
    kernels: Sequence[str] = KERNEL_NAMES,
    sizes: tuple[int, int, int, int] = (4, 64, 8, 8),
    **fixed: Any,
) -> tuple[Scenario, float]:
    """A scenario in which the terms may act, and the place of its parameter; sizes as of `draw_sizes`."""
    eighths = EIGHTHS_CLIPPED if task == "svm-l2" and "overlap" in terms else EIGHTHS
    kernel = draw_kernel(chooser, one_of(chooser, kernels))
    fields = draw_sizes(chooser, task, *sizes) | draw_spectrum(chooser)
    # A window of sqrt(2m) draws holds a coordinate twice in about two cases of three.
    least = max(2, int(np.ceil(np.sqrt(2 * fields["samples"]) / fields["block"])))
    s = int(chooser.integers(least, max(least, 32) + 1))
    scenario = Scenario(
        task=task,
        kernel=kernel,
        unit_rows=not kernel.of_distance,
        s=s,
        iterations=int(chooser.integers(s, 3 * s + 2)),
        start=one_of(chooser, starts),
        **fields,
        **fixed,
    )
    return scenario, one_of(chooser, eighths) / 8
