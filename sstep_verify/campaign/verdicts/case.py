"""A case on loaded data: what the checks judge, and what it takes, stated before anything is run.

What it takes follows from shapes alone, so that the same campaign does the same on every machine. Memory is
that of the largest arrays of each part, all parts taken to be held together; the interpreter and its
libraries, some 0.3 GiB, and what grows with m alone are not counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from sstep_verify.campaign.cases import command_for
from sstep_verify.campaign.memory import values_bytes
from sstep_verify.campaign.verdicts.family import CaseSpec, Family
from sstep_verify.campaign.verdicts.measured import common_points, measuring_points
from sstep_verify.campaign.verdicts.solvers import TRAINING
from sstep_verify.checks.registry import PRIMARY
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.window_replay import replayable
from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.numerics import ROWS
from sstep_verify.oracle.certificate.memory import BALL, gibibytes, optimum_bytes
from sstep_verify.oracle.choice import ORACLES
from sstep_verify.oracle.evaluated import refuse_samples
from sstep_verify.problems import IndexStream, Problem, loss_from
from sstep_verify.problems.data.datasets import DataSet
from sstep_verify.problems.transforms import with_constant_feature
from sstep_verify.rounding.arithmetic import norm

LONGEST_UNIT = 1 << 16
"""Most iterations of which the runs of a program that counts windows or epochs are whole numbers."""

SHORT = 600
"""Most iterations of the runs that checks make besides the plain ones; whole epochs may be fewer."""

CACHED_BALLS = 2_000_000
"""Entries that the exact kernel of an oracle keeps."""

ROW_ARRAYS = 10
"""Arrays of a window's kernel rows that are held at once where their bounds are made."""

WEIGHTS_MATRICES = 6
"""Matrices m x m that the drift bound of maintained weights is made of."""


