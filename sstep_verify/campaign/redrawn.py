"""Values of a shipped profile, drawn again from a seed around those of its file.

The values of the file are anchors. They are chosen so that no freedom of the input has one value, or one
residue, in the whole profile, and so that the steps of a K-SVM make every transition between the limits of
the box. What is drawn keeps both. All numbers of samples are moved by the same number, so that residues
which are all there stay all there; so are those of features, and of iterations. Parameters move by a factor
of at most `FACTOR`, a degree by 0 or 2, and the streams have other seeds. Where no draw makes every
transition, the problems of that kernel keep the values of the file.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sstep_verify.adapters.program import ProgramFile
from sstep_verify.campaign.cases import load_data
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.verdicts.case import seeded_start
from sstep_verify.campaign.verdicts.family import Family
from sstep_verify.checks.steps.step_statistics import TRANSITIONS, transitions_in
from sstep_verify.numerics import kernel_rows
from sstep_verify.problems import IndexStream, Kernel, Problem, loss_from
from sstep_verify.problems.data.embedded import size_in

if TYPE_CHECKING:
    from sstep_verify.campaign.model import Definition

ANCHORED = {"smoke": False, "ci": True}
"""Campaigns whose values a seed draws; whether each kernel of its K-SVMs alone makes every transition."""

FACTOR = 1.25
"""Largest factor by which a parameter moves."""

TRIES = 200
"""Draws for the problems of a K-SVM and kernel, until one of them makes every transition."""

MOVED = {"samples": (-2, 3), "features": (0, 3), "iterations": (0, 8)}
"""By what all sizes are moved: from the first number, below the second."""


def drawn_again(definition: Definition, seed: int) -> tuple[Family, ...]:
    """The families of a campaign with values drawn from a seed; those of other campaigns as they are.

    What a program has fixed stays, as do data that are asked for. What is drawn is the same whatever else
    the campaign was cut to.
    """
    families: tuple[Any, ...] = definition.families
    if definition.source not in ANCHORED:
        return families
    asked = definition.cut is not None and bool(definition.cut.selection.data)
    attempts = _attempts(definition.source, seed)
    found = []
    for family in families:
        attempt = attempts.get(_group(definition.source, family))
        found.append(family if attempt is None else _drawn(family, seed, attempt, asked=asked))
    return tuple(found)


@lru_cache(maxsize=16)
def _attempts(source: str, seed: int) -> dict[Any, int]:
    """Of the problems of a campaign that belong together, the first draw that makes every transition."""
    groups: dict[Any, list[Family]] = {}
    for family in read_definition(source).families:
        groups.setdefault(_group(source, family), []).append(family)
    found: dict[Any, int] = {}
    for key, group in groups.items():
        for attempt in range(TRIES):
            if makes_every_transition(_drawn(one, seed, attempt) for one in group):
                found[key] = attempt
                break
    return found


def _group(source: str, family: Family) -> tuple:
    """What a family has in common with those whose steps make every transition together."""
    return family.task, tuple(kernel.name for kernel in family.kernel) if ANCHORED[source] else ()


def _drawn(family: Family, seed: int, attempt: int, *, asked: bool = False) -> Family:
    """A family with other values: sizes moved as in all others, parameters and stream drawn of its own."""
    common = np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, 0))))
    moved = {name: int(common.integers(*between)) for name, between in MOVED.items()}
    words = zlib.crc32(repr((family.task, family.iterations)).encode())
    own = np.random.SeedSequence((seed, 1, attempt, words))
    generator = np.random.Generator(np.random.PCG64(own))
    factors = FACTOR ** generator.uniform(-1.0, 1.0, size=3)
    more, stream_seed = 2 * int(generator.random() < 0.25), int(generator.integers(2**31))
    given = family.given if isinstance(family.given, ProgramFile) else None
    fixed = set(given.fixed) if given else set()
    size = size_in(family.data[0])
    if size is not None and not asked and not fixed & {"m", "n"}:
        samples, features = size.samples + moved["samples"], size.features + moved["features"]
        other = size._replace(samples=max(samples, *family.block), features=features)
        family = replace(family, data=(other.name,))
    if not fixed & {"C", "lambda"}:
        family = replace(family, parameter=tuple(_near(one, factors[0]) for one in family.parameter))
    if "H" not in fixed:
        family = replace(family, iterations=family.iterations + moved["iterations"])
    if given is None or given.stream is None:
        family = replace(family, seed=stream_seed)
    kernels = tuple(_other_kernel(one, fixed, more, factors[1:]) for one in family.kernel)
    return replace(family, kernel=kernels)


def _other_kernel(kernel: Kernel, fixed: set[str], more: int, factors: np.ndarray) -> Kernel:
    values: dict[str, Any] = dict(vars(kernel))
    if "degree" in values:
        values["degree"] += more
    for name, factor in zip(("offset", "sigma"), factors, strict=True):
        if name in values:
            values[name] = _near(values[name], factor)
    free = {name: value for name, value in values.items() if name not in fixed}
    return replace(kernel, **free)


def _near(anchor: float, factor: float) -> float:
    """A number of three digits; 0 stays."""
    return float(f"{anchor * factor:.3g}")


def makes_every_transition(families: Iterable[Family]) -> bool:
    """Whether the steps of the families make every transition that their boxes have; K-RR has no box."""
    made: set[str] = set()
    possible: set[str] = set()
    for family in families:
        for task in family.task:
            if task == "krr":
                continue
            for kernel in family.kernel:
                for parameter in family.parameter:
                    loss = loss_from(task, parameter)
                    data = load_data(family.data[0], None)
                    problem = Problem(data.name, data.data, data.targets, kernel, loss)
                    possible |= set(transitions_in(problem.dual.lower, problem.dual.upper))
                    made |= transitions_of(problem, family)
    return made >= possible


def transitions_of(problem: Problem, family: Family) -> set[str]:
    """The transitions that the steps of a family make on a K-SVM, in float64; nothing is judged by them."""
    dual, labels = problem.dual, problem.signs
    rows = kernel_rows(problem, np.arange(problem.samples)) * np.outer(labels, labels)
    made = np.zeros(len(TRANSITIONS), dtype=bool)
    alpha = seeded_start(problem, family.seed) if family.start else np.zeros(problem.samples)
    end = family.start + family.iterations
    stream = IndexStream("uniform", problem.samples, 1, end, family.seed)
    for (i,) in stream.blocks(family.start, end).tolist():
        curvature = rows[i, i] + dual.shift
        slope = rows[i] @ alpha - 1.0 + dual.shift * alpha[i]
        free = alpha[i] - slope / curvature if curvature else dual.upper
        new = min(max(free, dual.lower), dual.upper)
        before, after = (int(value > dual.lower) + int(value >= dual.upper) for value in (alpha[i], new))
        made[3 * before + after] = True
        alpha[i] = new
    return {name for name, once in zip(TRANSITIONS, made, strict=True) if once}
