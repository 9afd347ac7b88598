"""The kernel of a problem in balls, a few rows at a time or whole, from one triangle.

The exponents of RBF entries, and the arguments of polynomial ones, are one matrix product of samples with
extra columns: ``[2 sigma a_i, -sigma |a_i|^2, 1] . [a_j, 1, -sigma |a_j|^2]`` is ``-sigma |a_i -
a_j|^2``. Its cancellation only widens the balls. Where the feature space has few dimensions, the entries
are inner products of images in it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cached_property, singledispatch
from itertools import combinations_with_replacement
from typing import Any

from flint import arb_mat
from sstep_reference.arithmetic import Balls

from sstep_verify.problems import Kernel, LinearKernel, PolynomialKernel, Problem, RBFKernel

HIGHEST_RANK = 200
"""Dimensions of the feature space (p) up to which it is used."""


def feature_dimensions(problem: Problem) -> int | None:
    """Dimensions of the feature space, None beyond `HIGHEST_RANK` or half the number of samples."""
    p = problem.kernel.dimensions(problem.features)
    return int(p) if p <= min(HIGHEST_RANK, problem.samples // 2) else None


def feature_rows(problem: Problem, arithmetic: Balls) -> list[list[Any]]:
    """Images of the samples in the feature space.

    Parameters
    ----------
    problem : Problem
        A problem for which `feature_dimensions` is not None.
    arithmetic : Balls
        Ball arithmetic; to be called inside its `working()`.

    Returns
    -------
    list of m lists of p balls
        Their inner products are the kernel's entries.
    """
    samples = [[arithmetic.number(value) for value in row] for row in problem.dense.tolist()]
    kernel = problem.kernel
    if not isinstance(kernel, PolynomialKernel):
        return samples
    if kernel.offset > 0:
        root = arithmetic.number(kernel.offset).sqrt()
        samples = [[*row, root] for row in samples]
    monomials = list(combinations_with_replacement(range(len(samples[0])), kernel.degree))
    weights = [_multinomial(arithmetic, monomial) for monomial in monomials]
    return [
        [
            weight * math.prod(row[k] for k in monomial)
            for weight, monomial in zip(weights, monomials, strict=True)
        ]
        for row in samples
    ]


def _multinomial(arithmetic: Balls, monomial: tuple[int, ...]) -> Any:
    """Root of the multinomial coefficient of a monomial, given by its factors."""
    count = math.factorial(len(monomial))
    for repeated in Counter(monomial).values():
        count //= math.factorial(repeated)
    return arithmetic.number(count).sqrt()


ENTRIES_AT_ONCE = 1 << 18
"""Kernel entries held as balls at once (about 150 bytes each) when a product is formed."""


class BallKernel:
    """Exact kernel (K) of a problem in balls; its float64 data and parameters are taken exactly.

    Parameters
    ----------
    problem : Problem
        The problem.
    arithmetic : Balls
        Ball arithmetic of every operation.
    keep : bool
        Keep the entries that `product` makes, one triangle, for the next call (50 to 110 bytes an entry).
    """

    def __init__(self, problem: Problem, arithmetic: Balls, *, keep: bool = False):
        self.problem, self.arithmetic, self._keep = problem, arithmetic, keep
        self._blocks: dict[int, Any] = {}
        self._whole: Any = None
        with arithmetic.working():
            left, right = factors_of(problem.kernel, problem.dense.tolist(), arithmetic)
            self._left = left
            self._right = arb_mat(right).transpose()

    def matrix(self) -> Any:
        """Full kernel, an m x m arb_mat that is kept; only for small m (about 150 bytes an entry)."""
        m, kernel = self.problem.samples, self.problem.kernel
        if self._whole is None:
            with self.arithmetic.working():
                if kernel.linear:
                    self._whole = arb_mat(self._left) * self._right
                    return self._whole
                rows = ((arb_mat([row]) * self._right).entries() for row in self._left)
                triangle = [values_of(kernel, row[: i + 1]) for i, row in enumerate(rows)]
                entries = [triangle[max(i, j)][min(i, j)] for i in range(m) for j in range(m)]
                self._whole = arb_mat(m, m, entries)
        return self._whole

    def image(self, vector: list[Any]) -> tuple[list[Any], list[Any]]:
        """``K x`` and the diagonal of K, m balls each: what `verify.kernel.ProofKernel` says."""
        m, column = self.problem.samples, arb_mat(len(vector), 1, vector)
        with self.arithmetic.working():
            if self._whole is not None:
                return (self._whole * column).entries(), [self._whole[i, i] for i in range(m)]
            pairs = zip(self._left, self._right.transpose().tolist(), strict=True)
            squares = [(arb_mat([x]) * arb_mat([[value] for value in z]))[0, 0] for x, z in pairs]
            return self.product(column).entries(), values_of(self.problem.kernel, squares)

    def lower(self, places: Sequence[int]) -> list[list[Any]]:
        """Entries of K on some samples, row by row up to the diagonal."""
        matrix = self.matrix()
        return [[matrix[i, j] for j in places[: k + 1]] for k, i in enumerate(places)]

    def product(self, vectors: Any) -> Any:
        """``K X`` without ever holding K.

        Parameters
        ----------
        vectors : arb_mat, shape (m, k)
            Vectors that share the pass over the kernel (X).

        Returns
        -------
        arb_mat, shape (m, k)
        """
        m = self.problem.samples
        with self.arithmetic.working():
            if feature_dimensions(self.problem) is not None:
                images, transposed = self.images
                return images * (transposed * vectors)
            if self.problem.kernel.linear:
                return arb_mat(self._left) * (self._right * vectors)
            sums = [[self.arithmetic.number(0)] * vectors.ncols() for _ in range(m)]
            given = vectors.tolist()
            right = self._right.transpose().tolist()
            begin = 0
            while begin < m:
                end = min(begin + max(ENTRIES_AT_ONCE // (m - begin), 1), m)
                self._add_block(begin, end, right, given, sums)
                begin = end
            return arb_mat(sums)

    @cached_property
    def images(self) -> tuple[Any, Any]:
        """Images of the samples in a feature space of few dimensions, m x p, and their transpose."""
        images = arb_mat(feature_rows(self.problem, self.arithmetic))
        return images, images.transpose()

    def _add_block(self, begin: int, end: int, right, given, sums) -> None:
        """Add what rows begin..end-1 give from the diagonal on, and what symmetry gives below them."""
        block = self._block(begin, end, right)
        direct = (block * arb_mat(given[begin:])).tolist()
        # The short factor is transposed, not the block.
        mirrored = (arb_mat(given[begin:end]).transpose() * block).transpose().tolist()
        for row, part in enumerate(direct, begin):
            sums[row] = [x + y for x, y in zip(sums[row], part, strict=True)]
        for row, part in enumerate(mirrored[end - begin :], end):
            sums[row] = [x + y for x, y in zip(sums[row], part, strict=True)]

    def _block(self, begin: int, end: int, right) -> Any:
        """Kernel rows begin..end-1 from column `begin` on."""
        if begin in self._blocks:
            return self._blocks[begin]
        products = arb_mat(self._left[begin:end]) * arb_mat(right[begin:]).transpose()
        shape, entries = (products.nrows(), products.ncols()), products.entries()
        del products
        block = arb_mat(*shape, values_of(self.problem.kernel, entries))
        if self._keep:
            self._blocks[begin] = block
        return block


@singledispatch
def values_of(kernel: Kernel, arguments: list) -> list:
    """Kernel entries, a list of balls, from the inner products of the rows that `factors_of` makes.

    The oracle's table of kernels, with `factors_of`: ``values_of.register`` adds one.
    """
    raise TypeError(f"no entries in balls are known for {kernel}: add them to values_of")


@values_of.register
def _linear_values(kernel: LinearKernel, arguments):
    return arguments


@values_of.register
def _polynomial_values(kernel: PolynomialKernel, arguments):
    # flint has no power of a ball about 0.
    return [math.prod([argument] * kernel.degree) for argument in arguments]


@values_of.register
def _rbf_values(kernel: RBFKernel, arguments):
    return [argument.exp() for argument in arguments]


@singledispatch
def factors_of(kernel: Kernel, samples: list[list], arithmetic: Balls) -> tuple[list, list]:
    """Rows of the two factors whose products the kernel entries are functions of: the samples."""
    return samples, samples


@factors_of.register
def _polynomial_factors(kernel: PolynomialKernel, samples, arithmetic):
    if not kernel.offset:
        return samples, samples
    return [[*row, kernel.offset] for row in samples], [[*row, 1.0] for row in samples]


@factors_of.register
def _rbf_factors(kernel: RBFKernel, samples, arithmetic):
    sigma = arithmetic.number(kernel.sigma)
    balls = [[arithmetic.number(value) for value in row] for row in samples]
    left, right = [], []
    for row in balls:
        norm = sum((value * value for value in row), arithmetic.number(0))
        left.append([*(2 * sigma * value for value in row), -sigma * norm, arithmetic.number(1)])
        right.append([*row, arithmetic.number(1), -sigma * norm])
    return left, right
