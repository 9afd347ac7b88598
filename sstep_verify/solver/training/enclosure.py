"""What training states of its result: intervals that hold the gap, or the residual, of a dual vector.

The monitor measures in float64, and nobody bounds its error (`monitor`). Whatever is stated is enclosed
here.

*Gap of a K-SVM.* Let ``p_i = (Qa)_i``, ``d_i = 1 - p_i`` and ``h_i = a_i / (2 C)``. For a feasible alpha
the gap is a sum of terms that are not negative. The dual value D is a sum, too:

    L1  gap = sum (C - a_i) max(d_i, 0) + a_i max(-d_i, 0)
        D = 1/2 sum a_i (1 + d_i)
    L2  gap = sum of C (d_i - h_i)^2 where d_i >= 0, else a_i (h_i / 2 - d_i)
        D = 1/2 sum a_i (1 + d_i - h_i)

Each term of the gap is convex in d_i, and 0 at one point. Its range over an interval of d_i follows from
both ends. Outside the box there is no gap, and none is stated.

*K-RR.* The residual r is enclosed entry by entry, and the gap is ``||r||^2 / (2 m)``.

*Linear kernel.* ``A (A' v)`` is formed in pairs (`pairs`). Let S_i sum the sizes of all terms of entry i.
Over m samples of at most N values on P ranks the entry errs by at most

    3 (m + 1)^2 u^2 S      the weights A' v,
    4 N (N + m + 4) u^2 S  their products with a sample,
    (P + 2) (8 P + 3 N + m + 5) u^2 S  the sum over ranks.

All of it is less than ``32 (m + N + P + 16)^2 u^2 S``. Over ranks the first part of a pair is rounded to
a multiple of a power of two, which S decides: such multiples are summed without error. The rest is summed
plainly. S is raised for each term by more than it loses by underflow.

*Other kernels.* The entries are those of float64, as windows use them. Let n_i be norms of samples, k = N
+ P + 2 the roundings of an inner product and its offset, and ``M_i = sum |K_ij| |a_j|``.

Polynomial kernel: with ``g = gamma_k``, ``|x|'|z| + c <= n_i n_j + c``, ``A_i^d = M_i / (1 -
gamma_{d-1})`` and ``B_i = n_i (sum |a_j| n_j^d)^(1/d) + c (sum |a_j|)^(1/d)``, by the inequalities of
Hoelder and Minkowski,

    sum |a_j| |dK_ij| <= d g B_i (A_i + g B_i)^(d-1) + gamma_{d-1} A_i^d.

RBF kernel: with ``e_i = sigma gamma_{k+6} (n_i + max n_j)^2`` and an exp of `LIBRARY_ULPS` units in the
last place,

    sum |a_j| |dK_ij| <= (expm1(e_i) + 8 u exp(e_i)) M_i.

It is never more than ``sum |a_j| + M_i``, as no entry exceeds 1. It holds for norms and products as for
differences.

*Whole numbers.* Let all data be multiples of one power of two, and inner products be less than 2^53 of
its squares. Then inner products are exact in any order. So is a sum with an offset that is such a
multiple, and a power that stays below 2^53. Then g = 0, and fewer multiplications round. Of an RBF
exponent two products do.

Bounds are raised by `ROUND_UP`. Where a number overflows nothing is known, and the interval is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from sstep_verify.declaration import LIBRARY_ULPS
from sstep_verify.problems import Kernel, PolynomialKernel, Problem, RBFKernel
from sstep_verify.solver.communicator import Communicator
from sstep_verify.solver.packet import TRAILER, CountingCommunicator, Packet
from sstep_verify.solver.settings import Options
from sstep_verify.solver.training.monitor import UNIT_ROUNDOFF, kernel_rows, norm
from sstep_verify.solver.training.pairs import (
    add_rows,
    dense_products,
    sparse_products,
    two_product,
    two_sum,
)

ROUND_UP = 1.0 + 2.0**-28
"""Factor by which a bound is raised: for a few sums of fewer than `MOST_TERMS` terms, and for powers."""

MOST_TERMS = 1 << 20
"""Terms of a sum from which on nothing is stated."""

TINY = 2.0**-900
"""What raises the size of a sum of products for each of them: far more than they lose by underflow."""

SUBNORMAL = 2.0**-1070
"""More than a few operations lose by underflow."""

MANTISSA = 52.9
"""Bits of float64, less what a logarithm may be off."""

LEAST_EXPONENT = -900
"""Exponent of a unit that all values are multiples of, from which on no product of them underflows."""

LARGEST = float(np.finfo(np.float64).max)

SMALLEST = 2.0**-1000
"""A lower end below it is taken as 0: it may have been rounded up."""

LOOKS = 3
"""Most looks, by an enclosure, whether the tolerance is reached."""


class Stated(NamedTuple):
    """What is stated of a dual vector: intervals that hold the exact values.

    `gap`, `dual`: duality gap and dual value; `residual`: K-RR: 2-norm of ``y - M a``, NaN for K-SVM;
    `relative`: K-SVM: gap over dual value; K-RR: residual over ``||y||``. Each is (lower, upper).
    """

    gap: tuple[float, float]
    dual: tuple[float, float]
    residual: tuple[float, float]
    relative: tuple[float, float]

    @property
    def primal(self) -> tuple[float, float]:
        """The primal value, dual value plus gap."""
        with np.errstate(over="ignore", invalid="ignore"):
            lower, upper = self.dual[0] + self.gap[0], self.dual[1] + self.gap[1]
        return float(np.nextafter(lower, -math.inf)), float(np.nextafter(upper, math.inf))

    @property
    def width(self) -> float:
        """What float64 cannot tell of the relative value: upper less lower end, or infinite."""
        lower, upper = self.relative
        return math.inf if upper == math.inf else float(np.nextafter(upper - lower, math.inf))


NOTHING = Stated(*[(0.0, math.inf)] * 4)
"""Where nothing is known; a dual value has no lower end then either, see `_unknown`."""


def _unknown(svm: bool) -> Stated:
    whole = (-math.inf, math.inf)
    return NOTHING._replace(dual=whole, residual=(math.nan, math.nan) if svm else (0.0, math.inf))


def due(relative: list[float], tolerance: float) -> bool:
    """Whether to look, after these measurements, if the tolerance is reached.

    The first look is where a measurement is at most the tolerance. Each later one is where it is at most
    half of what it was at the look before. There are at most `LOOKS`. This follows from the measurements
    only, so that all ranks and a resumed run decide alike. Tolerance 0 is never reached.
    """
    if tolerance <= 0:
        return False
    limit, looks, last = tolerance, 0, False
    for value in relative:
        last = value <= limit and looks < LOOKS
        if last:
            limit, looks = value / 2, looks + 1
    return last


class Enclosing:
    """Encloses what is stated of dual vectors of a problem, whose data are this rank's columns.

    It counts the kernel rows that it forms, and the words that it hands over, apart from the monitor. The
    parameters are those of `Monitor`. Attribute `looks`: enclosures made.
    """

    def __init__(
        self, problem: Problem, rbf: str, communicator: Communicator, panel_words: int = Options.panel_words
    ):
        self._problem, self._rbf, self._panel_words = problem, rbf, panel_words
        self._communicator = CountingCommunicator(communicator)
        self._norms: Norms | None = None
        self.columns = self.looks = 0

    @property
    def counters(self) -> dict[str, int]:
        """Kernel rows formed, collectives, words handed to them by this rank."""
        counted = self._communicator
        return {"panel columns": self.columns, "collectives": counted.collectives, "words": counted.words}

    def enclose(self, alpha: np.ndarray, gram: np.ndarray | None = None) -> Stated:
        """Enclose the values at a dual vector, shape (m,), the same on all ranks; called by all together.

        `gram`, (m, m): a kept kernel matrix, whose rows are used. What is stated is that of rank 0, so that
        all ranks decide alike. WindowError if a rank could not form its share.
        """
        self.looks += 1
        problem = self._problem
        vector = problem.targets * alpha if problem.is_svm else alpha
        with np.errstate(all="ignore"):
            products = self._linear(vector) if problem.kernel.linear else self._other(vector, gram)
            stated = (svm_stated if problem.is_svm else ridge_stated)(problem, alpha, *products)
        return self._communicator.first(stated)

    def _linear(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``K v`` of the linear kernel as pairs, and a bound on their error; shape (m,) each."""
        samples, ranks, data = self._problem.samples, self._communicator.size, self._problem.data
        packet = Packet(self._communicator, 2 * samples)
        high, low, size = np.zeros((3, samples))

        def own() -> None:
            pairs, sizes = np.zeros((2, data.shape[1])), np.zeros(data.shape[1])
            if sp.issparse(data):
                csr = sp.csr_array(data)
                sparse_products(
                    csr.indptr, csr.indices, csr.data, vector, pairs[0], pairs[1], sizes, high, low, size
                )
            else:
                dense_products(data, vector, pairs[0], pairs[1], sizes, high, low, size)
            reach: Any = abs(data)
            size[:] += TINY * (samples * np.asarray(reach.sum(axis=1)).ravel() + self._longest + 1)

        _attempt(packet, own)
        terms = float(self._longest)
        if ranks > 1:
            packet.payload(samples)[:] = size
            packet.payload(samples + 1)[samples] = terms
            packet.reduce(samples + 1)
            size, terms = packet.payload(samples).copy(), float(packet.payload(samples + 1)[samples])
            # Of multiples of a 2^53rd part of a power of two above 4 S any sum of parts up to S is exact.
            _, exponents = np.frexp(size)
            grid = np.ldexp(1.0, exponents + 2)
            packet.payload(samples)[:] = first = (high + grid) - grid
            packet.payload(2 * samples)[samples:] = (high - first) + low
            packet.reduce(2 * samples)
            high, low = packet.payload(2 * samples).copy().reshape(2, samples)
        else:
            # One rank alone has all sums; its count is that of a rank among others.
            self._communicator.count(2, 3 * samples + 1 + 2 * TRAILER)
        return high, low, self._compensated(size, terms)

    @property
    def _longest(self) -> int:
        """Stored values of the longest sample of this rank."""
        return self._problem.longest_sample

    def _compensated(self, size: np.ndarray, terms: float) -> np.ndarray:
        """Error of sums of products in twice the precision, whose sizes sum to `size`; see above."""
        samples, ranks = self._problem.samples, self._communicator.size
        if max(samples, terms) >= MOST_TERMS:
            return np.full(samples, math.inf)
        rounded = (samples + terms + ranks + 16) * UNIT_ROUNDOFF
        return 32 * rounded * rounded * size * ROUND_UP

    def _other(
        self, vector: np.ndarray, gram: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``K v`` from entries of float64 as pairs, and a bound on their error; shape (m,) each."""
        samples, used = self._problem.samples, np.flatnonzero(vector)
        high, low, size = np.zeros((3, samples))
        if gram is not None:
            add_rows(vector, used, gram, used, high, low, size)
        else:
            self.columns += used.size
            for columns, rows in kernel_rows(
                self._problem, self._rbf, used, self._communicator, self._panel_words
            ):
                places = np.arange(columns.size)
                add_rows(vector, columns, rows, places, high, low, size)
        known = self._samples_norms()
        if not known.terms + self._communicator.size + 8 < MOST_TERMS:
            return high, low, np.full(samples, math.inf)
        roundings = known.terms + self._communicator.size + 2
        entries = entry_errors(self._problem.kernel, roundings, known, np.abs(vector), size)
        return high, low, entries + self._compensated(size + TINY * (samples + 1), 0.0)

    def _samples_norms(self) -> Norms:
        """What is known of the samples of all ranks; found once for all looks."""
        if self._norms is None:
            samples, data = self._problem.samples, cast(Any, self._problem.data)
            packet = Packet(self._communicator, samples + 1)
            lowest = math.inf

            def own() -> None:
                nonlocal lowest
                squares = (data * data).sum(axis=1)
                packet.payload(samples)[:] = np.asarray(squares).ravel()
                packet.payload(samples + 1)[samples] = self._longest
                lowest = lowest_bit(cast(Any, data).data if sp.issparse(data) else data.ravel())

            _attempt(packet, own)
            packet.reduce(samples + 1)
            squares, terms = packet.payload(samples), float(packet.payload(samples + 1)[samples])
            norms = np.sqrt(squares * ROUND_UP + (terms + 1) * SUBNORMAL) * ROUND_UP
            self._norms = Norms(norms, terms, min(self._communicator.allgather(lowest)))
        return self._norms


class Norms(NamedTuple):
    """What is known of samples.

    `norms`, (m,): upper bounds on their 2-norms; `terms`: upper bound on the values of one, of all ranks
    together; `lowest`: exponent of a power of two of which all values are multiples, infinite if all are 0.
    """

    norms: np.ndarray
    terms: float
    lowest: float

    def bits(self, factor: float, offset: float = 0.0) -> float:
        """Bits that hold every sum of products up to so many times the largest, and an offset, exactly.

        Infinite where a product might underflow, or the offset is no multiple of what products are.
        """
        size = factor * float(np.max(self.norms, initial=0.0)) ** 2 + offset
        unit = 2 * self.lowest
        fits = LEAST_EXPONENT < unit < math.inf and size < math.inf
        if not fits or (offset and lowest_bit(np.array([offset])) < unit):
            return math.inf
        return max(math.log2(size) - unit, 1.0) if size > 0 else 1.0


def lowest_bit(values: np.ndarray) -> float:
    """The largest whole number k such that all values are multiples of 2^k; infinite where all are 0."""
    for some in (values[:256], values):
        fractions, exponents = np.frexp(some[some != 0])
        whole = np.ldexp(fractions, 53).astype(np.int64)
        last = np.frexp((whole & -whole).astype(np.float64))[1] - 1
        found = float(np.min(exponents - 53 + last)) if whole.size else math.inf
        # Of numbers of all digits nothing fits: a few are enough to know.
        if whole.size and float(np.max(exponents)) - found > 53:
            break
    return found


def _attempt(packet: Packet, form: Callable[[], None]) -> None:
    """Form this rank's share; where that fails, the next reduction tells all ranks."""
    try:
        form()
    except Exception as error:
        packet.failure = error
        if packet.alone:
            raise


def _gamma(roundings: float) -> float:
    return roundings * UNIT_ROUNDOFF / (1 - roundings * UNIT_ROUNDOFF) * ROUND_UP


def entry_errors(
    kernel: Kernel, roundings: float, known: Norms, sizes: np.ndarray, products: np.ndarray
) -> np.ndarray:
    """Bound on ``sum_j |a_j| |dK_ij|`` of entries in float64, shape (m,); infinite where none is known.

    `roundings`: of a term of an inner product and its offset; `known`: of the samples; `sizes`: ``|a_j|``;
    `products`: ``sum_j |K_ij| |a_j|``, computed.
    """
    norms = known.norms
    largest = float(np.max(sizes, initial=0.0))
    if largest == 0.0:
        return np.zeros(norms.size)
    products = products * ROUND_UP + sizes.size * SUBNORMAL
    if isinstance(kernel, PolynomialKernel):
        degree, offset = kernel.degree, kernel.offset
        bits = known.bits(1.0, offset)
        exact = min(int(MANTISSA // bits), degree) if 2 * known.lowest * degree > LEAST_EXPONENT else 0
        g, powers = _gamma(0 if exact else roundings), _gamma(degree - max(exact, 1))

        def root(values: np.ndarray) -> float:
            """``(sum |a_j| values_j^d)^(1/d)``, through factors that keep it in range."""
            most = float(np.max(values, initial=0.0))
            if not 0 < most < math.inf:
                return most
            total = float(np.sum(sizes / largest * (values / most) ** degree)) + sizes.size * SUBNORMAL
            return (
                most * (largest * ROUND_UP) ** (1 / degree) * (total * ROUND_UP) ** (1 / degree) * ROUND_UP
            )

        used = np.where(sizes > 0, norms, 0.0)
        ones = root((sizes > 0) * 1.0)
        reach = (norms * root(used) + offset * ones) * ROUND_UP
        # What underflows: in inner products, and in powers, whose factors are below 1 there.
        total = float(np.sum(sizes)) * ROUND_UP
        lost = degree * SUBNORMAL * total + sizes.size * SUBNORMAL
        size = ((products + lost) / (1 - powers) * ROUND_UP) ** (1 / degree) * ROUND_UP
        error = g * reach + roundings * SUBNORMAL * ones
        found = degree * error * (size + error) ** (degree - 1) + powers * size**degree + lost
        return _known(found * ROUND_UP)
    if isinstance(kernel, RBFKernel):
        farthest = norms + float(np.max(np.where(sizes > 0, norms, 0.0)))
        lost = kernel.sigma * (4 * roundings + 8) * SUBNORMAL + SUBNORMAL
        g = _gamma(2 if known.bits(4.0) <= MANTISSA else roundings + 6)
        exponent = (kernel.sigma * g * farthest * farthest + lost) * ROUND_UP
        ulps = 2 * LIBRARY_ULPS * UNIT_ROUNDOFF
        found = (np.expm1(exponent) + ulps * np.exp(exponent)) / (1 - ulps) * products
        found += float(np.sum(sizes)) * (LIBRARY_ULPS + 1) * SUBNORMAL
        most = float(np.sum(sizes)) + products
        return _known(np.fmin(found, most) * ROUND_UP)
    return np.full(norms.size, math.inf)


def _known(errors: np.ndarray) -> np.ndarray:
    return np.nan_to_num(errors, nan=math.inf, posinf=math.inf)


def svm_stated(
    problem: Problem, alpha: np.ndarray, high: np.ndarray, low: np.ndarray, error: np.ndarray
) -> Stated:
    """What is stated of a K-SVM, from pairs ``K (y a)`` and a bound on their error."""
    loss, u = problem.hinge, UNIT_ROUNDOFF
    if not np.all((alpha >= 0) & (alpha <= loss.upper) & np.isfinite(alpha)):
        return _unknown(svm=True)
    high, low = problem.targets * high, problem.targets * low
    # 1 - p without error but that of one sum.
    first = 1.0 - high
    back = first - 1.0
    slack = first + ((1.0 - (first - back)) - (high + back) - low)
    error = (error + 4 * u * np.abs(slack) + 8 * u * u * (1 + np.abs(high))) * ROUND_UP + SUBNORMAL
    half = np.zeros(alpha.size) if loss.power == 1 else alpha / (2 * loss.C)
    away = 4 * u * half + SUBNORMAL * (loss.power == 2)  # How far `half` is off.
    below, above = slack - error, slack + error
    if loss.power == 1:
        ends = [_hinge_term(loss.C, alpha, x) for x in (below, above)]
        zero = (below <= 0) & (above >= 0)
    else:
        ends = [_squared_term(loss.C, alpha, half, away, x, 1.0) for x in (below, above)]
        least = [_squared_term(loss.C, alpha, half, away, x, -1.0) for x in (below, above)]
        zero = (below <= half + away) & (above >= half - away)
    lowest = np.where(zero, 0.0, np.minimum(*(ends if loss.power == 1 else least)))
    lost = alpha.size * SUBNORMAL * (2 + float(np.max(np.abs(slack) + error + half + away, initial=0.0)))
    gap = (
        max(float(np.sum(lowest)) / ROUND_UP - lost, 0.0),
        float(np.sum(np.maximum(*ends))) * ROUND_UP + lost,
    )
    terms = alpha * (1.0 + slack - half)
    off = alpha * (error + away + 4 * u * (1 + np.abs(slack) + half)) + 4 * u * np.abs(terms)
    off_sum = (float(np.sum(off)) + 2 * (alpha.size + 8) * u * float(np.sum(np.abs(terms)))) * ROUND_UP
    off_sum += alpha.size * SUBNORMAL
    total = float(np.sum(terms))
    dual = (total - off_sum) / 2, (total + off_sum) / 2
    if not (math.isfinite(gap[1]) and math.isfinite(dual[0]) and math.isfinite(dual[1])):
        return _unknown(svm=True)
    dual = float(np.nextafter(dual[0], -math.inf)), float(np.nextafter(dual[1], math.inf))
    return Stated(gap, dual, (math.nan, math.nan), _over(gap, dual))


def _hinge_term(C: float, alpha: np.ndarray, slack: np.ndarray) -> np.ndarray:
    return (C - alpha) * np.maximum(slack, 0.0) + alpha * np.maximum(-slack, 0.0)


def _squared_term(
    C: float, alpha: np.ndarray, half: np.ndarray, away: np.ndarray, slack: np.ndarray, outward: float
) -> np.ndarray:
    """The term of the gap with the squared loss, raised or, `outward` -1, lowered by what rounds."""
    rounded = away + 2 * UNIT_ROUNDOFF * (np.abs(slack) + half)
    apart = np.maximum(np.abs(slack - half) + outward * rounded, 0.0)
    # C times the first factor, not their square: neither underflows where C is small or large.
    inside = (C * apart) * apart
    beyond = alpha * np.maximum(half / 2 - slack + outward * rounded, 0.0)
    return np.where(slack >= 0, inside, beyond)


def ridge_stated(
    problem: Problem, alpha: np.ndarray, high: np.ndarray, low: np.ndarray, error: np.ndarray
) -> Stated:
    """What is stated of a K-RR, from pairs ``K a`` and a bound on their error.

    With lambda = f 2^k, f in [1/2, 1), ``f r = f y - f (m a) - 2^-k (K a)``. Products are pairs, and all
    parts are summed as pairs.
    """
    samples, targets, u = problem.samples, problem.targets, UNIT_ROUNDOFF
    fraction, exponent = math.frexp(problem.ridge.penalty)
    scaled = two_product(np.full(samples, float(samples)), -alpha)
    factor = np.full(samples, fraction)
    parts = [
        *two_product(factor, targets), *two_product(factor, scaled[0]), factor * scaled[1],
        -np.ldexp(high, -exponent), -np.ldexp(low, -exponent),
    ]  # fmt: skip
    total, rest, size = parts[0], np.zeros(samples), np.abs(parts[0])
    for part in parts[1:]:
        total, lost = two_sum(total, part)
        rest += lost
        size += np.abs(part)
    residual = total + rest
    off = np.ldexp(error, -exponent) + 2 * u * np.abs(residual) + 128 * u * u * size + 64 * SUBNORMAL
    off = (off / fraction + 2 * u * np.abs(residual / fraction)) * ROUND_UP
    residual = residual / fraction
    if not (np.isfinite(residual).all() and np.isfinite(off).all()):
        return _unknown(svm=False)
    lower, upper = np.maximum(np.abs(residual) - off, 0.0), np.abs(residual) + off
    least = norm(lower) / ROUND_UP
    length = least if least > SMALLEST else 0.0, norm(upper) * ROUND_UP + SUBNORMAL
    scale = norm(targets)
    relative = _over(length, (scale / ROUND_UP, scale * ROUND_UP)) if scale > 0 else (0.0, math.inf)
    if scale == 0 and not np.any(alpha):
        relative = length = 0.0, 0.0
    gap = tuple(x * x / (2 * samples) for x in length)
    gap = max(gap[0] / ROUND_UP - SUBNORMAL, 0.0), gap[1] * ROUND_UP + SUBNORMAL * bool(length[1])
    # D = 1/2 sum a_i (y_i + r_i), as K a / lambda + m a = y - r.
    terms = alpha * (targets + residual)
    spread = float(np.sum(np.abs(alpha) * (off + 4 * u * (np.abs(targets) + np.abs(residual)))))
    spread += 2 * (samples + 8) * u * float(np.sum(np.abs(terms)))
    spread = spread * ROUND_UP + samples * SUBNORMAL
    middle = float(np.sum(terms))
    dual = (
        float(np.nextafter((middle - spread) / 2, -math.inf)),
        float(np.nextafter((middle + spread) / 2, math.inf)),
    )
    if not (math.isfinite(gap[1]) and math.isfinite(dual[0]) and math.isfinite(dual[1])):
        return _unknown(svm=False)
    return Stated(gap, dual, length, relative)


def _over(value: tuple[float, float], whole: tuple[float, float]) -> tuple[float, float]:
    """Enclosure of a value >= 0 over another; infinite above where the other may be 0."""
    lower = value[0] / whole[1] / ROUND_UP if whole[1] > 0 else 0.0
    upper = value[1] / whole[0] * ROUND_UP if whole[0] > 0 else math.inf
    lower = min(lower, LARGEST) if lower > SMALLEST else 0.0
    return lower, upper + SUBNORMAL if upper < math.inf else math.inf
