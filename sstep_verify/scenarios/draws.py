"""Draws of scenarios, by whatever chooses integers.

A PCG64 generator gives the same sequence of problems under every release of every library but NumPy:
where a share of many problems is counted, it must not depend on how Hypothesis explores. Hypothesis shrinks
what fails; for it alternatives are listed simplest first, so that a failing example shrinks towards few
samples, features, steps and ranks, a linear kernel, condition 1, and seed 0; never within the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from sstep_verify.problems.kernels import Kernel, LinearKernel, PolynomialKernel, RBFKernel
from sstep_verify.scenarios.data import SHAPES, condition_levels
from sstep_verify.scenarios.descent import design_diagonal
from sstep_verify.scenarios.scenario import ORDERS, STARTS, Scenario

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

EIGHTHS = (4, 5, 3, 6, 2, 7, 1)
"""Places of C or lambda in their admitted range."""

Value = TypeVar("Value")


class Chooser(Protocol):
    """What draws: a generator of NumPy, or what asks Hypothesis."""

    def integers(self, low: int, high: int | None = None) -> Any:
        """An integer in ``low..high - 1``; with one argument, in ``0..low - 1``."""


def draw_scenario(
    chooser: Chooser,
    task: str,
    kernel: str | Kernel,
    *,
    precision: str = "float64",
    samples: int = 24,
    features: int = 8,
    block: int = 8,
    s: int = 32,
    iterations: int = 40,
    ranks: int = 1,
    scales: Sequence[str] = ("normal", "normal", "small", "large"),
) -> Scenario:
    """Draw any scenario: data of any spectrum, repeated, zero and constant parts, sparse, offset or scaled.

    The kernel is given, or its kind, whose parameters are drawn. Data and parameters are rounded to the
    precision. Sizes are the largest m, >= 2, n, b, s, H and P. Scales are those to choose from; kernel
    parameters and C or lambda do not follow the scale.
    """
    fields = draw_sizes(chooser, task, 2, samples, features, block)
    described = draw_kernel(chooser, kernel) if isinstance(kernel, str) else kernel
    fields |= draw_spectrum(chooser) | _degenerate(chooser, fields, described, scales)
    return Scenario(
        task=task,
        kernel=described,
        s=int(chooser.integers(1, s + 1)),
        iterations=int(chooser.integers(1, iterations + 1)),
        parameter=one_of(chooser, PARAMETERS),
        precision=precision,
        order=one_of(chooser, ORDERS),
        start=one_of(chooser, STARTS),
        positive=one_of(chooser, (0.5, 0.25, 0.05)),
        ranks=int(chooser.integers(1, ranks + 1)),
        **fields,
    )


def draw_balanced_scenario(
    chooser: Chooser,
    task: str,
    kernel: str,
    samples: int,
    s: int,
    starts: Sequence[str] = ("zero", "mixed"),
) -> Scenario:
    """Draw a scenario of prescribed sizes, whatever acts in it: every C K_ii in [0.1, 10] (K-RR: every K_ii
    within a factor 10 of lambda m).

    Data and parameters are rounded to float32, so that both precisions solve the same problem; parameters
    of the kernel are drawn, n <= 8, b <= 8, H in s..3s + 1, and the start vector is one of some.
    """
    while True:
        described = draw_kernel(chooser, kernel)
        fields = draw_sizes(chooser, task, samples, samples) | draw_spectrum(chooser)
        drawn = Scenario(
            task=task,
            kernel=described,
            unit_rows=not described.of_distance,
            s=s,
            iterations=int(chooser.integers(s, 3 * s + 2)),
            start=one_of(chooser, starts),
            **fields,
        )
        scenario = replace(balanced(drawn, one_of(chooser, EIGHTHS) / 8), precision="float32")
        if in_balance(scenario):
            return scenario


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


def one_of(chooser: Chooser, values: Sequence[Value]) -> Value:
    """One of some values."""
    return values[int(chooser.integers(len(values)))]


def draw_kernel(chooser: Chooser, name: str) -> Kernel:
    """A kernel of this name, its parameters drawn."""
    if name == "polynomial":
        return PolynomialKernel(one_of(chooser, DEGREES), one_of(chooser, OFFSETS))
    return RBFKernel(one_of(chooser, SIGMAS)) if name == "rbf" else LinearKernel()


def draw_sizes(
    chooser: Chooser, task: str, fewest: int, samples: int, features: int = 8, block: int = 8
) -> dict[str, Any]:
    """M in `fewest` .. `samples`, n and b up to the given ones, and a seed."""
    m, n = int(chooser.integers(fewest, samples + 1)), int(chooser.integers(1, features + 1))
    b = int(chooser.integers(1, min(m, block) + 1)) if task == "krr" else 1
    return {"samples": m, "features": n, "block": b, "seed": int(chooser.integers(LARGEST_SEED + 1))}


def draw_spectrum(chooser: Chooser) -> dict[str, Any]:
    """Condition and shape of the spectrum of the data."""
    return {"condition": one_of(chooser, CONDITIONS), "spectrum": one_of(chooser, SHAPES)}


def _degenerate(
    chooser: Chooser, sizes: dict[str, Any], kernel: Kernel, scales: Sequence[str]
) -> dict[str, Any]:
    """Repeated, zero and constant parts, a scale, and either sparsity or an offset."""
    fields: dict[str, Any] = {
        "unit_rows": bool(chooser.integers(2)),
        "duplicates": one_of(chooser, FRACTIONS),
        "zero_rows": int(chooser.integers(min(2, sizes["samples"]) + 1)),
        "constant_features": int(chooser.integers(min(2, sizes["features"]) + 1)),
        "density": one_of(chooser, (1.0, 0.5, 0.1)),
        "scale": one_of(chooser, scales),
    }
    if fields["density"] < 1:
        fields["skew"] = one_of(chooser, (0.0, 1.0, 2.0))
    else:
        # Far from the origin only the RBF kernel keeps values of moderate size. Where there is no choice it
        # is made all the same, or another scale would be the simpler one to Hypothesis.
        far = (0.0, 1.0, 1e4, 1e6) if kernel.of_distance else (0.0, 1.0)
        fields["offset"] = one_of(chooser, far if fields["scale"] == "normal" else far[:1])
    return fields
