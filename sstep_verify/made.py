"""Has a run made, and writes down what it was asked for and which of its inputs it changed."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.problems import Problem
from sstep_verify.solver import Observer, RunRequest, Solver
from sstep_verify.trajectory import Asked, Trajectory

DRAWS_LOOKED_AT = 1 << 12
"""First blocks of a run whose bits are compared before and after it: a stream keeps what it drew."""


def asked_of(request: RunRequest) -> Asked:
    """What a request asks for."""
    initial = np.zeros(request.problem.samples) if request.initial is None else np.array(request.initial)
    return Asked(
        s=request.s,
        start=request.start,
        iterations=request.iterations,
        points=tuple(request.stops),
        initial=initial,
        problem=request.problem.digest,
        features=request.problem.features,
        panels=request.expose_panels,
        variant=request.variant,
    )


def make_run(solver: Solver, request: RunRequest, observe: Observer | None = None) -> Trajectory:
    """Let a solver make a run.

    Parameters
    ----------
    solver : Solver
        Makes it.
    request : RunRequest
        What it is asked for.
    observe : callable, optional
        Called at every recorded iteration; returning True ends the run there.

    Returns
    -------
    Trajectory
        What the solver returned, with `Trajectory.asked`.

    Raises
    ------
    InputError
        If the solver returns something else.
    """
    asked, before = asked_of(request), _digests(request)
    ended: list[int] = []

    def observed(iteration: int, alpha: np.ndarray) -> bool:
        stop = observe is not None and bool(observe(iteration, alpha))
        if stop:
            ended.append(int(iteration))
        return stop

    made = solver.run(request, observe and observed)
    if not isinstance(made, Trajectory):
        raise InputError(
            f"{solver.declaration.name}: run() returned {type(made).__name__}; a Trajectory is needed"
        )
    after = _digests(request)
    changed = tuple(name for name, digest in before.items() if after[name] != digest)
    return replace(made, asked=replace(asked, ended=ended[0] if ended else None, changed=changed))


def _digests(request: RunRequest) -> dict[str, str]:
    """SHA-256 of the bits of every input array of a run, by name."""
    last = request.start + min(request.iterations, DRAWS_LOOKED_AT)
    found = {
        **{f"data{part}": _digest(array) for part, array in _parts(request.problem)},
        "targets": _digest(request.problem.targets),
        "index stream": _digest(request.stream.blocks(request.start, last)),
    }
    return found if request.initial is None else {**found, "a0": _digest(np.asarray(request.initial))}


def _parts(problem: Problem) -> list[tuple[str, np.ndarray]]:
    if isinstance(problem.data, np.ndarray):
        return [("", problem.data)]
    return [(f".{part}", getattr(problem.data, part)) for part in ("data", "indices", "indptr")]


def _digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()
