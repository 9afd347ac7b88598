"""Edge families: scenarios at the ends of what the recurrences must handle, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sstep_verify.errors import InputError
from sstep_verify.problems.kernels import Kernel, LinearKernel, PolynomialKernel, RBFKernel
from sstep_verify.problems.losses import TASKS
from sstep_verify.scenarios.scenario import Scenario

KERNELS: tuple[Kernel, ...] = (LinearKernel(), PolynomialKernel(3, 1.0), RBFKernel(0.5))
_RBF = (RBFKernel(1.0),)
_BASE: dict[str, Any] = {"samples": 12, "features": 4, "s": 8, "iterations": 20, "condition": 10.0}

_FAMILIES: dict[str, list[dict[str, Any]]] = {
    "window-beyond-run": [{"s": 32, "iterations": 5}],
    "classical": [{"s": 1}],
    "one-coordinate": [{"block": 1}],
    "whole-block": [{"block": 12, "s": 2, "iterations": 5}],
    "window-beyond-samples": [{"samples": 6, "s": 16, "iterations": 40}],
    "duplicates": [{"duplicates": 0.5}],
    "constant-features": [{"constant_features": 1}, {"constant_features": 4}],
    "zero-rows": [{"zero_rows": 3}, {"zero_rows": 12}],
    "bound-at-curvature": [{"parameter": 1.0}],
    "tiny-scale": [{"scale": "small"}, {"scale": "near-underflow"}],
    "huge-scale": [{"scale": "large"}, {"scale": "near-overflow"}],
    "offset": [{"offset": 1e4}, {"offset": 1e6}],
    "near-converged": [{"start": "near"}],
}
"""Changes to the base scenario, per family."""

_TASKS_OF: dict[str, tuple[str, ...]] = {
    "one-coordinate": ("krr",),
    "whole-block": ("krr",),
    "bound-at-curvature": ("svm-l1",),
}
_KERNELS_OF: dict[str, tuple[Kernel, ...]] = {
    "bound-at-curvature": _RBF,
    "offset": _RBF,
    # Without features in common with others, only these have K_ii = 0 where a sample is zero.
    "zero-rows": (LinearKernel(), PolynomialKernel(3, 0.0)),
}

FAMILIES = tuple(_FAMILIES)
"""Names of the edge families."""


def edge_scenarios(family: str, *, precision: str = "float64", seed: int = 0) -> tuple[Scenario, ...]:
    """All scenarios of one edge family: each of its changes, for each task and kernel it applies to.

    * window-beyond-run: s > H. classical: s = 1. one-coordinate: b = 1. whole-block: b = m.
    * window-beyond-samples: s b > m, so every full window has overlaps.
    * duplicates: half of the samples are copies, with labels of their own.
    * constant-features: one, or all (every sample equal).
    * zero-rows: a quarter of the samples, or all; K_ii = 0, so eta = 0 for K-SVM-L1.
    * bound-at-curvature: C = 1 = K_ii (RBF), so steps end on the box by exact ties.
    * tiny-scale, huge-scale: moderate, and at the ends of the exponent range; kernel parameters and C or
      lambda follow the scale (`compensated`).
    * offset: RBF data far from the origin (1e4, 1e6), where norm expansion cancels.
    * near-converged: starts close to the optimum.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    precision : {"float64", "float32"}
        Type to which data are rounded.
    seed : int
        Seed of every scenario.

    Raises
    ------
    InputError
        If the family is unknown.
    """
    if family not in _FAMILIES:
        raise InputError(f"edge family {family!r} is unknown; known: {', '.join(FAMILIES)}")
    scenarios = []
    for task in _TASKS_OF.get(family, TASKS):
        own = {"block": 3, "parameter": 0.25} if task == "krr" else {"parameter": 2.0}
        for kernel in _KERNELS_OF.get(family, KERNELS):
            for changes in _FAMILIES[family]:
                fields = {**_BASE, **own, **changes, "precision": precision, "seed": seed}
                scenarios.append(compensated(Scenario(task=task, kernel=kernel, **fields)))
    return tuple(scenarios)


def compensated(scenario: Scenario) -> Scenario:
    """The scenario with kernel parameters and C or lambda moved along with its scale, by powers of two.

    The problem is then the one at scale "normal" in other units: RBF values are the same, others are
    multiplied by one power of two, C is divided by it and lambda multiplied.
    """
    kernel, exponent = scenario.kernel.scaled(scenario.data_exponent)
    change = 2.0**exponent if scenario.task == "krr" else 2.0**-exponent
    return replace(scenario, kernel=kernel, parameter=scenario.parameter * change)
