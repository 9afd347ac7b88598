"""Drawn problems in rational arithmetic: a kernel, labels, targets, a start, and blocks drawn many times."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st
from sstep_reference import Gram, Kernel, Rational

EXACT = Rational()
small = st.builds(Fraction, st.integers(-4, 4), st.integers(1, 3))
positive = st.builds(Fraction, st.integers(1, 24), st.integers(1, 8))


@dataclass
class Case:
    """One drawn problem: a kernel over m samples, and blocks of indices."""

    kernel: Gram | Kernel
    labels: list[int]
    targets: list[Fraction]
    initial: list[Fraction]
    parameter: Fraction
    blocks: list[list[int]]

    @property
    def samples(self) -> int:
        return len(self.labels)


@st.composite
def kernels(draw, m: int):
    """Linear or polynomial kernel of rational data, or an arbitrary Gram matrix B B', often singular."""
    kind = draw(st.sampled_from(["gram", "linear", "polynomial"]))
    width = draw(st.integers(1, m + 1))
    rows = draw(st.lists(st.lists(small, min_size=width, max_size=width), min_size=m, max_size=m))
    if kind == "gram":
        products = [[sum(x * z for x, z in zip(p, q, strict=True)) for q in rows] for p in rows]
        return Gram(EXACT, products)
    if draw(st.booleans()):
        rows[draw(st.integers(0, m - 1))] = [Fraction(0)] * width
    degree, offset = draw(st.integers(2, 4)), abs(draw(small))
    return Kernel(EXACT, rows, kind, degree=degree, offset=offset)


@st.composite
def cases(draw, blocks_of_one: bool, replacement: bool = False):
    """A problem whose stream draws few coordinates many times, `replacement` also within a block."""
    m = draw(st.integers(1, 6))
    b = 1 if blocks_of_one else draw(st.integers(1, m))
    block = st.permutations(range(m)).map(lambda order: order[:b])
    if replacement:
        b = draw(st.integers(2, 5))
        block = st.lists(st.integers(0, m - 1), min_size=b, max_size=b)
    parameter = draw(positive)
    share = st.sampled_from([Fraction(0), Fraction(0), Fraction(1, 3), Fraction(1)])
    return Case(
        kernel=draw(kernels(m)),
        labels=draw(st.lists(st.sampled_from([-1, 1]), min_size=m, max_size=m)),
        targets=draw(st.lists(small, min_size=m, max_size=m)),
        initial=[parameter * x for x in draw(st.lists(share, min_size=m, max_size=m))],
        parameter=parameter,
        blocks=draw(st.lists(block, min_size=1, max_size=9)),
    )
