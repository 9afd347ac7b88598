"""Memory of a run, exactly: bytes that a rank holds from window to window.

Source: Theorem 2, "Storage": f m n / P + s b m words. With c = min(s b, m) rows of a window, what
ours holds is (8 bytes a word):

    data         the rank's columns; where they are multiplied by scattering, also their transpose and the
                 row pointers in 64 bits; dense ones also some sampled rows, side by side, or m^2
                 words where products of all samples are formed (few samples of many features), or, of
                 few features, the transpose
    panel        allreduce: c m words, summed in place. reduce-scatter: c m words to send, c m / P received,
                 and some rows not yet in order; nothing of it is divided by P but what is received
    small        support, reduce-scatter and gram: c^2 + c words
    support      the order of the samples and what goes with it, and rows that are put together: of dense
                 data as many words again as the rank's columns have, of which those of the support are used
    vectors      at most some ten of m words each: a, its product with the labels, labels or targets,
                 increments, scratch
    staging      coordinates of windows that are prepared together: of at most 512 draws, or of one window;
                 of long blocks (K-RR, a rank alone) also where each row is, and which step draws it last

Nothing else is allocated within a window, see test_costs_memory.py. What a caller asks to
have recorded (a at record points, a log, panels) is not counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from sstep_verify.problems import Kernel, PolynomialKernel

WORD = 8
"""Bytes of a float64, and of an int64."""

CHUNK_DRAWS = 512
"""Coordinates whose windows are prepared in one call."""

TILE_WORDS = 1 << 19
"""Words of a panel that one matrix product writes."""

GATHERED_SHARE, COPIED_SHARE, GATHERED_LEAST, GATHERED_MOST = 12, 8, 1 << 12, 1 << 17
"""Sampled rows are copied side by side: one in so many of the data's words, for panels and for gram, within
two limits."""

LONG_BLOCK = 96
"""Coordinates of a block from which on a rank alone makes windows step by step."""

WIDE, MOST, NEARLY_ALL = 16, 0.5, 0.9
"""Features a sample from which on the products of all samples are formed, for those of more than this share
of them: of a panel (the second), or of a Gram matrix (the third)."""

FEW_FEATURES = 16
"""Most features of a rank of which the transpose is kept, but where exchange support copies samples."""

ROWS_AT_ONCE = 8
"""Whole rows of which exchange support takes a part."""

SMALL, NARROW = 1 << 19, 40
"""Squared samples times features, or features alone, up to which gram makes one compiled call."""

PANEL_SHARE, DATA_SHARE, LEAST_ROWS, LEAST_BLOCK, FEW = 4, 16, 8, 128, 6
"""When reduce-scatter forms rows in tiles, and when gram copies the samples of a window."""


class Bytes(NamedTuple):
    """Bytes by what they hold, see above."""

    data: int
    panel: int
    small: int
    vectors: int
    staging: int
    support: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self)


@dataclass(frozen=True)
class Sizes:
    """What the memory of a run depends on.

    Parameters
    ----------
    samples, features, nonzeros : int
        Samples (m), and the rank's features and stored values.
    sparse : bool
        How its columns are stored.
    s, block, ranks, rank : int
        Iterations per window, never more than are made; coordinates per block (b); ranks (P); which rank.
    kernel : Kernel
        The kernel.
    svm, differences : bool
        Whether it is a K-SVM; whether the RBF kernel is formed by differences.
    """

    samples: int
    features: int
    nonzeros: int
    sparse: bool
    s: int
    block: int
    ranks: int
    rank: int
    kernel: Kernel
    svm: bool
    differences: bool = False

    @property
    def rows(self) -> int:
        """Most distinct coordinates of a window (c)."""
        return min(self.s * self.block, self.samples)

    @property
    def own(self) -> int:
        """Samples of this rank after a reduce-scatter."""
        return self.samples * (self.rank + 1) // self.ranks - self.samples * self.rank // self.ranks


def resident(exchange: str, sizes: Sizes) -> Bytes:
    """Bytes that a run on a rank holds besides its problem's targets and what is recorded.

    Parameters
    ----------
    exchange : {"allreduce", "support", "reduce-scatter", "gram"}
        What is communicated.
    sizes : Sizes
        Of the run.

    Returns
    -------
    Bytes
    """
    rows, samples = sizes.rows, sizes.samples
    norms = samples if sizes.kernel.of_distance and not sizes.differences else 0
    whole, small = exchange in ("allreduce", "support"), rows * rows + rows
    packet = max(rows * samples if whole else small, norms) + 2
    return Bytes(
        data=_data(sizes) + _scratch(exchange, sizes),
        panel=WORD * packet if whole else _sent(sizes) if exchange == "reduce-scatter" else 0,
        small=WORD * small if exchange == "support" else 0 if whole else WORD * packet,
        vectors=WORD * (_recurrence(sizes) + (0 if exchange == "gram" else _function(sizes) + norms))
        + WORD,
        staging=_staging(sizes) + (2 * WORD * rows if _by_steps(exchange, sizes) else 0),
        support=WORD * (_support(sizes) + norms) if exchange == "support" else 0,
    )


def _support(sizes: Sizes) -> int:
    """Words of an order of the samples, what the window before drew, and rows put together."""
    samples = sizes.samples
    kept = sizes.sparse or sizes.differences
    rows = ROWS_AT_ONCE * samples if kept else samples * sizes.features + samples
    return 3 * samples + sizes.rows + rows


def _data(sizes: Sizes) -> int:
    """The rank's columns as the problem has them: CSR with 32-bit indices, or dense."""
    if sizes.sparse:
        return (WORD + 4) * sizes.nonzeros + 4 * (sizes.samples + 1)
    return WORD * sizes.samples * sizes.features


