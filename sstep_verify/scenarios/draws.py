"""Draws of scenarios, by whatever chooses integers.

A PCG64 generator gives the same sequence of problems under every release of every library but NumPy:
where a share of many problems is counted, it must not depend on how Hypothesis explores. Hypothesis shrinks
what fails; for it alternatives are listed simplest first, so that a failing example shrinks towards few
samples, features, steps and ranks, a linear kernel, condition 1, and seed 0; never within the data.

Edge families are not drawn: scenarios at the ends of what the recurrences must handle, by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from sstep_verify.errors import InputError
from sstep_verify.problems.kernels import Kernel, LinearKernel, PolynomialKernel, RBFKernel
from sstep_verify.problems.losses import TASKS
from sstep_verify.scenarios.data import SHAPES, condition_levels
from sstep_verify.scenarios.descent import design_diagonal
from sstep_verify.scenarios.numbers import ORDERS, STARTS
from sstep_verify.scenarios.scenario import Scenario

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

    Data are rounded to the precision; the family is one of `FAMILIES`, else that is an InputError.
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
