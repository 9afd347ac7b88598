"""Predictions over s and P as plain tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sstep_verify.costs.model.machine import Machine
from sstep_verify.costs.model.production import Method, phases
from sstep_verify.costs.model.profiles import Profile
from sstep_verify.costs.model.published import Times, times
from sstep_verify.costs.model.timings import runs_of
from sstep_verify.errors import InputError

Row = dict[str, int | float]


def predict(
    machine: Machine,
    profile: Profile,
    method: Method,
    ranks: Iterable[int],
    steps: Iterable[int],
    program: str = "production",
    iterations: int = 640,
) -> list[Row]:
    """Microseconds per iteration by phase, a row for each P and s.

    Parameters
    ----------
    machine : Machine
        The machine.
    profile : Profile
        The data.
    method : Method
        What is run.
    ranks, steps : iterable of int
        P and s.
    program : {"production", "published"}
        This package's solver, or the paper's programs.
    iterations : int
        Of a run of the paper's programs (H), over which its start is spread.

    Raises
    ------
    InputError
        If the machine or the paper's programs do not go with what is asked.
    """
    sizes = [(count, s) for count in ranks for s in steps]
    if program == "production":
        rows = []
        for count, s in sizes:
            found = phases(machine, profile, method, count, s)
            rows.append(_row(count, s, found._asdict(), found.total))
        return rows
    if not machine.published:
        raise InputError(f"machine {machine.name!r} was not fitted to published programs; take perlmutter")
    if method.exchange != "allreduce":
        raise InputError(f"exchange {method.exchange}: the published programs have allreduce only")
    name = replace(profile, name="data")
    program_of = "ksvm" if method.svm else "krr"
    keys = [("data", program_of, method.kernel, method.block, count, s, iterations) for count, s in sizes]
    taken = times(machine.published, runs_of(keys, {"data": name}))
    return [
        _row(
            *size,
            {field: float(getattr(taken, field)[place]) for field in Times._fields},
            taken.total[place],
        )
        for place, size in enumerate(sizes)
    ]


def _row(count: int, s: int, by_phase: dict[str, float], total: float) -> Row:
    return {"P": count, "s": s, **by_phase, "total": float(total)}
