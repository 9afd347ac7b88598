"""Durations: how long the longest step of training may take, from the input alone.

They are generous guesses for the watchdog, which adds them to its limit: too small a guess ends a slow run,
too large a one only delays the end of a run that hangs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from sstep_verify.parallel.data.reading import LocalData
from sstep_verify.problems.data.svmlight import SUFFIXES
from sstep_verify.solvers.production.options import GRAM_ROWS, Options
from sstep_verify.solvers.production.training import PROGRESS_DRAWS

READING = 1e7
"""Bytes a second of a file that is read, by ranks that share a slow disk."""

UNPACKED = 10
"""Bytes of text for a byte of a compressed file."""

DOWNLOAD = 300.0
"""Seconds for a data set that may have to be downloaded."""

WORKING = 1e9
"""Operations a second of one rank."""

KERNEL = 10
"""Operations for a kernel function and its part of a product."""


def reading_seconds(files: Iterable[Path | None]) -> float:
    """Seconds to read some files; None stands for one that may have to be downloaded."""
    seconds = 0.0
    for path in files:
        if path is None:
            seconds += DOWNLOAD
        elif os.path.exists(path):
            packed = path.suffix in SUFFIXES and path.suffix != ""
            seconds += os.path.getsize(path) * (UNPACKED if packed else 1) / READING
    return seconds


def training_seconds(local: LocalData, draws: int) -> float:
    """Seconds of the longest step of training: kernel rows of a window, or of a measurement, on one rank.

    Parameters
    ----------
    local : LocalData
        Data of a rank; the loads of all are known.
    draws : int
        Coordinates drawn in a window (s b).
    """
    samples = local.targets.size
    rows = min(max(draws, GRAM_ROWS, Options.panel_words // samples), samples)
    panel = 2.0 * rows * (float(np.max(local.partition.loads)) + KERNEL * samples)
    return (panel + 2.0 * PROGRESS_DRAWS * samples) / WORKING


def prediction_seconds(local: LocalData, new: int) -> float:
    """Seconds of the longest step of the prediction of `new` samples, on one rank."""
    samples = local.targets.size
    rows = min(max(Options.panel_words // (samples + new), 1), samples)
    share = float(np.max(local.partition.loads)) * (samples + new) / samples
    return 2.0 * rows * (share + KERNEL * (samples + new)) / WORKING
