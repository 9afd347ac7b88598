"""Scenarios drawn until given terms act in one."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from sstep_verify.scenarios.descent import acting_terms
from sstep_verify.scenarios.draws import (
    EIGHTHS,
    EIGHTHS_CLIPPED,
    KERNEL_NAMES,
    _balanced_of,
    _kernel,
    _one_of,
    _sizes,
    _spectrum,
    in_balance,
)
from sstep_verify.scenarios.scenario import Scenario


def acts(scenario: Scenario, terms: Collection[str] = ("kernel-correction", "overlap")) -> bool:
    """True if the scenario is balanced, has an overlap, and each of the terms has an effect."""
    if not (scenario.overlaps and in_balance(scenario)):
        return False
    return set(terms) <= acting_terms(scenario.problem(), scenario.stream(), scenario.s, scenario.initial())


def draw_acting_scenario(
    generator: np.random.Generator, task: str, terms: Collection[str], starts: Sequence[str] = ("zero",)
) -> Scenario:
    """Draw scenarios until each of `terms` acts in one.

    As `scenario_strategies.acting_scenarios`: m <= 64, n <= 8, b <= 8; every C K_ii in [0.1, 10] (K-RR: every K_ii
    within a factor 10 of lambda m); some window draws a coordinate twice; a relative
    change of each term shows at the end of some window, by 1 % of it at least (`descent.acting_terms`).

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
    eighths = EIGHTHS_CLIPPED if task == "svm-l2" and "overlap" in terms else EIGHTHS
    while True:
        kernel = _kernel(generator, _one_of(generator, KERNEL_NAMES))
        fields = _sizes(generator, task, 4, 64) | _spectrum(generator)
        # A window of sqrt(2m) draws holds a coordinate twice in about two cases of three.
        least = max(2, int(np.ceil(np.sqrt(2 * fields["samples"]) / fields["block"])))
        s = int(generator.integers(least, max(least, 32) + 1))
        scenario = _balanced_of(generator, task, kernel, s, starts, eighths, fields)
        if acts(scenario, terms):
            return scenario
