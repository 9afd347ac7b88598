"""A look-alike of news20.binary: its exact count of nonzeros in every column, everything else drawn.

    python benchmarks/lookalike.py COUNTS.txt[.xz] OUT [--seed SEED]

COUNTS holds the number of nonzeros of each column, one a line; OUT is written as svmlight text.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import IO

import numpy as np
import scipy.sparse as sp
from grid import SEED, Report

from sstep_verify.costs.profiles import read_counts
from sstep_verify.files import write_whole

COUNTS, SAMPLES = "news20.binary.colnnz.txt.xz", 19_996
"""Counts of nonzeros per feature of news20.binary, one a line; its samples."""
SPREAD = 0.8  # standard deviation of the logarithm of a row's share: most texts short, a few very long
DENSE_COLUMN = 500  # entries from which a column's rows are drawn at once, from all rows


def look_alike(counts: np.ndarray, seed: int) -> tuple[sp.csr_array, np.ndarray]:
    """Draw a matrix with given counts of nonzeros in its columns, shape (n,), and labels, half of each.

    Long rows are more likely to hold any column, as long texts hold more words; values are positive and
    rows have norm 1.
    """
    samples, generator = SAMPLES, np.random.default_rng(seed)
    shares = np.exp(SPREAD * generator.standard_normal(samples))
    columns = np.repeat(np.arange(counts.size), counts)
    rows = _rows(counts, columns, shares, generator)
    values = generator.exponential(size=rows.size) + 0.1
    norms = np.sqrt(np.bincount(rows, weights=values * values, minlength=samples))
    entries = (values / norms[rows], (rows, columns))
    data = sp.coo_array(entries, shape=(samples, counts.size)).tocsr()
    return data, np.where(generator.permutation(samples) < samples / 2, 1.0, -1.0)


def _rows(counts, columns, shares, generator) -> np.ndarray:
    """Rows of all entries, those of one column distinct."""
    samples, ends = shares.size, np.cumsum(counts)
    rows = np.empty(columns.size, dtype=np.int64)
    for column in np.flatnonzero(counts >= DENSE_COLUMN):
        # The largest of exponential clocks: a draw without replacement, likelier where the share is large.
        clocks = generator.exponential(size=samples) / shares
        chosen = np.argpartition(clocks, counts[column] - 1)[: counts[column]]
        rows[ends[column] - counts[column] : ends[column]] = chosen
    below = np.cumsum(shares) / shares.sum()
    left = np.flatnonzero(counts[columns] < DENSE_COLUMN)
    taken = np.empty(0, dtype=np.int64)
    while left.size:
        drawn = np.searchsorted(below, generator.random(left.size)).clip(max=samples - 1)
        keys = columns[left] * samples + drawn
        _, first = np.unique(keys, return_index=True)
        fresh = np.zeros(left.size, dtype=bool)
        fresh[first] = True
        fresh &= ~np.isin(keys, taken)
        rows[left[fresh]] = drawn[fresh]
        # Only the columns that still miss entries can clash again.
        taken = np.concatenate([taken, keys[fresh]])
        left = left[~fresh]
        taken = taken[np.isin(taken // samples, columns[left])]
    return rows


def write(out: str | Path, counts: str | Path, seed: int = SEED) -> sp.csr_array:
    """Draw a matrix by a file of counts, and write it as LIBSVM / svmlight text, 6 significant digits."""
    data, labels = look_alike(read_counts(counts, SAMPLES), seed)

    def write_rows(file: IO[bytes]) -> None:
        for row, label in enumerate(labels.tolist()):
            part = slice(data.indptr[row], data.indptr[row + 1])
            pairs = zip((data.indices[part] + 1).tolist(), data.data[part].tolist(), strict=True)
            words = [f"{index}:{value:.6g}" for index, value in pairs]
            file.write(f"{label:+.0f} {' '.join(words)}\n".encode())

    write_whole(out, write_rows)
    return data


def made(report: Report) -> Path:
    """The look-alike next to the file of a report; drawn by counts in its folder of data if not there."""
    path: Path = report.chosen.out.with_name("look-alike.svm").resolve()
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, Path(report.chosen.data or ".") / COUNTS)
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts")
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    drawn = write(given.out, given.counts, given.seed)
    lengths = np.diff(drawn.indptr)
    print(f"{given.out}: {drawn.shape[0]} x {drawn.shape[1]}, {drawn.nnz} nonzeros")
    print(
        f"nonzeros of a row: least {lengths.min()}, median {np.median(lengths):.0f}, most {lengths.max()}"
    )
