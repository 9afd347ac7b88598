"""Class labels: any two distinct values become -1 and +1, and the mapping is reported."""

from __future__ import annotations

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.problems.losses import look_continuous

CLASSES = (-1.0, 1.0)
"""Values that the labels -1 and +1 stand for where nothing was mapped."""


_LABELS_SHOWN = 6


def two_classes(targets: np.ndarray) -> tuple[np.ndarray, dict[float, int]]:
    """Map the smaller of two distinct targets to -1 and the larger to +1.

    Parameters
    ----------
    targets : array_like, shape (m,)
        Numbers with exactly two distinct values, such as 0/1, 1/2 or 2/4.

    Returns
    -------
    labels : ndarray, shape (m,)
        -1.0 / +1.0 (y), float64.
    mapping : dict
        Original value to label, ``{smaller: -1, larger: +1}``.

    Raises
    ------
    InputError
        If a target is not finite, or there are not exactly two distinct values; the message names
        the values found.
    """
    targets = np.asarray(targets, dtype=np.float64)
    if not np.isfinite(targets).all():
        sample = int(np.flatnonzero(~np.isfinite(targets))[0])
        raise InputError(f"target of sample {sample} (from 0) is {targets[sample]}; must be finite")
    values = np.unique(targets)
    if values.size != 2:
        shown = ", ".join(f"{value:.17g}" for value in values[:_LABELS_SHOWN]) or "none"
        way_out = (
            "keep the samples of two classes in the file, write others as one class, or use krr, which "
            "takes any numbers"
        )
        if look_continuous(targets):
            way_out = "these look like regression targets: use krr"
        raise InputError(
            f"two classes are needed, but the targets hold {values.size} distinct "
            f"value{'s' * (values.size != 1)}: {shown}"
            f"{', ...' if values.size > _LABELS_SHOWN else ''}; {way_out}"
        )
    smaller, larger = (float(value) for value in values)
    return np.where(targets == smaller, -1.0, 1.0), {smaller: -1, larger: +1}


def describe_mapping(mapping: dict[float, int]) -> str:
    """One phrase for notes, ``labels mapped: 0 -> -1, 1 -> +1``; empty if nothing was changed."""
    if all(value == label for value, label in mapping.items()):
        return ""
    return "labels mapped: " + ", ".join(f"{value:.17g} -> {label:+d}" for value, label in mapping.items())


def describe_numbers(targets: np.ndarray) -> str:
    """One phrase for notes on targets of two values that may be meant as labels; empty for all others.

    The labels -1 and +1 are the numbers that a K-RR of two classes takes.
    """
    values = np.unique(targets)
    if values.size != 2 or tuple(values) == CLASSES:
        return ""
    shown = " and ".join(f"{value:.17g}" for value in values)
    return f"targets {shown} taken as numbers; for two classes, write -1 and +1 in the file"
