"""A small data set as text and as values."""

import numpy as np

from sstep_verify.problems.data import datasets
from sstep_verify.problems.data.registry import Pinned

TEXT = b"2 1:1.5 2:0 3:-4\n4 1:2 2:3 3:1\n2 2:1 3:1\n"
VALUES = np.array([[1.5, 0, -4], [2, 3, 1], [0, 1, 1]])
LABELS = np.array([-1.0, 1.0, -1.0])


def register(monkeypatch, entry: Pinned) -> Pinned:
    monkeypatch.setattr(datasets, "registry", lambda: {entry.name: entry})
    return entry
