"""Items of the check contract: what is wrong with a run, by item."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.errors import ResultError
from sstep_verify.rounding.arithmetic import TYPES
from sstep_verify.trajectory import RAISED, Asked, Trajectory

OWN = ("tolerance", "stagnation")
"""Reasons for stopping that are a solver's own rule."""

FINITE = "finite"
"""The item that depends on the arithmetic of a run; all others do not."""

STOPS = ("iterations", "observer", *OWN)
"""Reasons for stopping, see `Trajectory.stopped`."""

ITEMS = (
    "length", "start", "s", "recorded iterations", "first a", "shape", "type", FINITE, "inputs",
    "stop reason", "state", "panels",
)  # fmt: skip
"""Items held against the request."""

Faults = Iterator[tuple[str, str]]
"""Items that are wrong, in the order of `ITEMS`, each with what is wrong."""


def faults_of(declaration: Declaration, trajectory: Trajectory, asked: Asked) -> Faults:
    """What is wrong with a run of a solver that declares this."""
    yield from _of_steps(trajectory, asked)
    yield from _of_values(declaration, trajectory, asked)
    if asked.changed:
        yield "inputs", f"the run changed what it was given or shares: {', '.join(asked.changed)}"
    if fault := _stop(trajectory, asked):
        yield "stop reason", fault
    for name in declaration.state if declaration.level >= 2 else ():
        if name not in trajectory.state:
            yield "state", f"the declared state {name!r} is not recorded"
            break
        width = asked.features if name == "weights" else asked.initial.size
        wanted, shape = (len(trajectory.iterations), width), np.shape(trajectory.state[name])
        if shape != wanted:
            yield "state", f"the state {name!r} has the shape {shape} instead of {wanted}"
            break
    yield from _of_panels(trajectory, asked)


def _of_steps(trajectory: Trajectory, asked: Asked) -> Faults:
    length = trajectory.length
    if trajectory.stopped == "iterations" and length != asked.iterations:
        yield "length", f"{length} of {asked.iterations} iterations were made"
    elif length > asked.iterations:
        yield "length", f"{length} iterations were made, {asked.iterations} asked for"
    if trajectory.start != asked.start:
        yield (
            "start",
            (f"began at position {trajectory.start} of the index stream instead of {asked.start}"),
        )
    if trajectory.s != asked.s:
        yield "s", f"windows of s = {trajectory.s} instead of {asked.s}"
    recorded = np.asarray(trajectory.iterations)
    if recorded.ndim != 1 or recorded.size == 0 or recorded.dtype.kind not in "iu":
        yield (
            "recorded iterations",
            (f"recorded iterations are a {recorded.dtype} array of shape {recorded.shape}"),
        )
        return
    due = [stop for stop in asked.points if stop <= length]
    if trajectory.stopped in OWN and length % asked.s == 0:
        due = sorted({*due, length})  # Its own rule may end it at any window's end.
    if recorded.tolist() != due:
        missing, beside = set(due) - set(recorded.tolist()), set(recorded.tolist()) - set(due)
        yield (
            "recorded iterations",
            (
                f"a is recorded at {recorded.size} iterations instead of {len(due)}: missing "
                f"{sorted(missing)[:3]}, not asked for {sorted(beside)[:3]}"
            ),
        )


def _of_values(declaration: Declaration, trajectory: Trajectory, asked: Asked) -> Faults:
    alphas = np.asarray(trajectory.alphas)
    # Another shape is wrong by itself.
    if alphas.ndim == 2 and alphas.shape[0] and alphas.shape[1:] == asked.initial.shape:
        with np.errstate(over="ignore"):
            held = asked.initial.astype(TYPES[declaration.precision])
        if (places := np.flatnonzero(~(alphas[0] == held))).size:
            first = int(places[0])
            yield (
                "first a",
                (
                    f"the first a differs from a0: coordinate {first} is {alphas[0, first]!r}, "
                    f"a0 {held[first]!r}"
                ),
            )
    wanted = (len(trajectory.iterations), asked.initial.size)
    if alphas.shape != wanted:
        yield "shape", f"a has the shape {alphas.shape} instead of {wanted}"
    held_in, needed = alphas.dtype, TYPES[declaration.precision]
    if isinstance(trajectory.alphas, np.ma.MaskedArray):
        yield "type", "a is a masked array; needed is a plain one, whose every value counts"
    elif held_in.kind != "f" or np.finfo(held_in).nmant < np.finfo(needed).nmant:
        yield "type", f"a is held in {held_in}, which cannot hold the declared {declaration.precision}"
    if (spoiled := not_finite(trajectory)) is not None:
        name, iteration, value = spoiled
        where = f" at iteration {iteration}" if iteration >= 0 else ""
        yield FINITE, f"{name} is not finite, first{where}: {value}"


def not_finite(trajectory: Trajectory) -> tuple[str, int, object] | None:
    """The first value that is not finite: of what, at which iteration (-1: none is recorded), which."""
    for name, array in {"a": trajectory.alphas, **trajectory.state}.items():
        values = np.asarray(array)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            place = tuple(int(k) for k in np.argwhere(~np.isfinite(values))[0])
            row = min(place[0], len(trajectory.iterations) - 1) if place else 0
            return name, int(trajectory.iterations[row]) if row >= 0 else -1, values[place]
    return None


def _stop(trajectory: Trajectory, asked: Asked) -> str:
    """What is wrong with how it ended; empty if nothing is."""
    reason, length = trajectory.stopped, trajectory.length
    if trajectory.raised:
        kind, message = trajectory.raised.kind, trajectory.raised.message
        if kind == ResultError.__name__:  # It raised nothing itself.
            return message
        return f"the solver {RAISED} {kind}{': ' * bool(kind)}{message}"
    if reason not in STOPS:
        return f"the reason for stopping, {reason!r}, is none of {', '.join(STOPS)}"
    if asked.ended is not None and (reason, length) != ("observer", asked.ended):
        return f"the observer ended it at iteration {asked.ended}, but it stopped by {reason} at {length}"
    if reason == "observer" and asked.ended is None and trajectory.asked is not None:
        return f"it says that its observer ended it at iteration {length}, which it did not"
    if reason in OWN and not trajectory.claims:
        return f"it stopped by its own rule at iteration {length} and claims nothing of its result"
    return ""


def _of_panels(trajectory: Trajectory, asked: Asked) -> Faults:
    for begin, panel in trajectory.panels.items():
        columns, among, fault = np.asarray(panel.columns), panel.among, ""
        wanted = (columns.size, asked.initial.size if among is None else np.size(among))
        if np.shape(panel.entries) != wanted or columns.dtype.kind not in "iu":
            fault = f"the panel of iteration {begin} has the shape {np.shape(panel.entries)}, not {wanted}"
        elif 0 in wanted:
            fault = f"the panel of iteration {begin} holds no entry, but its window drew coordinates"
        elif begin not in trajectory.iterations:
            fault = f"a panel is exposed at iteration {begin}, where a is not recorded"
        if fault:
            yield "panels", fault
            return
