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
  With a coordinate drawn c times in the block it is sqrt(c) of the first, if that is more.
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

A block that holds a coordinate c times (rounding/block/repeats.py) makes no projection: its step lets an
error in the M-norm grow by ``max(1, c - 1)``, which is 1 for c = 2, and its local error is sqrt(c) times
what stands above. All sums over steps and windows are taken with these factors.

Bound B per coordinate is sharper than the M-norm where few coordinates carry an error: the same local
errors are propagated as signed combinations of symbols. With e the error of the iterate on the window's
coordinates, an exact step on block B makes ``e_B <- -G^{-1} (K_{B,rest} / lambda) e_rest``, and a computed
one adds ``G^{-1} (dr - dG D^)`` and the rounding of the stored values. One symbol stands for each component
of ``dr - dG D^`` and for each stored value.

The float64 inverse X of G is off by ``(I - X G) G^{-1}``, so, with ``||G^{-1}||_2 <= 1/mu``, by at most
``rho / mu`` per entry, ``rho = ||I - X G||_F`` bounded from its computed value. What is lost in forming the
combinations in float64 enters the symbol of the stored value; so does what underflow may take off the
coefficients (a sum of c, then of b products each) and off the radius (a product for each symbol).

Of a block that holds a coordinate c times the same is done with its distinct ones: G is N there, of which
no eigenvalue is below mu / c, the error e of such a coordinate adds ``m (1 - 1/c) e`` to what
``K_{B,rest}`` brings, and one symbol stands for the mean of ``dr - dG D^`` over its draws.

A panel of other rows is perhaps not symmetric and not positive semidefinite, so nothing is known of its
M-norm and this is its only bound. What elsewhere follows from the M-norm follows there from the radii r of
the errors made so far and from a mu that is proved for the panel itself:

* eigenvalues of the symmetric part of G are at least mu, so ``||G^{-1}||_2 <= 1/mu``;
* the exact increment changes by ``-G^{-1} (M e)_B``, of norm at most ``|| |M_B| r ||_2 / mu``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sstep_verify.bounds.carried_run import CarriedWeights
from sstep_verify.bounds.window import TrajectoryBound
from sstep_verify.declaration import Declaration
from sstep_verify.quantities import RidgeSteps
from sstep_verify.rounding.arithmetic import (
    ROUND_UP,
    gamma,
    magnitudes,
    norm,
    rounded_up,
    smallest_subnormal,
    unit_roundoff,
)
from sstep_verify.rounding.block.local import RidgeLocalErrors, StepErrors
from sstep_verify.rounding.block.repeats import growth, most_often, repeats_of, whole_growth
from sstep_verify.rounding.kernel.entries import KernelEntries
from sstep_verify.rounding.right_hand_side import CarriedTerms

MOST_COEFFICIENTS = 1 << 20
"""Coefficients (coordinates times symbols) up to which errors are propagated per coordinate."""

JUDGE = Declaration("judge", update="in-place")
"""Of the steps that a screen compares with."""