def _scratch(exchange: str, sizes: Sizes) -> int:
    """What forming sums needs besides the columns."""
    if exchange == "gram":
        return _gram_scratch(sizes)
    usual = sizes.sparse or sizes.differences or exchange == "support"
    if usual or not 0 < sizes.features <= FEW_FEATURES:
        return _product_scratch(sizes)
    return _transpose(sizes)


def _transpose(sizes: Sizes) -> int:
    """The transpose of dense columns; that of one row or one column is what it was."""
    samples, features = sizes.samples, sizes.features
    return WORD * samples * features if min(samples, features) > 1 else 0


def _product_scratch(sizes: Sizes) -> int:
    """What forming a panel needs besides the columns."""
    samples, features = sizes.samples, sizes.features
    if sizes.differences:
        if sizes.sparse:
            return WORD * (samples + 1)
        return _transpose(sizes)
    if sizes.sparse:
        return WORD * (samples + features + 2) + (WORD + 4) * sizes.nonzeros
    square, tile = 0, max(TILE_WORDS // samples, 32)
    if forms_all(sizes, MOST):
        square, tile = samples * samples, max(int(MOST * samples), 1)
    tallest = min(sizes.rows, tile)
    width = features_at_once(sizes, tallest, GATHERED_SHARE)
    part = tallest * samples if width < features else 0
    return WORD * max(square, tallest * width + part)


def _gram_scratch(sizes: Sizes) -> int:
    """Weights, and what inner products need next to the columns."""
    samples, features = sizes.samples, sizes.features
    if sizes.sparse:
        return WORD * (samples + 1 + 2 * features)
    copied, width = sizes.rows if sizes.rows > FEW else 0, features_at_once(sizes, sizes.rows, COPIED_SHARE)
    few = min(copied, most_small(features)) if width < features else 0
    square = samples * samples + samples if forms_all(sizes, NEARLY_ALL) else 0
    return WORD * (features + max(copied * width + few * (few + 1), square))


def most_small(features: int) -> int:
    """Samples of so many features whose inner products are formed by one compiled call."""
    return math.isqrt(SMALL // features) if features > NARROW else 1 << 31


def forms_all(sizes: Sizes, share: float) -> bool:
    """Whether windows of so many rows have the products of all samples formed."""
    samples = sizes.samples
    wide = sizes.features >= WIDE * samples and samples * samples <= TILE_WORDS
    return wide and sizes.rows > share * samples


def features_at_once(sizes: Sizes, rows: int, share: int) -> int:
    """Features of which so many rows are copied at once."""
    words = min(max(sizes.samples * sizes.features // share, GATHERED_LEAST), GATHERED_MOST)
    return max(-(-sizes.features // max(-(-rows * sizes.features // words), 1)), 1)


def _sent(sizes: Sizes) -> int:
    """Buffers of reduce-scatter: sent, received, rows not yet in order, and P + 1 and P bounds."""
    rows, samples, ranks = sizes.rows, sizes.samples, sizes.ranks
    stored = sizes.nonzeros if sizes.sparse else samples * sizes.features
    wide = stored >= DATA_SHARE * rows * samples
    tiles = 1 if wide else max(-(-rows * samples // TILE_WORDS), PANEL_SHARE)
    ranged = not (sizes.sparse or sizes.differences)
    direct = ranged and sizes.own >= LEAST_BLOCK
    packed = ranks > 1 and rows > 1 and not direct
    partial = min(max(-(-rows // tiles), LEAST_ROWS), rows) * samples if packed else 0
    received = rows * sizes.own if ranks > 1 else 0
    return WORD * (rows * samples + received + partial + 2 * ranks + 1)


def _function(sizes: Sizes) -> int:
    """Scratch of the kernel function: a row for a power."""
    return sizes.samples if isinstance(sizes.kernel, PolynomialKernel) else 0


def _recurrence(sizes: Sizes) -> int:
    """Words of the dual vector and of what a window's updates need."""
    samples, rows, width, block = sizes.samples, sizes.rows, sizes.s, sizes.block
    if sizes.svm:
        return 3 * samples + 3 * width + rows
    return 3 * samples + rows + 2 * width * block + block * block + block


def _by_steps(exchange: str, sizes: Sizes) -> bool:
    """Whether windows are those of long blocks, made step by step by a rank alone."""
    return exchange == "allreduce" and sizes.ranks == 1 and sizes.block >= LONG_BLOCK and not sizes.svm


def _staging(sizes: Sizes) -> int:
    """Draws of the windows that are prepared together: places, distinct ones, new values; marks."""
    draws = sizes.s * sizes.block
    windows = max(CHUNK_DRAWS // draws, 1)
    return WORD * (3 * windows * draws + windows + sizes.samples)
