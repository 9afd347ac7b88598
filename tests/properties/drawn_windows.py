"""Problems with two windows of a stream, drawn, and the window bound held against a run of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import event
from hypothesis import strategies as st
from sstep_reference.arithmetic import Balls

from sstep_verify.bounds.window.ridge import ridge_window_errors
from sstep_verify.bounds.window.svm import svm_window_bound
from sstep_verify.declaration import Declaration
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.oracle.replay import replay_window
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.rounding.kernel.entries import kernel_entries

TASKS = ("svm-l1", "svm-l2", "krr")
EXPONENTS = st.integers(-3, 3)


@dataclass(frozen=True)
class DrawnStream:
    """An index stream of given blocks, shape (H, b)."""

    drawn: np.ndarray
    samples: int

    @property
    def block(self) -> int:
        return self.drawn.shape[1]

    @property
    def length(self) -> int:
        return self.drawn.shape[0]

    def blocks(self, begin: int, end: int) -> np.ndarray:
        return self.drawn[begin:end]


@dataclass(frozen=True)
class Scenario:
    """One problem with a stream of one full and one (mostly shorter) last window."""

    problem: Problem
    stream: DrawnStream
    initial: np.ndarray
    s: int
    seed: int

    @property
    def windows(self) -> list[tuple[int, int]]:
        return [(0, self.s), (self.s, self.stream.length)]

    def drawn(self, window: tuple[int, int]) -> np.ndarray:
        drawn = self.stream.blocks(*window)
        return drawn.ravel() if self.problem.is_svm else drawn


def single(values):
    """Round to float32, so that a scenario is exact input to runs of either precision."""
    return np.float64(np.float32(values))


def drawn_data(draw, rng: np.random.Generator, m: int, n: int, scale: float) -> np.ndarray:
    data = rng.standard_normal((m, n)) * scale
    if draw(st.booleans(), label="many zeros"):
        data[rng.random((m, n)) < 0.5] = 0.0
    if draw(st.booleans(), label="samples of different sizes"):
        data *= 10.0 ** rng.integers(-1, 2, size=(m, 1))
    if draw(st.booleans(), label="duplicate"):
        data[-1] = data[0]
    if draw(st.booleans(), label="zero row"):
        data[m // 2] = 0.0
    return single(data)


@st.composite
def scenarios(draw, task: str):
    """Hypothesis draws the structure and every parameter; a drawn seed fills in the numbers."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    m, n = draw(st.integers(2, 24)), draw(st.integers(1, 8))
    scale = 10.0 ** draw(EXPONENTS, label="log10 scale")
    sigma = 10.0 ** draw(EXPONENTS) / (scale**2 if draw(st.booleans()) else 1.0)
    degree, offset = draw(st.integers(2, 4)), draw(st.sampled_from([0.0, 0.5, 1.0]))
    kernels = (LinearKernel(), PolynomialKernel(degree, offset), RBFKernel(float(single(sigma))))
    kernel = draw(st.sampled_from(kernels))
    parameter = float(single(10.0 ** draw(EXPONENTS, label="log10 C or lambda")))
    loss = {"svm-l1": Hinge, "svm-l2": SquaredHinge, "krr": Ridge}[task](parameter)
    data = drawn_data(draw, rng, m, n, scale)
    if task == "krr":
        targets = single(rng.standard_normal(m) * 10.0 ** draw(EXPONENTS))
        warm = rng.standard_normal(m) * 10.0 ** draw(EXPONENTS)
    else:
        targets = rng.choice([-1.0, 1.0], size=m)
        warm = parameter * rng.choice([0.0, 1.0, 0.37], size=m)
    initial = single(warm) if draw(st.booleans(), label="warm start") else np.zeros(m)
    b = draw(st.integers(1, min(m, 8))) if task == "krr" else 1
    s = draw(st.integers(1, 32))
    pool = draw(st.integers(b, m), label="coordinates in use")
    length = s + draw(st.integers(1, s))
    blocks = np.array([rng.permutation(pool)[:b] for _ in range(length)], dtype=np.int64)
    problem = Problem("drawn", data, targets, kernel, loss)
    return Scenario(problem, DrawnStream(blocks, m), initial, s, seed)


def replayed(scenario: Scenario, declaration: Declaration, window, begin, end, exact):
    """Replay of one window, and the bound on its error, shape as measured."""
    problem = scenario.problem
    measured = replay_window(problem, exact, begin, end, scenario.stream.blocks(*window))
    entries = kernel_entries(problem, declaration, measured.places)
    if problem.is_svm:
        bound = svm_window_bound(
            entries,
            measured.places,
            begin,
            measured.steps,
            problem.dual,
            declaration,
        )
        return measured, bound.radius
    arguments = (problem.targets, measured.steps, problem.loss.penalty, declaration)
    return measured, np.array([ridge_window_errors(entries, measured.places, begin, *arguments).norm])


def balls_for(scenario: Scenario) -> Balls:
    return Balls(256 + 8 * scenario.s)


def hold_the_bound(
    scenario: Scenario, declaration: Declaration, states: list[np.ndarray], ratios: list
) -> None:
    """Assert measured <= bound in every window of a run given by its a at the window ends."""
    exact = exact_kernel(scenario.problem, balls_for(scenario))
    for window, begin, end in zip(scenario.windows, states[:-1], states[1:], strict=True):
        finite = np.isfinite(end).all()
        measured, bound = replayed(scenario, declaration, window, begin, end if finite else begin, exact)
        assert not np.isnan(bound).any()
        if not finite:  # a factorisation that breaks down may do so only where nothing is promised
            assert np.isinf(bound).all()
            return
        assert (measured.upper <= bound).all(), (measured.upper, bound)
        # A bound of zero must be met exactly, which the comparison above has shown.
        promised = np.isfinite(bound) & (bound > 0)
        ratios.append(float(np.max(measured.upper[promised] / bound[promised], initial=0.0)))
        event("bound finite" if np.isfinite(bound).all() else "bound infinite")


def summary(name: str, ratios: list, planned: int) -> None:
    """Print the distribution of ratios, and fail if too few windows were judged."""
    print(f"{name}: {len(ratios)} windows, ratio max {max(ratios):.3g}, median {np.median(ratios):.3g}")
    assert len(ratios) >= planned
    # A bound that no run comes near would pass whatever is wrong.
    assert max(ratios) > 1e-4