@dataclass(frozen=True)
class RidgeWindowErrors:
    """The M-norm bound of a window, and the local errors it is the sum of.

    `norm` bounds ``||computed - exact||_M``; where nothing can be promised it is infinite, and there are
    fewer `steps` than the window has. `accumulation_error`, shape (c,), is the rounding of a at the end of
    the window where it was frozen; zeros otherwise.
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
    are made of, for a solver that maintains weights. The steps are `windows` windows of the run: a frozen a
    is stored at the end of each.
    """
    arguments = (places, start, targets, steps, penalty)
    solver = RidgeLocalErrors(entries, *arguments, declaration, carried)
    exact = replace(entries, solver_error=entries.judge_error, factored=None)
    judge = RidgeLocalErrors(exact, *arguments, JUDGE) if judged else None
    total, errors, samples = 0.0, list[StepErrors](), float(start.size)
    whole = 1.0
    for draws, most in zip(steps.draws, solver.most.tolist(), strict=True):
        modulus = solver.modulus(draws, samples)
        root, share, grown = np.sqrt(modulus), np.sqrt(most), growth(most)
        made = judge.advance(modulus, 0.0) if judge else None
        # An exact step errs by nothing; where the judge's may break down, nothing is known of it.
        unknown = np.inf if judge else 0.0
        length, rounding = (made.length, made.rounding) if made else (unknown, unknown)
        step = solver.advance(modulus, max(2, share) * total / root + length)
        if step is None:
            return RidgeWindowErrors(np.inf, errors, np.zeros(places.size))
        stored = solver.energy(draws, rounding + step.rounding)
        total = rounded_up(grown * total + share * root * (length + step.length) + stored)
        whole *= grown
        errors.append(step)
    accumulation_error = solver.accumulation_error()
    total += whole * windows * solver.energy(np.arange(places.size), accumulation_error)
    return RidgeWindowErrors(float(total * ROUND_UP), errors, accumulation_error)


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
    total, bounds = 0.0, {end: TrajectoryBound(np.array([np.inf])) for end in ends}
    most = most_often(steps.draws)
    proven, amplification = 0.0, 1.0
    for begin in range(0, max(ends, default=0), s):
        end = min(begin + s, steps.draws.shape[0])
        for error, times in zip(errors[begin:end].tolist(), most[begin:end].tolist(), strict=True):
            proven = (growth(times) * proven + error) * ROUND_UP
        whole, share = whole_growth(most[begin:end]), float(np.sqrt(most[begin:end].max()))
        amplification *= whole
        # A coordinate that is 0 costs no rounding.
        near = float(rounded_up((total + proven) / root)) if total + proven > 0.0 else 0.0
        # `reached` is a sum of float64 increments, each rounded; `moved` is the sum of their sizes.
        size[places] = (np.abs(reached) + gamma(begin + 2, u64) * moved + near) * ROUND_UP
        blocks, increments = steps.draws[begin:end], steps.increments[begin:end]
        rows, drawn = np.unique(blocks, return_inverse=True)
        # An error grows by `whole` at most on its way to a step.
        changed = (np.abs(increments) + whole * share * near) * ROUND_UP
        window = RidgeSteps(drawn.reshape(blocks.shape), changed)
        terms = None
        if carried is not None:
            carried.restart(size)
            terms = carried.begin(size, blocks.size).at(rows)
            change = np.bincount(blocks.ravel(), window.increments.ravel(), places.size) * ROUND_UP
            counts = np.bincount(blocks.ravel(), minlength=places.size)
            carried.end(change, counts, (size[places] + change) * ROUND_UP)
        local = ridge_window_errors(
            entries.at(rows), places[rows], size, targets, window, penalty, declaration, terms
        ).norm
        total = rounded_up(whole * total + local)
        if not total < np.inf:
            break
        np.add.at(reached, blocks, increments)
        np.add.at(moved, blocks, np.abs(increments))
        if end in bounds:
            bounds[end] = TrajectoryBound(np.array([(total + proven) * ROUND_UP]), amplification)
    return bounds


@np.errstate(over="ignore", invalid="ignore")
def ridge_component_bound(
    entries: KernelEntries, places: np.ndarray, errors: RidgeWindowErrors, penalty: float
) -> np.ndarray | None:
    """Bound ``|computed - exact|`` per coordinate at the end of one K-RR window, shape (c,).

    `errors` are the window's local ones. None where it is too large or nothing can be promised.
    """
    drawn = sum(step.draws.size for step in errors.steps)
    if not np.isfinite(errors.norm) or places.size * 2 * drawn > MOST_COEFFICIENTS:
        return None
    state = RidgePropagation(entries, places, penalty)
    for step in errors.steps:
        state.advance(step)
    # Radii that overflow are infinite or undefined: then nothing is promised per coordinate.
    return (
        (state.radius + errors.accumulation_error) * ROUND_UP if np.isfinite(state.radius).all() else None
    )


