"""How far any correct solver may end from the exact trajectory of a vector, whatever it declares.

Bound C (bounds/window/svm.py, ridge.py) is computed for what a solver declares. A vector is for solvers
that declare nothing, so its bound is the largest of all forms that the bounds know:

* a step changes a in place, by an added increment, or at the end of its window;
* products are formed from kernel entries or, with the linear kernel, from the samples; in float64 also from
  weights that are carried from the start;
* RBF by norm expansion or by differences, powers by multiplication or pow, exp and pow within 4 ulps: the
  largest error of each kernel entry;
* increments summed per coordinate or not; block systems by Cholesky, LDL' or LU with pivoting.

Bounds are distances from the oracle's run, whose own distance from the exact trajectory is added. In the
M-norm of K-RR, ``|d_i| <= ||d||_M / sqrt(m)`` since M >= m I; a coordinate not drawn yet has not moved.
What is compared is the float64 number nearest to the exact value, which is added as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from sstep_verify.bounds.carried_run import carried_weights
from sstep_verify.bounds.window import TrajectoryBound
from sstep_verify.bounds.window.ridge import ridge_trajectory_bound
from sstep_verify.bounds.window.svm import svm_trajectory_bound
from sstep_verify.declaration import KNOWN, Declaration, Precision
from sstep_verify.oracle.trajectories import EnclosedTrajectory
from sstep_verify.problems import Problem
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.arithmetic import OUTWARD
from sstep_verify.rounding.kernel.bounded import KernelEntries
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.steps import SvmSteps


def covered(problem: Problem, precision: Precision) -> Iterator[Declaration]:
    """All declarations whose bounds differ, their kernel entries apart."""
    carried = problem.kernel.linear and precision == "float64"
    freedoms: dict[str, tuple[Any, ...]] = {"state": ((), ("weights",)) if carried else ((),)}
    if problem.is_svm:
        freedoms["update"] = KNOWN["update"]
    else:
        # A K-RR step has no new value: in-place and added are the same.
        freedoms["update"] = tuple(kind for kind in KNOWN["update"] if kind != "added")
        freedoms |= {name: KNOWN[name] for name in ("increments", "factorisation")}
    for values in product(*freedoms.values()):
        yield Declaration("any", precision=precision, **dict(zip(freedoms, values, strict=True)))


def any_entries(problem: Problem, precision: Precision, places: np.ndarray) -> KernelEntries:
    """Kernel rows of some coordinates, with the largest error that any of the formulas may leave."""
    forms: Any = product(KNOWN["rbf"], KNOWN["power"])
    formulas = [
        kernel_entries(problem, Declaration("any", precision=precision, rbf=rbf, power=power), places)
        for rbf, power in forms
    ]
    return replace(formulas[0], solver_error=np.max([entries.solver_error for entries in formulas], axis=0))


def trajectory_bounds(
    request: RunRequest, exact: EnclosedTrajectory, declaration: Declaration, entries: KernelEntries
) -> dict[int, TrajectoryBound]:
    """Bound C of one declaration at all ends of windows."""
    problem, start = request.problem, request.first
    carried = carried_weights(problem, declaration, exact.places, start)
    if isinstance(exact.steps, SvmSteps):
        return svm_trajectory_bound(
            entries, exact.places, start, exact.steps, exact.errors, request.s, request.stops,
            problem.dual, declaration, carried,
        )  # fmt: skip
    return ridge_trajectory_bound(
        entries, exact.places, start, problem.targets, exact.steps, exact.errors, request.s, request.stops,
        problem.ridge.penalty, declaration, carried,
    )  # fmt: skip


def allowed(
    request: RunRequest,
    exact: EnclosedTrajectory,
    precision: Precision,
    apart: dict[int, tuple[np.ndarray, float]],
) -> dict[int, np.ndarray]:
    """Bounds of any correct solver, by window end.

    Parameters
    ----------
    request : RunRequest
        The run.
    exact : EnclosedTrajectory
        The oracle's run, from the same a0.
    precision : {"float64", "float32"}
        Precision of the solver.
    apart : dict of int to (ndarray of shape (m,), float)
        Distance of the oracle's a from the exact one, and with it that of the number that is compared, per
        coordinate; the former in the M-norm (K-RR; 0 for a K-SVM).

    Returns
    -------
    dict of int to ndarray, shape (m + 1,)
        From 0 to H: of each coordinate, and in the M-norm (K-RR; 0 for a K-SVM); infinite where nothing can
        be promised.
    """
    problem = request.problem
    entries = any_entries(problem, precision, exact.places)
    every = [
        trajectory_bounds(request, exact, declaration, entries)
        for declaration in covered(problem, precision)
    ]
    ends = {0: np.append(apart[0][0], 0.0)}
    for end in request.stops[1:]:
        radius = np.max([bounds[end].radius for bounds in every], axis=0)
        (single, norm), moved = apart[end], np.zeros(problem.samples)
        if problem.is_svm:
            moved[exact.places] = radius
        else:
            drawn = np.unique(request.stream.blocks(request.start, request.start + end))
            moved[drawn] = float(radius[0]) / np.sqrt(problem.samples) * OUTWARD
            norm = (float(radius[0]) + norm) * OUTWARD
        ends[end] = np.append((moved + single) * OUTWARD, norm)
    return ends
