"""Seeded draws of scenarios: the same sequence of problems under every release of every library but NumPy.

`strategies` draws scenarios for Hypothesis, which shrinks what fails; here a PCG64 generator draws them,
where a share of many problems is counted and must not depend on how Hypothesis explores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from sstep_verify.problems.kernels import Kernel, LinearKernel, PolynomialKernel, RBFKernel
from sstep_verify.scenarios.descent import design_diagonal
from sstep_verify.scenarios.fields import ORDERS, STARTS
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.scenarios.spectrum import SHAPES, condition_levels

KERNEL_NAMES = ("linear", "polynomial", "rbf")

CONDITIONS = (
    1.0,
    *condition_levels(),
    *(10.0**exponent for exponent in range(1, 15)),
    condition_levels(2.0**-23)[1],
    condition_levels(2.0**-23)[2],
)
"""Condition numbers: none, LAPACK's levels in float64, a logarithmic grid, LAPACK's levels in float32."""

PARAMETERS = (1.0, 0.1, 10.0, 1e-2, 1e2, 1e-3, 1e3)
DEGREES, OFFSETS, SIGMAS = (2, 3, 4), (0.0, 1.0, 0.5), (1.0, 0.5, 0.1, 2.0)
FRACTIONS = (0.0, 0.25, 0.5, 0.75)
LARGEST_SEED = 2**32 - 1

EIGHTHS, EIGHTHS_CLIPPED = (4, 5, 3, 6, 2, 7, 1), (7, 6)
"""Places of C or lambda in their admitted range; the others for an overlap of a K-SVM-L2.