@np.errstate(over="ignore", invalid="ignore")
def ridge_panel_bound(
    entries: KernelEntries,
    places: np.ndarray,
    start: np.ndarray,
    targets: np.ndarray,
    steps: RidgeSteps,
    penalty: float,
    declaration: Declaration,
) -> np.ndarray:
    """Bound ``|computed - exact|`` per coordinate at the end of one K-RR window over a panel, shape (c,).

    `entries` are of `panel_entries`, the steps exact over them. Infinite where nothing can be promised.
    """
    local = RidgeLocalErrors(entries, places, start, targets, steps, penalty, declaration)
    propagation = RidgePropagation(entries, places, penalty)
    for draws in steps.draws:
        modulus = local.modulus(draws, 0.0)
        change = local.spread(draws, propagation.radius) / modulus if modulus > 0.0 else np.inf
        step = local.advance(modulus, float(rounded_up(change))) if change < np.inf else None
        if step is None:
            return np.full(places.size, np.inf)
        propagation.advance(step)
    radius = (propagation.radius + local.accumulation_error()) * ROUND_UP
    return radius if np.isfinite(radius).all() else np.full(places.size, np.inf)


class RidgePropagation:
    """Error symbols of one window, signed coefficients on its coordinates, and the `radius` of each."""

    def __init__(self, entries: KernelEntries, places: np.ndarray, penalty: float):
        self._u, self._samples = unit_roundoff("float64"), entries.values.shape[1]
        self._values = entries.values[:, places] / penalty
        # The quotient by lambda rounds once more.
        self._errors = rounded_up(entries.judge_error[:, places] / penalty + self._u * np.abs(self._values))
        self._coefficients, self._symbols = np.zeros((places.size, 0)), np.zeros(0)
        self.radius = np.zeros(places.size)

    def advance(self, step: StepErrors) -> None:
        """Propagate the errors through one block step."""
        repeats, used, u = repeats_of(step.draws), self._symbols.size, self._u
        draws, counts, block = repeats.distinct, repeats.counts, repeats.distinct.size
        # Of a coordinate that is drawn several times m is divided, which rounds.
        divided = float(step.most > 1)
        system = self._values[np.ix_(draws, draws)] + np.diag(self._samples / counts)
        system_errors = self._errors[np.ix_(draws, draws)] + (1 + divided) * u * np.abs(system)
        inverse = np.linalg.inv(system)
        defect = np.abs(np.eye(block) - inverse @ system)
        defect += gamma(block + 1, u) * (np.abs(inverse) @ np.abs(system) + np.eye(block))
        rho = norm(defect + np.abs(inverse) @ system_errors) * ROUND_UP
        spread = rho * step.most / step.modulus if rho < 1.0 else np.inf
        inverse_size = np.abs(inverse) + spread
        coupling = self._values[draws].copy()
        coupling[:, draws] = np.diag(self._samples * (counts - 1) / counts)
        rest = self.radius.copy()
        rest[draws] *= counts > 1
        # Each stage of -X (K e) loses a relative gamma of its terms' sizes, X and K their own errors: sums
        # of at most c and b products, then of the symbols used so far; the quotient, the sign's copy and
        # the two products before them are the 4.
        pushed = np.abs(coupling) @ rest
        rounding_error = gamma(rest.size + used + block + 4 + divided, u) * (np.abs(inverse) @ pushed)
        rounding_error += spread * pushed.sum() + inverse_size @ (self._errors[draws] @ rest)
        sources = step.residual + step.entries @ step.size + step.solve * norm(step.size)
        sources, stored = repeats.summed(sources) / counts, repeats.summed(step.rounding)
        rounding_error += spread * sources.sum() + stored
        underflow = (rest.size * inverse_size.sum() + block + 1) * smallest_subnormal("float64")
        rounding_error += underflow * (self._symbols.sum() + sources.sum())
        # The block's combinations; its 2 b new symbols are the sources and what was lost.
        new = np.hstack([-inverse @ (coupling @ self._coefficients), inverse, np.eye(block)])
        lost = rounded_up(rounding_error, 4 * rest.size + 2 * used + 32)
        self._symbols = np.concatenate([self._symbols, rounded_up(sources, block + 16), lost])
        self._coefficients = np.hstack([self._coefficients, np.zeros((rest.size, 2 * block))])
        self._coefficients[draws] = new
        self.radius[draws] = rounded_up(np.abs(new) @ self._symbols, used + 2 * block + 16)
