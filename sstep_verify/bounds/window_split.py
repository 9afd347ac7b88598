"""The bound of a window as a sum of named sources of error.

A window bound is a norm of local errors, each a sum over sources, carried to the window's end by maps that
the sources hardly move. So it is homogeneous of degree one in the sizes of the sources, up to products of
two errors, and by Euler's theorem the sum of its derivatives times these sizes. Every source is made larger
by a factor of ``1 + h``, h = 2**-20: small enough that no clip is decided otherwise, large enough that
float64 keeps 30 bits of the difference. What the named sources leave is shown as the rest. K-RR in the
M-norm is a sum over steps, of which each is shared out as its norm is.

Nothing is judged by these numbers: they say where a bound comes from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sstep_verify.bounds.kernel_entries import KernelEntries
from sstep_verify.bounds.ridge_local import RidgeSteps
from sstep_verify.bounds.window_ridge import RidgeWindowErrors, ridge_window_errors
from sstep_verify.bounds.window_ridge_components import ridge_component_bound
from sstep_verify.bounds.window_svm import SvmPropagation, SvmSteps, WindowBound
from sstep_verify.solver import Declaration

CHANGE = 2.0**-20

KERNEL = "kernel entries (delta_K)"
STALE = "product of the kernel rows with a (Qa)"
CORRECTIONS = "correction sums"
LANDING = "sums of increments (a frozen over the window)"
REST_SVM = "constant, shift, curvature, division, subtraction, storing"
RESIDUAL = "right-hand side: product with a, corrections, targets"
SYSTEM = "entries of the block systems"
SOLVE = "factorisation and solve of the block systems"
STORING = "storing a"
REST_RIDGE = "products of two errors"


def svm_window_split(
    entries: KernelEntries,
    places: np.ndarray,
    start: np.ndarray,
    steps: SvmSteps,
    shift: float,
    upper: float,
    declaration: Declaration,
) -> dict[str, np.ndarray]:
    """Share out `sstep_verify.bounds.window_svm.svm_window_bound`, whose parameters these are.

    Returns
    -------
    dict of str to ndarray, shape (c,)
        Contribution of each source to the radius of each distinct coordinate; empty if it is infinite.
    """

    def bound(source: str) -> WindowBound:
        state = _OneSource(source, entries, places, start, steps, shift, upper, declaration)
        for step in range(steps.draws.size):
            state.advance(step)
        return state.result()

    whole = bound("").radius
    if not np.isfinite(whole).all():
        return {}
    named = [KERNEL, STALE, CORRECTIONS, *([LANDING] if declaration.update == "frozen" else [])]
    parts = {source: (bound(source).radius - whole) / CHANGE for source in named}
    return {**parts, REST_SVM: whole - np.sum(list(parts.values()), axis=0)}


class _OneSource(SvmPropagation):
    """The propagation with one source made larger."""

    def __init__(self, source: str, *arguments):
        super().__init__(*arguments)
        self._source, more = source, 1.0 + CHANGE
        if self._unbounded:
            return
        if source == KERNEL:
            self._stale_kernel, self._solver = self._stale_kernel * more, self._solver * more
        if source == STALE:
            self._stale = self._stale * more

    def _local(self, *arguments) -> float:
        kept = self._moved
        if self._source == CORRECTIONS:
            self._moved = kept * (1.0 + CHANGE)
        try:
            return super()._local(*arguments)
        finally:
            self._moved = kept

    def _landing(self, i: int) -> float:
        return super()._landing(i) * (1.0 + CHANGE if self._source == LANDING else 1.0)


def ridge_window_split(
    entries: KernelEntries,
    places: np.ndarray,
    start: np.ndarray,
    targets: np.ndarray,
    steps: RidgeSteps,
    penalty: float,
    declaration: Declaration,
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Share out `sstep_verify.bounds.window_ridge.ridge_window_errors`, whose parameters these are.

    Returns
    -------
    norm : dict of str to float
        Contribution of each source to the bound in the M-norm; empty if it is infinite.
    components : dict of str to ndarray, shape (c,)
        The same for the bound per distinct coordinate; empty where there is none.
    """
    rest = (places, start, targets, steps, penalty, declaration)
    errors = ridge_window_errors(entries, *rest)
    # The local errors are linear in the bounds on the solver's entries.
    more = KernelEntries(entries.values, entries.own, entries.solver * (1.0 + CHANGE))
    larger = ridge_window_errors(more, *rest)
    if not np.isfinite(errors.norm) or not np.isfinite(larger.norm):
        return {}, {}
    kernel = [
        ((after.residual - before.residual) / CHANGE, (after.entries - before.entries) / CHANGE)
        for before, after in zip(errors.steps, larger.steps, strict=True)
    ]
    return _norm_split(errors, kernel), _component_split(entries, places, errors, kernel, penalty)


def _norm_split(errors: RidgeWindowErrors, kernel: list) -> dict[str, float]:
    """Contributions to the M-norm: ``root * length`` of each step by what its numerator is made of."""
    parts = dict.fromkeys((KERNEL, RESIDUAL, SYSTEM, SOLVE), 0.0)
    for step, (residual, system) in zip(errors.steps, kernel, strict=True):
        of_residual = float(np.linalg.norm(step.residual))
        given = float(np.linalg.norm(step.entries))
        shrink = 1.0 - (given + step.solve) / step.modulus
        scale = np.sqrt(step.modulus) / (step.modulus * shrink)
        of_system = max(step.length * step.modulus * shrink - of_residual, 0.0)
        from_kernel = float(residual @ step.residual) / of_residual if of_residual else 0.0
        share = float(np.sum(system * step.entries)) / given**2 if given else 0.0
        of_entries = of_system * given / (given + step.solve) if given + step.solve else 0.0
        parts[KERNEL] += scale * (from_kernel + share * of_entries)
        parts[RESIDUAL] += scale * (of_residual - from_kernel)
        parts[SYSTEM] += scale * (1.0 - share) * of_entries
        parts[SOLVE] += scale * (of_system - of_entries)
    return {**parts, STORING: errors.norm - sum(parts.values())}


def _component_split(
    entries: KernelEntries, places: np.ndarray, errors: RidgeWindowErrors, kernel: list, penalty: float
) -> dict[str, np.ndarray]:
    whole = ridge_component_bound(entries, places, errors, penalty)
    if whole is None:
        return {}

    pairs = list(zip(errors.steps, kernel, strict=True))

    def contribution(change: Callable[..., dict[str, Any]]) -> np.ndarray:
        """What changing some bounds of every step, by CHANGE times a source, adds to the radii."""
        changed = [replace(step, **change(step, *part)) for step, part in pairs]
        bound = ridge_component_bound(entries, places, replace(errors, steps=changed), penalty)
        return np.zeros(places.size) if bound is None else (bound - whole) / CHANGE

    parts = {
        KERNEL: contribution(
            lambda step, residual, system: {
                "residual": step.residual + CHANGE * residual,
                "entries": step.entries + CHANGE * system,
            }
        ),
        RESIDUAL: contribution(
            lambda step, residual, _: {"residual": step.residual + CHANGE * (step.residual - residual)}
        ),
        SYSTEM: contribution(
            lambda step, _, system: {"entries": step.entries + CHANGE * (step.entries - system)}
        ),
        SOLVE: contribution(lambda step, *_: {"solve": step.solve * (1.0 + CHANGE)}),
        STORING: errors.landing
        + contribution(lambda step, *_: {"rounding": step.rounding * (1.0 + CHANGE)}),
    }
    return {**parts, REST_RIDGE: whole - np.sum(list(parts.values()), axis=0)}
