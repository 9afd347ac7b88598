"""Limits of the fields of a scenario: known names, ranges, and which exclude each other."""

from __future__ import annotations

import math

from sstep_verify.errors import InputError
from sstep_verify.scenarios.fields import ORDERS, PRECISIONS, SCALES, STARTS, TASKS, Fields
from sstep_verify.scenarios.spectrum import SHAPES

_CHOICES: dict[str, tuple[str, ...]] = {
    "task": TASKS,
    "spectrum": SHAPES,
    "scale": tuple(SCALES),
    "start": STARTS,
    "precision": PRECISIONS,
    "order": ORDERS,
}
_LARGEST = math.nextafter(math.inf, 0.0)
_SMALLEST = math.nextafter(0.0, 1.0)
_BELOW_ONE = math.nextafter(1.0, 0.0)
_RANGES = {
    "condition": (1.0, _LARGEST, "finite and >= 1"),
    "offset": (-_LARGEST, _LARGEST, "finite"),
    "duplicates": (0.0, _BELOW_ONE, "in [0, 1)"),
    "density": (_SMALLEST, 1.0, "in (0, 1]"),
    "skew": (0.0, _LARGEST, "finite and >= 0"),
    "positive": (_SMALLEST, _BELOW_ONE, "in (0, 1)"),
}

REALS = (*_RANGES, "parameter")
"""Fields that hold real numbers."""


def check(scenario: Fields) -> None:
    """Refuse fields out of range or at odds with each other.

    Raises
    ------
    InputError
        Naming the field, its value and what is allowed.
    """
    for field, known in _CHOICES.items():
        if (value := getattr(scenario, field)) not in known:
            raise InputError(f"scenario: {field} {value!r} is unknown; known: {', '.join(known)}")
    _check_sizes(scenario)
    for field, (low, high, rule) in _RANGES.items():
        if not low <= (value := getattr(scenario, field)) <= high:
            raise InputError(f"scenario: {field} = {value!r}, but it must be {rule}")
    _check_combinations(scenario)


def _check_sizes(scenario: Fields) -> None:
    least, largest = (1, scenario.samples) if scenario.task == "krr" else (2, 1)
    limits = {
        "samples": (least, math.inf),
        "features": (1, math.inf),
        "block": (1, largest),
        **dict.fromkeys(("s", "iterations", "ranks"), (1, math.inf)),
        "seed": (0, math.inf),
        "zero_rows": (0, scenario.samples),
        "constant_features": (0, scenario.features),
    }
    for field, (low, high) in limits.items():
        value = getattr(scenario, field)
        if not (isinstance(value, int) and low <= value <= high):
            raise InputError(
                f"scenario: {field} = {value!r}, but for {scenario.task} with m = {scenario.samples}, "
                f"n = {scenario.features} it must be an integer in {low}..{high}"
            )


def _check_combinations(scenario: Fields) -> None:
    offset, skew, density = scenario.offset, scenario.skew, scenario.density
    if density < 1 and offset:
        raise InputError(f"scenario: offset = {offset!r} needs dense data; set density = {density!r} to 1")
    if density == 1 and skew:
        raise InputError(f"scenario: skew = {skew!r} needs sparse data; set density below 1")
    if offset and scenario.scale.startswith("near-"):
        raise InputError(
            f"scenario: offset = {offset!r} at scale {scenario.scale!r} would overflow; drop one"
        )
