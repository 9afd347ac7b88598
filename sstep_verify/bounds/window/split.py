"""The bound of a window as a sum of named sources of error.

What the errors of the solver's kernel entries (delta_K) contribute is what the bound loses if they are set
to 0. The rest is a norm of local errors, each a sum over sources, carried to the window's end by maps that
the sources hardly move. So it is homogeneous of degree one in the sizes of the sources, up to products of
two errors, and by Euler's theorem the sum of its derivatives times these sizes. Every source is made larger
by a factor of ``1 + h``, h = 2**-20: small enough that no clip is decided otherwise, large enough that
float64 keeps 30 bits of the difference. What the named sources leave is shown as well. The M-norm of K-RR
is a sum over steps, of which each is shared out by what its numerator is the sum of.

Nothing is judged by these numbers: they say where a bound comes from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sstep_verify.bounds.window.ridge import RidgeWindowErrors, ridge_component_bound, ridge_window_errors
from sstep_verify.bounds.window.svm import svm_window_bound
from sstep_verify.declaration import Declaration
from sstep_verify.problems.losses import Dual
from sstep_verify.quantities import RidgeSteps, SvmSteps
from sstep_verify.rounding.arithmetic import norm
from sstep_verify.rounding.block.local import StepErrors
from sstep_verify.rounding.block.repeats import growth
from sstep_verify.rounding.kernel.entries import KernelEntries

CHANGE = 2.0**-20

KERNEL = "kernel entries (delta_K)"
STALE = "product of the kernel rows with a (Qa)"
CORRECTIONS = "correction sums"
ACCUMULATION = "sums of increments (a frozen over the window)"
REST_SVM = "constant, shift, curvature, division, subtraction, storing"
RESIDUAL = "right-hand side: product with a, corrections, targets"
SYSTEM = "entries of the block systems"
SOLVE = "factorisation and solve of the block systems"
STORING = "storing a"
REST_RIDGE = "errors of the bound's own evaluation"

FACTOR = {STALE: "stale", CORRECTIONS: "corrections", ACCUMULATION: "accumulation"}
"""Sources that can be made larger."""


@np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")
def svm_window_split(
    entries: KernelEntries,
    places: np.ndarray,
    start: np.ndarray,
    steps: SvmSteps,
    dual: Dual,
    declaration: Declaration,
) -> dict[str, np.ndarray]:
    """Share out `sstep_verify.bounds.window.svm.svm_window_bound`, whose parameters these are.

    Returns
    -------
    dict of str to ndarray, shape (c,)
        Contribution of each source to the radius of each distinct coordinate; empty if one is infinite.
    """

    def radius(source: str, rows: KernelEntries) -> np.ndarray:
        larger = {FACTOR[source]: 1.0 + CHANGE} if source else None
        return svm_window_bound(rows, places, start, steps, dual, declaration, emphasis=larger).radius

    whole, exact = radius("", entries), _with_exact_entries(entries)
    if not np.isfinite(whole).all():
        return {}
    recurrence = radius("", exact)
    named = [STALE, CORRECTIONS, *([ACCUMULATION] if declaration.update == "frozen" else [])]
    parts = {source: (radius(source, exact) - recurrence) / CHANGE for source in named}
    rest = recurrence - np.sum(list(parts.values()), axis=0)
    return {KERNEL: whole - recurrence, **parts, REST_SVM: rest}


def _with_exact_entries(entries: KernelEntries) -> KernelEntries:
    return replace(entries, solver_error=np.zeros_like(entries.solver_error))


def ridge_window_split(
    entries: KernelEntries,
    places: np.ndarray,
    start: np.ndarray,
    targets: np.ndarray,
    steps: RidgeSteps,
    penalty: float,
    declaration: Declaration,
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Share out `sstep_verify.bounds.window.ridge.ridge_window_errors`, whose parameters these are.

    Returns
    -------
    norm : dict of str to float
        Contribution of each source to the bound in the M-norm; empty if it is infinite.
    components : dict of str to ndarray, shape (c,)
        The same for the bound per distinct coordinate; empty where there is none.
    """
    rest, exact = (places, start, targets, steps, penalty, declaration), _with_exact_entries(entries)
    errors, recurrence = ridge_window_errors(entries, *rest), ridge_window_errors(exact, *rest)
    if not np.isfinite(errors.norm):
        return {}, {}
    norm = {KERNEL: errors.norm - recurrence.norm, **_norm_split(recurrence)}
    whole, part = (ridge_component_bound(entries, places, one, penalty) for one in (errors, recurrence))
    if whole is None or part is None:
        return norm, {}
    return norm, {KERNEL: whole - part, **_component_split(entries, places, recurrence, penalty, part)}


def _norm_split(errors: RidgeWindowErrors) -> dict[str, float]:
    """Contributions to the M-norm: the length of each step by what its numerator is the sum of."""
    parts = dict.fromkeys((RESIDUAL, SYSTEM, SOLVE), 0.0)
    for step in errors.steps:
        residual, given = norm(step.residual), norm(step.entries)
        changed, share = given + step.solve, np.sqrt(step.most)
        parts = {source: growth(step.most) * part for source, part in parts.items()}
        whole = share * step.length * np.sqrt(step.modulus)
        of_residual = share * residual / (np.sqrt(step.modulus) * (1.0 - changed / step.modulus))
        parts[RESIDUAL] += of_residual
        parts[SYSTEM] += (whole - of_residual) * (given / changed if changed else 0.0)
        parts[SOLVE] += (whole - of_residual) * (step.solve / changed if changed else 0.0)
    return {**parts, STORING: errors.norm - sum(parts.values())}


def _component_split(
    entries: KernelEntries, places: np.ndarray, errors: RidgeWindowErrors, penalty: float, whole: np.ndarray
) -> dict[str, np.ndarray]:
    """Contributions to the bound per coordinate, which is linear in the local errors."""

    def contribution(change: Callable[[StepErrors], dict[str, Any]]) -> np.ndarray:
        larger = replace(errors, steps=[replace(step, **change(step)) for step in errors.steps])
        bound = ridge_component_bound(entries, places, larger, penalty)
        return np.zeros(places.size) if bound is None else (bound - whole) / CHANGE

    more = 1.0 + CHANGE
    parts = {
        RESIDUAL: contribution(lambda step: {"residual": step.residual * more}),
        SYSTEM: contribution(lambda step: {"entries": step.entries * more}),
        SOLVE: contribution(lambda step: {"solve": step.solve * more}),
        STORING: contribution(lambda step: {"rounding": step.rounding * more}) + errors.accumulation_error,
    }
    return {**parts, REST_RIDGE: whole - np.sum(list(parts.values()), axis=0)}