A step of a K-SVM-L2 is rarely clipped, and so an overlap rarely acts, unless C K_ii is large.
"""

Value = TypeVar("Value")


def draw_scenario(
    generator: np.random.Generator, task: str, kernel: str, *, precision: str = "float64", samples: int = 24
) -> Scenario:
    """Draw any scenario: data of any spectrum, repeated, zero and constant parts, sparse, offset or scaled.

    Parameters
    ----------
    generator : numpy.random.Generator
        Source of the numbers.
    task : {"svm-l1", "svm-l2", "krr"}
        The task.
    kernel : {"linear", "polynomial", "rbf"}
        Kind of kernel; its parameters are drawn.
    precision : {"float64", "float32"}
        Type to which data and parameters are rounded.
    samples : int
        Largest m, >= 2; then n <= 8, b <= 8, s <= 32, H <= 40.

    Returns
    -------
    Scenario
    """
    fields = _sizes(generator, task, 2, samples)
    described = _kernel(generator, kernel)
    fields |= _spectrum(generator) | _degenerate(generator, fields, described)
    return Scenario(
        task=task,
        kernel=described,
        s=int(generator.integers(1, 33)),
        iterations=int(generator.integers(1, 41)),
        parameter=_one_of(generator, PARAMETERS),
        precision=precision,
        order=_one_of(generator, ORDERS),
        start=_one_of(generator, STARTS),
        positive=_one_of(generator, (0.5, 0.25, 0.05)),
        **fields,
    )


def draw_balanced_scenario(
    generator: np.random.Generator,
    task: str,
    kernel: str,
    samples: int,
    s: int,
    starts: Sequence[str] = ("zero", "mixed"),
) -> Scenario:
    """Draw a scenario of prescribed sizes, whatever acts in it: every C K_ii in [0.1, 10] (K-RR: every K_ii
    within a factor 10 of lambda m).

    Data and parameters are rounded to float32, so that both precisions solve the same problem.

    Parameters
    ----------
    generator : numpy.random.Generator
        Source of the numbers.
    task : {"svm-l1", "svm-l2", "krr"}
        The task.
    kernel : {"linear", "polynomial", "rbf"}
        Kind of kernel; its parameters are drawn.
    samples, s : int
        m and the iterations per window; then n <= 8, b <= 8, H in s..3s + 1.
    starts : sequence of str
        Start vectors to choose from.

    Returns
    -------
    Scenario
    """
    while True:
        described = _kernel(generator, kernel)
        fields = _sizes(generator, task, samples, samples) | _spectrum(generator)
        scenario = _balanced_of(generator, task, described, s, starts, EIGHTHS, fields)
        scenario = replace(scenario, precision="float32")
        if in_balance(scenario):
            return scenario


def _balanced_of(
    generator: np.random.Generator,
    task: str,
    kernel: Kernel,
    s: int,
    starts: Sequence[str],
    eighths: Sequence[int],
    fields: dict[str, Any],
) -> Scenario:
    """A scenario with the parameter somewhere in its admitted range, where it has one."""
    scenario = Scenario(
        task=task,
        kernel=kernel,
        unit_rows=not kernel.of_distance,
        s=s,
        iterations=int(generator.integers(s, 3 * s + 2)),
        start=_one_of(generator, starts),
        **fields,
    )
    return balanced(scenario, _one_of(generator, eighths) / 8)


def balanced(scenario: Scenario, place: float) -> Scenario:
    """The scenario with C or lambda at `place` (0..1) of its admitted range, on a logarithmic scale."""
    diagonal = design_diagonal(scenario.problem())
    if not diagonal.all():
        return scenario
    if scenario.task == "krr":
        low, high = diagonal.max() / 10 / scenario.samples, diagonal.min() * 10 / scenario.samples
    else:
        low, high = 0.1 / diagonal.min(), 10 / diagonal.max()
    return replace(scenario, parameter=float(low * (high / low) ** place))


def in_balance(scenario: Scenario) -> bool:
    """True if every C K_ii lies in [0.1, 10], or every K_ii within a factor 10 of lambda m."""
    diagonal = design_diagonal(scenario.problem())
    ratios = diagonal * scenario.parameter
    if scenario.task == "krr":
        ratios = diagonal / (scenario.parameter * scenario.samples)
    return bool((ratios >= 0.1).all() and (ratios <= 10).all())


def _one_of(generator: np.random.Generator, values: Sequence[Value]) -> Value:
    return values[int(generator.integers(len(values)))]


def _kernel(generator: np.random.Generator, name: str) -> Kernel:
    if name == "polynomial":
        return PolynomialKernel(_one_of(generator, DEGREES), _one_of(generator, OFFSETS))
    return RBFKernel(_one_of(generator, SIGMAS)) if name == "rbf" else LinearKernel()


def _sizes(generator: np.random.Generator, task: str, least: int, largest: int) -> dict[str, Any]:
    samples, features = int(generator.integers(least, largest + 1)), int(generator.integers(1, 9))
    block = int(generator.integers(1, min(samples, 8) + 1)) if task == "krr" else 1
    seed = int(generator.integers(LARGEST_SEED + 1))
    return {"samples": samples, "features": features, "block": block, "seed": seed}


def _spectrum(generator: np.random.Generator) -> dict[str, Any]:
    return {"condition": _one_of(generator, CONDITIONS), "spectrum": _one_of(generator, SHAPES)}


def _degenerate(generator: np.random.Generator, sizes: dict[str, Any], kernel: Kernel) -> dict[str, Any]:
    """Repeated, zero and constant parts, a scale, and either sparsity or an offset."""
    fields: dict[str, Any] = {
        "unit_rows": bool(generator.integers(2)),
        "duplicates": _one_of(generator, FRACTIONS),
        "zero_rows": int(generator.integers(min(2, sizes["samples"]) + 1)),
        "constant_features": int(generator.integers(min(2, sizes["features"]) + 1)),
        "density": _one_of(generator, (1.0, 0.5, 0.1)),
        "scale": _one_of(generator, ("normal", "normal", "small", "large")),
    }
    if fields["density"] < 1:
        fields["skew"] = _one_of(generator, (0.0, 1.0, 2.0))
    elif fields["scale"] == "normal":
        # Far from the origin only the RBF kernel keeps values of moderate size.
        far = (0.0, 1.0, 1e4, 1e6) if kernel.of_distance else (0.0, 1.0)
        fields["offset"] = _one_of(generator, far)
    return fields
