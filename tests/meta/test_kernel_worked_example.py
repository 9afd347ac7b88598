"""A kernel is one description plus its proofs: a kernel of one's own, added in five places, is judged.

The kernel is ``K(x, z) = <x, z> + weight <x, z>^2``, positive semidefinite as a sum of such. What is
written here between the two lines is all that it takes: nothing in the package is edited.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from daily import crossed
from judged import judged, small_case
from sstep_reference import kernels as reference

from sstep_verify import numerics as judges
from sstep_verify.checks import window_replay
from sstep_verify.checks.recorded import kernel_entries
from sstep_verify.errors import positive
from sstep_verify.oracle.balls import kernel_balls as oracle
from sstep_verify.problems import Hinge, Ridge, SquaredHinge, kernels
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma
from sstep_verify.rounding.kernel import entries as bounds
from sstep_verify.rounding.rows import KernelEntries
from sstep_verify.safety import certify
from sstep_verify.safety.report import beyond
from sstep_verify.solver.panels import panel as production
from sstep_verify.verdict import Status

# ---- 1. The description: name, parameters, facts. --------------------------------------------------------


@dataclass(frozen=True)
class MixedKernel(kernels.Kernel):
    """``K(x, z) = <x, z> + weight <x, z>^2``."""

    weight: float = 1.0
    name: ClassVar[str] = "mixed"

    def __post_init__(self):
        object.__setattr__(self, "weight", positive("mixed kernel", "weight", self.weight))

    @property
    def factors(self) -> int:
        return 2

    def diagonal(self, norms):
        return norms + self.weight * norms**2


# ---- 2. The truth, over any arithmetic. ------------------------------------------------------------------


def truth(arithmetic, table, i, count, given):
    weight = arithmetic.number(given["weight"])
    return [product + weight * product * product for product in arithmetic.products(table, i)[:count]]


# ---- 3. The production solver: in place, after the reduction. --------------------------------------------


class Mixed:
    def __init__(self, weight: float):
        self.weight = weight

    def apply(self, panel, columns, first=0):
        panel *= 1.0 + self.weight * panel


# ---- 4. The oracle's balls. ------------------------------------------------------------------------------


def in_balls(kernel, arguments):
    return [product + kernel.weight * product * product for product in arguments]


# ---- 5. The judges in float64, and their bound. ----------------------------------------------------------


def in_float64(kernel, products, left, right):
    return products + kernel.weight * products**2


def bounded(kernel, inner, declaration):
    """An error e of t moves t + w t^2 by at most |e| (1 + 2 w (|t| + |e|)); four roundings come on top."""
    values = in_float64(kernel, inner.products, None, None)
    largest = inner.absolute + kernel.weight * inner.absolute**2

    def error(kind):
        argument = gamma(kind[2], kind[0]) * inner.absolute + kind[1]
        moved = argument * (1.0 + 2.0 * kernel.weight * (inner.absolute + argument))
        return (moved + gamma(4, kind[0]) * (largest + moved) + 4 * kind[1]) * ROUND_UP

    return KernelEntries(values, error(inner.judge), error(inner.solver)), np.maximum(
        largest, inner.absolute
    )


# ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    kernels.register(MixedKernel)
    reference.FORMULAS["mixed"] = reference.Formula(
        truth, {"weight": 1.0}, lambda given: given["weight"] > 0
    )
    production.kernel_function_of.register(MixedKernel, lambda kernel, samples, norms: Mixed(kernel.weight))
    oracle.values_of.register(MixedKernel, in_balls)
    judges.entries_of.register(MixedKernel, in_float64)
    bounds.entries_of.register(MixedKernel, bounded)
    yield
    # Tables of functools.singledispatch keep a class for good; no other test has one of this type.
    del kernels.KERNELS["mixed"], reference.FORMULAS["mixed"]


LOSSES = [Hinge(1.0), SquaredHinge(1.0), Ridge(0.5)]


def named(one) -> str:
    return getattr(one, "ID", None) or one.task


@pytest.mark.parametrize(
    ("loss", "check"), crossed(LOSSES, [window_replay, kernel_entries], of=2, first=0), ids=named
)
def test_a_kernel_of_ones_own_passes(check, loss):
    kernel = kernels.kernel_from("mixed", weight=0.25, sigma=3.0)
    case, tested = small_case(loss, kernel, block=2 if loss.task == "krr" else 1, samples=16)
    verdicts = judged(check, case, tested)
    assert {verdict.status for verdict in verdicts.values()} == {Status.PASS}


@pytest.mark.parametrize(
    ("loss", "check"), crossed(LOSSES, [window_replay, kernel_entries], of=2, first=1), ids=named
)
def test_a_mistake_in_it_fails(monkeypatch, check, loss):
    monkeypatch.setattr(
        Mixed,
        "apply",
        lambda self, panel, columns, first=0: np.multiply(panel, self.weight * panel, out=panel),
    )
    case, tested = small_case(loss, MixedKernel(0.25), block=2 if loss.task == "krr" else 1, samples=16)
    verdicts = judged(check, case, tested)
    assert Status.FAIL in {verdict.status for verdict in verdicts.values()}


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.task)
def test_its_windows_lose_no_more_than_safe_s_certifies(loss):
    case, _ = small_case(loss, MixedKernel(0.25), samples=16)
    certificate = certify(case.problem, np.full(16, 0.25), most=4)
    assert beyond(certificate) == []
    assert all(point.measured is not None for curve in certificate.curves for point in curve.points)


@pytest.mark.parametrize(
    "table",
    [
        lambda kernel: production.kernel_function_of(kernel, 1, None),
        lambda kernel: oracle.values_of(kernel, []),
        lambda kernel: judges.entries_of(kernel, None, None, None),
        lambda kernel: bounds.entries_of(kernel, None, None),
        production.distance_function_of,
    ],
)
def test_a_room_that_does_not_know_a_kernel_says_so(table):
    class Unknown(kernels.Kernel):
        name: ClassVar[str] = "unknown"

    with pytest.raises(TypeError, match=r"known for .*: add"):
        table(Unknown())


def test_a_kernel_is_named_and_described_by_its_parameters():
    kernel = MixedKernel(0.25)
    assert kernels.identify(kernel) == "mixed,weight=0.25"
    assert kernels.describe(kernel) == "mixed weight=0.25"
