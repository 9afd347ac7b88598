"""What the fields of a scenario may be: names, scales, ranges, and which exclude each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sstep_verify.errors import InputError
from sstep_verify.problems.scenario_spectrum import SHAPES

if TYPE_CHECKING:
    from sstep_verify.problems.scenarios import Scenario

TASKS = ("svm-l1", "svm-l2", "krr")
PRECISIONS = ("float64", "float32")
STARTS = ("zero", "near", "mixed")
ORDERS = ("uniform", "epochs", "cyclic")

SCALES: dict[str, dict[str, int]] = {
    "normal": {"float64": 0, "float32": 0},
    "small": {"float64": -40, "float32": -40},
    "large": {"float64": 40, "float32": 40},
    "near-underflow": {"float64": -1016, "float32": -120},
    "near-overflow": {"float64": 960, "float32": 96},
}
"""Power of two by which inner products (to the kernel's degree) are scaled, per precision of the data.

Near underflow the smaller kernel entries, a factor 2**6 below the typical one, are subnormal (below
2**-1022, 2**-126) and lose digits; near overflow (2**1024, 2**128) a factor of 2**64 (2**32) is left for
row norms, sums over samples and divisions by lambda.
"""

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


def check(scenario: Scenario) -> None:
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


def _check_sizes(scenario: Scenario) -> None:
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


def _check_combinations(scenario: Scenario) -> None:
    offset, skew, density = scenario.offset, scenario.skew, scenario.density
    if density < 1 and offset:
        raise InputError(f"scenario: offset = {offset!r} needs dense data; set density = {density!r} to 1")
    if density == 1 and skew:
        raise InputError(f"scenario: skew = {skew!r} needs sparse data; set density below 1")
    if offset and scenario.scale.startswith("near-"):
        raise InputError(
            f"scenario: offset = {offset!r} at scale {scenario.scale!r} would overflow; drop one"
        )
