"""Bounds B and C for K-RR: how far a window, or a run, of any correct implementation may end from exact.

An exact block step is an M-orthogonal projection of the error, M = K/lambda + m I, so an error already
made cannot grow in the M-norm ``||e||_M = sqrt(e'Me)`` and the bound is the sum of the local errors:
``||a^ - a||_M <= sum_j ||l_j||_M``.

Local error of a block step. The computed increment D^ solves ``(G + dG) D^ = r + dr`` with the block
system ``G = K_BB/lambda + m I`` and the residual r at the solver's own iterate, so
``G l = dr - dG D^``. K is positive semidefinite (it is a Gram matrix, exactly), so G >= mu I with mu = m
or a larger number that is proved (rounding/block/energy.py), and

    ||l||_M = ||G^{-1/2} (dr - dG D^)||_2 <= (||dr||_2 + ||dG||_2 ||D^||_2) / sqrt(mu).

The bounds on dr and dG are those of rounding/block/local.py. Storing a rounds once more per coordinate, and
a vector of roundings is at most as long in the M-norm as that of their sizes with |M|.

dr and dG depend on the exact increment at the solver's own iterate. What is known is the one at another:

* exact steps are those of the exact iterate. A distance T in the M-norm is at most ``T / sqrt(mu)`` in the
  2-norm of a block, before the step and, as the step is a projection, after it: an increment is off by at
  most the sum of both.
* the judge makes its own block steps in float64 from the same start. An exact block step is an affine map
  whose linear part is that projection, so the difference of the two computed runs grows in a step by no
  more than the two local errors: ``||a_s - a_j||_M <= sum_j (||l_s|| + ||l_j||)``. The judge's increment
  is its computed one, whose error is l_j; the solver's is that up to l_j and what the difference before and
  after the step makes, twice its M-norm over the root of the block system's smallest eigenvalue.

Bound C: the distance of a whole run from the exact trajectory of the same stream is at most the sum of the
errors made in its windows, for the same reason:

    ||a^_k - a_k||_M <= T_k = sum over the windows of l_w.

l_w is bound B, which wants the sizes of the solver's own iterate and of the
exact steps from there. Both are near those of the exact trajectory: since M >= m I,

    |a^_i| <= |a_i| + T / sqrt(m),        |D_i(a^)| <= |D_i(a)| + T / sqrt(m),

the second because D(a^) - D(a) is the projection of the error. M is that of the exact kernel, so its
smallest eigenvalue is at least m; cond(M) does not enter, and nothing is amplified: the bound grows with
the number of windows alone.

Where weights are carried, the drift that they have gathered is part of l_w (bounds/carried_run.py).

The oracle's run is not exact either: its own errors, proven step by step, are added to the sum.

Underflow of a product or quotient is part of l_w. Where a size overflows float64, or a factorisation may
break down, the bound is infinite from that window on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sstep_verify.bounds.carried_run import CarriedWeights
from sstep_verify.bounds.window import TrajectoryBound
from sstep_verify.declaration import Declaration
from sstep_verify.rounding.arithmetic import OUTWARD, gamma, magnitudes, rounded_up, unit_roundoff
from sstep_verify.rounding.block.energy import largest_energy
from sstep_verify.rounding.block.local import RidgeLocalErrors, StepErrors
from sstep_verify.rounding.kernel.entries import KernelEntries
from sstep_verify.rounding.right_hand_side import CarriedTerms
from sstep_verify.steps import RidgeSteps

JUDGE = Declaration("judge", update="in-place", increments="summed")
"""Of the steps that a screen compares with."""


@dataclass(frozen=True)
class RidgeWindowErrors:
    """The M-norm bound of a window, and the local errors it is the sum of.

    Parameters
    ----------
    norm : float
        Bound on ``||computed - exact||_M``; infinite where nothing can be promised.
    steps : list of StepErrors
        One per block step; shorter than the window if `norm` is infinite.
    accumulation_error : ndarray, shape (c,)
        Rounding of a at the window's end where it was frozen; zeros otherwise.
    """

    norm: float
    steps: list[StepErrors]
    accumulation_error: np.ndarray


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def ridge_window_errors(
    entries: KernelEntries,
    places: np.ndarray,
    start: np.ndarray,
    targets: np.ndarray,
    steps: RidgeSteps,
    penalty: float,
    declaration: Declaration,
    carried: CarriedTerms | None = None,
    windows: int = 1,
    *,
    judged: bool = False,
) -> RidgeWindowErrors:
    """Bound the error at the end of one K-RR window, step by step.

    `entries` are the kernel rows of the distinct coordinates `places`, shape (c, m), `start`, shape (m,),
    is the solver's a, exact; `steps` are the exact ones or, if `judged`, the judge's own from the same
    start: then the bound is one on ``||computed - judge's||_M``. `carried` says what the first residuals
    are made of, for a solver that carries a state. The steps are `windows` windows of the run: a frozen a
    is stored at the end of each.
    """
    arguments = (places, start, targets, steps, penalty)
    solver = RidgeLocalErrors(entries, *arguments, declaration, carried)
    exact = replace(entries, solver_error=entries.judge_error, factored=None)
    judge = RidgeLocalErrors(exact, *arguments, JUDGE) if judged else None
    total, errors, samples = 0.0, list[StepErrors](), float(start.size)
    for draws in steps.draws:
        modulus = solver.modulus(draws, samples)
        root = np.sqrt(modulus)
        length, rounding = _judge_errors(judge, modulus)
        step = solver.advance(modulus, 2 * total / root + length)
        if step is None:
            return RidgeWindowErrors(np.inf, errors, np.zeros(places.size))
        stored = largest_energy(solver.system(draws), rounding + step.rounding)
        total = rounded_up(total + root * (length + step.length) + stored)
        errors.append(step)
    accumulation_error = solver.accumulation_error()
    total += windows * largest_energy(solver.system(np.arange(places.size)), accumulation_error)
    return RidgeWindowErrors(float(total * OUTWARD), errors, accumulation_error)


def _judge_errors(judge: RidgeLocalErrors | None, modulus: float) -> tuple[float, np.ndarray | float]:
    """Of the judge's next step: length of its error, rounding of what it stores; 0 of an exact step."""
    step = None if judge is None else judge.advance(modulus, 0.0)
    if step is None:
        return (0.0, 0.0) if judge is None else (np.inf, np.inf)
    return step.length, step.rounding


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def ridge_trajectory_bound(
    entries: KernelEntries,
    places: np.ndarray,
    start: np.ndarray,
    targets: np.ndarray,
    steps: RidgeSteps,
    errors: np.ndarray,
    s: int,
    ends: list[int],
    penalty: float,
    declaration: Declaration,
    carried: CarriedWeights | None = None,
) -> dict[int, TrajectoryBound]:
    """Bound the distance of a K-RR run from the oracle's at chosen window ends, in the M-norm.

    `errors`, shape (H,), are those of the oracle's steps in the M-norm; the rest is as for
    `svm_trajectory_bound` (bounds/window/svm.py). Radii are of shape (1,).
    """
    root, u64 = np.sqrt(start.size), unit_roundoff("float64")
    size = magnitudes(start)
    reached, moved = start[places].astype(np.float64), size[places]
    total, bounds = 0.0, {end: TrajectoryBound(np.array([np.inf]), 1.0, 0) for end in ends}
    for begin in range(0, max(ends, default=0), s):
        end = min(begin + s, steps.draws.shape[0])
        proven = float(np.sum(errors[:end]))
        far = total + proven
        near = (
            float(rounded_up(far / root)) if far > 0.0 else 0.0
        )  # a coordinate that is 0 costs no rounding
        # `reached` is a sum of float64 increments, each rounded; `moved` is the sum of their sizes.
        size[places] = (np.abs(reached) + gamma(begin + 2, u64) * moved + near) * OUTWARD
        blocks, increments = steps.draws[begin:end], steps.increments[begin:end]
        rows, drawn = np.unique(blocks, return_inverse=True)
        window = RidgeSteps(drawn.reshape(blocks.shape), (np.abs(increments) + near) * OUTWARD)
        terms = None
        if carried is not None:
            carried.restart(size)
            terms = carried.begin(size, blocks.size).at(rows)
            change = np.bincount(blocks.ravel(), window.increments.ravel(), places.size) * OUTWARD
            counts = np.bincount(blocks.ravel(), minlength=places.size)
            carried.end(change, counts, (size[places] + change) * OUTWARD)
        local = ridge_window_errors(
            entries.at(rows), places[rows], size, targets, window, penalty, declaration, terms
        ).norm
        total = rounded_up(total + local)
        if not total < np.inf:
            break
        for block, increment in zip(blocks, increments, strict=True):
            reached[block] += increment
            moved[block] += np.abs(increment)
        if end in bounds:
            bounds[end] = TrajectoryBound(np.array([(total + proven) * OUTWARD]), 1.0, 0)
    return bounds