def make_case(
    spec: CaseSpec, data: DataSet, declarations: Mapping[str, Declaration], again: str, options: str
) -> Case:
    """The case of a spec on loaded data; InputError if they do not fit the task or the oracle, or b > m.

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
    if not ORACLES[family.oracle].encloses:
        refuse_samples(spec.id, problem.samples)
    stream, iterations, unit = _run(spec, problem.samples)
    values = tuple(sorted({*family.s, *family.further}))
    # Training keeps a at the ends of its intervals only, a command that tunes s its last one. Of a program
    # judged by its ends alone, each point would be a run of its own.
    tunes = family.solver == "solve" and family.tuned and family.auto
    points = {
        s: (iterations,)
        if tunes or (family.is_program and not set(PRIMARY) & set(family.checks))
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
        told=family.solver in TRAINING,
        ends=family.ends,
        variants={name: item for name, item in declarations.items() if name},
        points=common_points(points) if family.stability else points,
        short=max(SHORT // unit, 1) * unit,
        unit=unit if family.counts == "epochs" else 1,
        restarts=not family.from_zero,
        windows=family.windows,
        replay_limit=family.replay_limit,
        seed=family.seed,
        oracle=family.oracle,
        # One vector is one case.
        replay_command=f"{again if family.is_vector else command_for(again, spec.id)} {options}".strip(),
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
    length = family.start + wanted
    stream = IndexStream(family.stream, samples, block, length, family.seed, replacement=family.replacement)
    return stream, wanted, unit


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


SLOWNESS = {"linear": 1, "polynomial": 2, "rbf": 3}
"""Rough relative cost of an entry, by kernel."""


def expected_cost(specs: Sequence[CaseSpec], samples: int) -> float:
    """Rough relative cost of the cases of a unit, to begin with the largest.

    Replays cost kernel columns and, per step of a window, products over its distinct coordinates; runs
    cost one row product per iteration, at about a thousandth of that per entry.
    """
    kernel = specs[0].kernel.name
    if kernel not in SLOWNESS:
        raise InputError(
            f"kernel {kernel!r}: a campaign certifies optima, of the kernels {', '.join(SLOWNESS)} only; "
            "judge a kernel of one's own by judge()"
        )
    slowness = SLOWNESS[kernel]
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


@dataclass(frozen=True)
class Memory:
    """Bytes that a case takes, by what they are for, and those that its process may take.

    `whole` says whether kernel matrix and optimum fit, which take `matrices` with the data in balls. If
    not, gaps are measured by panels of kernel rows and relative to the dual value reached.
    """

    limit: int
    parts: dict[str, int]
    whole: bool
    matrices: int

    @property
    def total(self) -> int:
        """Bytes of all parts."""
        return sum(self.parts.values())

    @property
    def notable(self) -> bool:
        """Whether it is said at the start of a run: above a tenth of the limit, or no optimum fits."""
        return 10 * self.total > self.limit or not self.whole

    @property
    def words(self) -> str:
        """One line for reports and for the start of a run."""
        parts = ", ".join(f"{what} {gibibytes(size)}" for what, size in self.parts.items())
        line = f"about {gibibytes(self.total)} of {gibibytes(self.limit)} GiB a process ({parts})"
        if not self.whole:
            line += (
                f"; the optimum is not searched, which takes {gibibytes(self.matrices)} GiB: gaps by "
                "panels of kernel rows, relative to the dual value reached"
            )
        return line


def memory_of(spec: CaseSpec, case: Case) -> Memory:
    """What a case takes; see `Memory`.

    InputError if it is more than its family allows, or a check needs an optimum, or the drift of
    maintained weights, that does not fit; the message names the figure and the ways out.
    """
    problem, family = case.problem, spec.family
    m, limit = problem.samples, family.memory_bytes
    matrix = 8 * m**2
    # The measure of a K-SVM keeps its kernel matrix as well, and a search holds the data in balls.
    matrices = optimum_bytes(m, svm=problem.is_svm) + matrix * problem.is_svm + values_bytes(problem.data)
    parts = {"data": 8 * m * problem.features * (1 + problem.is_sparse), **_runs(spec, case)}
    left = limit - sum(parts.values())
    whole = matrices <= left
    parts["kernel matrices" if whole else "kernel panels"] = matrices if whole else 8 * m * 3 * ROWS
    found = Memory(limit, parts, whole, matrices)
    too_large = {}
    if not whole:
        too_large["optimum"] = matrices
    if case.declaration.weights is not None and WEIGHTS_MATRICES * matrix > left:
        too_large["residual-gap"] = WEIGHTS_MATRICES * matrix
    for check in family.checks:
        if check in too_large:
            raise InputError(
                f"{case.id}: check {check!r} needs {gibibytes(too_large[check])} GiB for m = {m}, but the "
                f"family allows {gibibytes(limit)} GiB a process in all; name its checks without "
                f"{check!r} (checks = [...]), or raise it (memory = GiB)"
            )
    if found.total > limit:
        raise InputError(
            f"{case.id}: takes {found.words}; raise it (memory = GiB), or lower replay_limit, drift or s"
        )
    return found


def require_cache(spec: CaseSpec, case: Case) -> None:
    """Raise InputError if the cache of kernel rows cannot hold those of one window."""
    family, m = spec.family, case.problem.samples
    needed = min(max(case.s_values) * spec.block, m)
    if 0 < family.cache < needed * m:
        raise InputError(
            f"{case.id}: cache = {family.cache} words, but the {needed} kernel rows of {m} values that a "
            f"window of s = {max(case.s_values)} may need take {needed * m}; raise it to that, lower s, or "
            "set cache = 0"
        )


def _runs(spec: CaseSpec, case: Case) -> dict[str, int]:
    """Bytes of windows, of the recorded dual vectors, and of what else the family asks for."""
    family, m = spec.family, case.problem.samples
    replayed = [min(s * spec.block, m) for s in case.s_values if replayable(case, s)]
    drawn = max((min(s * spec.block, m) for s in case.s_values), default=0)
    parts = {
        "windows": 8 * m * (drawn + ROW_ARRAYS * max(replayed, default=0))
        + BALL * min(CACHED_BALLS, m * m),
        "recorded vectors": 8 * m * sum(2 * len(points) for points in case.points.values()),
    }
    if family.keep_gram:
        parts["Gram matrix of the solver"] = 8 * m**2
    if family.drift:
        updates = min(family.drift // spec.block, family.iterations) * spec.block
        # At two precisions, one after the other.
        parts["exact trajectory"] = BALL * m * min(updates, m)
    return parts
