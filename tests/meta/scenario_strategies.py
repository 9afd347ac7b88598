"""Hypothesis strategies that draw scenarios: shrinking acts on sizes and names, never on the data.

Alternatives are listed simplest first, so that a failing example shrinks towards few samples, features,
steps and ranks, a linear kernel, condition 1, and seed 0.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from acting_draws import acts
from hypothesis import assume
from hypothesis import strategies as st

from sstep_verify.errors import InputError
from sstep_verify.problems.kernels import Kernel, LinearKernel, PolynomialKernel, RBFKernel
from sstep_verify.scenarios.descent import TERMS
from sstep_verify.scenarios.draws import (
    CONDITIONS,
    DEGREES,
    EIGHTHS,
    EIGHTHS_CLIPPED,
    FRACTIONS,
    KERNEL_NAMES,
    LARGEST_SEED,
    OFFSETS,
    PARAMETERS,
    SIGMAS,
    balanced,
)  # fmt: skip
from sstep_verify.scenarios.fields import ORDERS, PRECISIONS, SCALES, STARTS, TASKS
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.scenarios.spectrum import SHAPES

_SEEDS_TRIED = 16


def _one_of(values: Collection, known: Sequence, what: str) -> st.SearchStrategy:
    unknown = [value for value in values if value not in known]
    if unknown or not values:
        raise InputError(f"strategy: {what} {unknown or 'none'}; known: {', '.join(map(str, known))}")
    return st.sampled_from([value for value in known if value in values])


def kernels(names: Collection[str] = KERNEL_NAMES) -> st.SearchStrategy[Kernel]:
    """Kernel descriptions of the named kinds.

    Raises
    ------
    InputError
        If a name is unknown.
    """
    made: dict[str, st.SearchStrategy[Kernel]] = {
        "linear": st.just(LinearKernel()),
        "polynomial": st.builds(PolynomialKernel, st.sampled_from(DEGREES), st.sampled_from(OFFSETS)),
        "rbf": st.builds(RBFKernel, st.sampled_from(SIGMAS)),
    }
    return _one_of(names, KERNEL_NAMES, "kernels").flatmap(made.__getitem__)


def _tasks(task: str | None) -> st.SearchStrategy[str]:
    return _one_of(TASKS if task is None else [task], TASKS, "task")


@st.composite
def scenarios(
    draw: st.DrawFn,
    task: str | None = None,
    *,
    kernels: Collection[str] = KERNEL_NAMES,
    max_samples: int = 32,
    max_features: int = 8,
    max_block: int = 8,
    max_s: int = 32,
    max_iterations: int = 64,
    max_ranks: int = 4,
    scales: Collection[str] = ("normal", "small", "large"),
    precisions: Collection[str] = ("float64",),
) -> Scenario:
    """Draw any scenario.

    Parameters
    ----------
    task : str, optional
        One of svm-l1, svm-l2, krr; without it, any of them.
    kernels : collection of str
        Names of the kernels allowed.
    max_samples, max_features, max_block, max_s, max_iterations, max_ranks : int
        Largest m >= 2, n, b, s, H, P >= 1.
    scales, precisions : collection of str
        Scales and data precisions allowed; kernel parameters and C or lambda do not follow the scale.

    Raises
    ------
    InputError
        If a name is unknown.
    """
    fields: dict[str, Any] = {"task": draw(_tasks(task), label="task")}
    fields["kernel"] = draw(_kernels(kernels), label="kernel")
    fields |= _sizes(draw, fields["task"], max_samples, max_features, max_block)
    fields["s"] = draw(st.integers(1, max_s), label="s")
    fields["iterations"] = draw(st.integers(1, max_iterations), label="H")
    fields["ranks"] = draw(st.integers(1, max_ranks), label="P")
    fields["seed"] = draw(st.integers(0, LARGEST_SEED), label="seed")
    fields["parameter"] = draw(st.sampled_from(PARAMETERS), label="C or lambda")
    fields |= _spectrum(draw)
    fields["scale"] = draw(_one_of(scales, tuple(SCALES), "scales"), label="scale")
    fields["precision"] = draw(_one_of(precisions, PRECISIONS, "precisions"), label="precision")
    fields["order"] = draw(st.sampled_from(ORDERS), label="order")
    fields["start"] = draw(st.sampled_from(STARTS), label="start")
    fields["positive"] = draw(st.sampled_from([0.5, 0.25, 0.05]), label="positive")
    return Scenario(**fields, **_degenerate(draw, fields))


_kernels = kernels  # the parameter of the same name hides it


def _sizes(
    draw: st.DrawFn, task: str, max_samples: int, max_features: int, max_block: int
) -> dict[str, int]:
    samples = draw(st.integers(2, max_samples), label="m")
    features = draw(st.integers(1, max_features), label="n")
    largest = min(samples, max_block) if task == "krr" else 1
    return {"samples": samples, "features": features, "block": draw(st.integers(1, largest), label="b")}


def _spectrum(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "condition": draw(st.sampled_from(CONDITIONS), label="condition"),
        "spectrum": draw(st.sampled_from(SHAPES), label="spectrum"),
    }


def _degenerate(draw: st.DrawFn, drawn: dict[str, Any]) -> dict[str, Any]:
    """Repeated, zero and constant parts, and either sparsity or an offset."""
    fields: dict[str, Any] = {
        "unit_rows": draw(st.booleans(), label="unit rows"),
        "duplicates": draw(st.sampled_from(FRACTIONS), label="duplicates"),
        "zero_rows": draw(st.integers(0, min(2, drawn["samples"])), label="zero rows"),
        "constant_features": draw(st.integers(0, min(2, drawn["features"])), label="constant features"),
        "density": draw(st.sampled_from([1.0, 0.5, 0.1]), label="density"),
    }
    if fields["density"] < 1:
        fields["skew"] = draw(st.sampled_from([0.0, 1.0, 2.0]), label="skew")
    elif drawn["scale"] == "normal":
        # Far from the origin only the RBF kernel keeps values of moderate size.
        offsets = [0.0, 1.0, 1e4, 1e6] if drawn["kernel"].of_distance else [0.0, 1.0]
        fields["offset"] = draw(st.sampled_from(offsets), label="offset")
    return fields


@st.composite
def acting_scenarios(
    draw: st.DrawFn,
    task: str | None = None,
    *,
    kernels: Collection[str] = KERNEL_NAMES,
    terms: Collection[str] = ("kernel-correction", "overlap"),
    max_samples: int = 64,
    max_features: int = 8,
    max_block: int = 8,
    max_ranks: int = 4,
    starts: Collection[str] = ("zero", "mixed"),
    precisions: Collection[str] = ("float64",),
) -> Scenario:
    """Draw scenarios in which correction terms have an effect.

    m <= 64, n <= 8; every C K_ii lies in [0.1, 10] (K-RR: every K_ii within a factor 10 of lambda m); some
    window draws a coordinate twice; a relative change of each of `terms` shows at the end of
    some window, by 1 % of it at least (`descent.acting_terms`). Data are dense;
    samples have norm 1 up to rounding where the kernel's diagonal depends on it.

    Parameters
    ----------
    task : str, optional
        One of svm-l1, svm-l2, krr; without it, any of them.
    kernels : collection of str
        Names of the kernels allowed.
    terms : collection of str
        Terms that must act, of `descent.TERMS`; omega exists for svm-l2 only.
    max_samples, max_features, max_block, max_ranks : int
        Largest m (2..64), n (1..8), b, P >= 1.
    starts, precisions : collection of str
        Start vectors and data precisions allowed.

    Raises
    ------
    InputError
        If a name is unknown, or no scenario of the task can have the term.
    """
    _check_terms(terms, task)
    fields: dict[str, Any] = {"task": draw(_tasks("svm-l2" if "omega" in terms else task), label="task")}
    fields["kernel"] = kernel = draw(_kernels(kernels), label="kernel")
    fields |= _sizes(draw, fields["task"], min(max_samples, 64), min(max_features, 8), max_block)
    fields["unit_rows"] = not kernel.of_distance
    # A window of sqrt(2m) draws holds a coordinate twice in about two cases of three.
    least = max(2, int(np.ceil(np.sqrt(2 * fields["samples"]) / fields["block"])))
    fields["s"] = draw(st.integers(least, max(least, 32)), label="s")
    fields["iterations"] = draw(st.integers(fields["s"], 3 * fields["s"] + 1), label="H")
    fields["ranks"] = draw(st.integers(1, max_ranks), label="P")
    fields["precision"] = draw(_one_of(precisions, PRECISIONS, "precisions"), label="precision")
    # Never near-converged: from there nothing moves by enough for an effect.
    fields["start"] = draw(_one_of(starts, ("zero", "mixed"), "starts"), label="start")
    fields |= _spectrum(draw)
    seed = draw(st.integers(0, LARGEST_SEED), label="seed")
    clipped = fields["task"] == "svm-l2" and "overlap" in terms
    places = EIGHTHS_CLIPPED if clipped else EIGHTHS
    place = draw(st.sampled_from(places), label="eighths of the range of C or lambda")
    # Trying a few seeds wastes far fewer draws than giving up at the first that does not act.
    for candidate in range(seed, seed + _SEEDS_TRIED):
        scenario = balanced(Scenario(**fields, seed=candidate), place / 8)
        if acts(scenario, terms):
            return scenario
    assume(False)
    raise AssertionError("unreachable: assume(False) raises")


def _check_terms(terms: Collection[str], task: str | None) -> None:
    _one_of(terms, TERMS, "terms")
    if "omega" in terms and task not in (None, "svm-l2"):
        raise InputError(f"strategy: task {task!r} has no omega term; ask for svm-l2")
