"""From a campaign's families to cases, grouped by what they can share: data and kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from sstep_verify.adapters.python import is_foreign
from sstep_verify.campaign.cases import case_id, chosen, command_for
from sstep_verify.campaign.model import Definition, Unit
from sstep_verify.campaign.verdicts.family import Family
from sstep_verify.campaign.verdicts.measured import common_points, measuring_points
from sstep_verify.campaign.verdicts.solvers import TRAINING, offered
from sstep_verify.checks.registry import PRIMARY
from sstep_verify.checks.shared.case import Case
from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.problems import IndexStream, Kernel, Problem, loss_from
from sstep_verify.problems.data.datasets import DataSet
from sstep_verify.problems.streams import distinct_length
from sstep_verify.problems.transforms import with_constant_feature
from sstep_verify.rounding.arithmetic import norm

LONGEST_UNIT = 1 << 16
"""Most iterations of which the runs of a program that counts windows or epochs are whole numbers."""

SHORT = 600
"""Most iterations of the runs that checks make beside the plain ones; fewer where they are whole epochs."""

MOST_CASES = 10_000
"""Most problems of a campaign: a report of more can be neither read nor drawn."""


@dataclass(frozen=True)
class CaseSpec:
    """One case, by names and numbers only; `parameter` is C or lambda, `block` b."""

    data: str
    task: str
    kernel: Kernel
    parameter: float
    block: int
    family: Family

    @property
    def id(self) -> str:
        """Unique name, see `case_id`."""
        more = [f"b={self.block}"] if self.task == "krr" else []
        more += [self.family.label] if self.family.label else []
        return case_id(self.data, self.kernel, self.task, self.parameter, *more)


def expand(definition: Definition, only: str = "") -> list[Unit]:
    """All cases of a campaign whose id `only` selects (`sstep_verify.campaign.cases`), in units.

    The work of a unit are the specs of a family's cases on the same data and kernel: they share kernel
    matrices and optimum searches.

    InputError if two cases coincide, or no case is left.
    """
    specs: dict[str, CaseSpec] = {}
    for spec in (spec for family in definition.families for spec in _product(family)):
        if spec.id in specs and definition.cut and spec.family is not specs[spec.id].family:
            continue  # What two families of a profile differ in, such as an a0, the solver has not.
        if spec.id in specs:
            where = "two families" if spec.family is not specs[spec.id].family else "one family twice"
            raise InputError(f"{definition.source}: case {spec.id} stands in {where}")
        specs[spec.id] = spec
        if len(specs) > MOST_CASES:
            raise InputError(
                f"{definition.source}: has more than {MOST_CASES:,} problems; make several campaigns of it"
            )
    wanted = chosen(only, specs)
    groups: dict[tuple, list[CaseSpec]] = {}
    for spec in specs.values():
        if spec.id in wanted:
            groups.setdefault((spec.data, spec.kernel, id(spec.family)), []).append(spec)
    return [
        Unit(
            tuple(spec.id for spec in same),
            tuple(same),
            data=(same[0].data,),
            ranks=same[0].family.ranks,
            foreign=is_foreign(same[0].family.solver) and not same[0].family.source,
        )
        for same in groups.values()
    ]


def _product(family: Family) -> Iterator[CaseSpec]:
    return (
        CaseSpec(data, task, kernel, parameter, block, family)
        for data in family.data
        for kernel in family.kernel
        for task in family.task
        for parameter in family.parameter
        for block in family.block
    )


def make_case(
    spec: CaseSpec, data: DataSet, declarations: Mapping[str, Declaration], again: str, options: str
) -> Case:
    """The case of a spec on loaded data; InputError if they do not fit the task, or b > m.

    `declarations` are what the solver under test says it is, under the empty name, and its variants by
    theirs; `again` is the command that runs the campaign, `options` are further ones of the replay command.
    """
    family = spec.family
    if (spec.task == "krr") != (data.task == "regression"):
        raise InputError(
            f"{spec.id}: task {spec.task} needs other targets than {data.name} has ({data.task})"
        )
    loss = loss_from(spec.task, spec.parameter)
    stored = with_constant_feature(stored_as(data.data, family.storage), family.bias)
    problem = Problem(spec.data, stored, data.targets, spec.kernel, loss)
    stream, iterations, unit = _run(spec, problem.samples)
    values = tuple(sorted({*family.s, *family.further}))
    # Training keeps a at the ends of its intervals only, the command its last one. Of a program judged
    # by its ends alone, each point would be a run of its own.
    points = {
        s: (iterations,)
        if family.solver == "solve" or (family.is_program and not set(PRIMARY) & set(family.checks))
        else _points(iterations, s * max(family.interval, 1), unit)
        for s in values
    }
    return Case(
        id=spec.id,
        problem=problem,
        stream=stream,
        s_values=values,
        further=family.further,
        iterations=iterations,
        declaration=declarations[""],
        start=family.start,
        initial=seeded_start(problem, family.seed) if family.start else None,
        claims=_claims(family, problem),
        variants={
            name: item
            for name, item in declarations.items()
            if name and offered(name, problem.samples, family.memory_bytes)
        },
        points=common_points(points) if family.stability else points,
        short=max(SHORT // unit, 1) * unit,
        unit=unit if family.counts == "epochs" else 1,
        windows=family.windows,
        replay_limit=family.replay_limit,
        seed=family.seed,
        replay_command=f"{command_for(again, spec.id)} {options}".strip(),
    )


def _points(iterations: int, step: int, unit: int) -> tuple[int, ...]:
    """Iterations at which a plain run is recorded; among them some at which it could have ended."""
    ends = measuring_points(iterations, math.lcm(step, unit))
    return tuple(sorted({*measuring_points(iterations, step), *ends}))


def _run(spec: CaseSpec, samples: int) -> tuple[IndexStream, int, int]:
    """Stream and iterations of the plain runs, and of how many iterations they are a whole number.

    InputError if no run of some length can be judged, or be made by a program that counts otherwise.
    """
    family, block = spec.family, spec.block
    windows, epoch = math.lcm(*family.s), max(samples // block, 1)
    unit = {"iterations": 1, "windows": windows, "epochs": epoch}[family.counts]
    if unit > LONGEST_UNIT:
        raise InputError(
            f"{spec.id}: it counts {family.counts}, and a run of whole ones of every s would have {unit} "
            f"iterations, more than {LONGEST_UNIT}; ask for one s at a time (--s)"
        )
    wanted = max(family.iterations // unit, 1) * unit
    drawn = (family.stream, family.seed, samples, block)
    most = distinct_length(*drawn, family.start + wanted, replacement=family.replacement) - family.start
    iterations = min(wanted, most // unit * unit)
    if iterations < 1:
        raise InputError(
            f"{spec.id}: drawn with replacement, block {most + family.start + 1} holds a coordinate twice "
            "(S-2.5), so that no run can be judged; take another seed, or b = 1"
        )
    length = family.start + iterations
    stream = IndexStream(family.stream, samples, block, length, family.seed, replacement=family.replacement)
    return stream, iterations, unit


def _claims(family: Family, problem: Problem) -> dict[str, float]:
    """What a run that ends by itself claims; a vector alone may also leave its box by as much, times C."""
    if family.solver in TRAINING and not problem.is_svm:
        # Training ends by its residual over a norm, which rounds once for each target, and some more.
        size = norm(problem.targets) * (1 + (problem.samples + 8) * 2.0**-52)
        return {"residual": family.tolerance * size}
    claims = {"tolerance": family.tolerance}
    if family.is_vector and problem.is_svm:
        claims["box"] = family.tolerance * problem.hinge.C
    return claims


def stored_as(data: Any, storage: str) -> Any:
    """Data as an array of this storage, dense or csr; as they are if it is another word."""
    if storage == "csr":
        return sp.csr_array(data)
    if storage == "dense" and sp.issparse(data):
        return cast(Any, data).toarray()
    return data


def expected_cost(specs: Sequence[CaseSpec], samples: int) -> float:
    """Rough relative cost of the cases of a unit, to begin with the largest.

    Replays cost kernel columns and, per step of a window, products over its distinct coordinates; runs
    cost one row product per iteration, at about a thousandth of that per entry.
    """
    slowness = {"linear": 1, "polynomial": 2, "rbf": 3}[specs[0].kernel.name]
    total = 0.0
    for spec in specs:
        for s in (*spec.family.s, *spec.family.further):
            drawn = s * spec.block
            distinct = min(drawn, samples)
            if distinct * samples <= spec.family.replay_limit:
                total += distinct * (slowness * samples + 5 * drawn)
            total += spec.family.iterations * samples / 1000
    return total


def seeded_start(problem: Problem, seed: int) -> np.ndarray:
    """A feasible dual vector of the size of a solution.

    K-SVM: a third of the coordinates at 0, a third in between, and a third at C, which is the upper end of
    the box (L1) or a value inside it (L2). K-RR: values up to ``max |y| / m``, since ``m a`` is a residual
    of the targets. `seed` is that of NumPy's PCG64.
    """
    drawn = np.random.Generator(np.random.PCG64(seed)).random(problem.samples)
    if problem.is_svm:
        return problem.hinge.C * np.clip(3.0 * drawn - 1.0, 0.0, 1.0)
    return (2.0 * drawn - 1.0) * float(np.abs(problem.targets).max()) / problem.samples
