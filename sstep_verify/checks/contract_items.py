"""Items of the check contract, one function each, that says what is wrong with a run, or nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.rounding.arithmetic import TYPES
from sstep_verify.trajectory import RAISED, Asked, Trajectory

OWN = ("tolerance", "stagnation")
"""Reasons for stopping that are a solver's own rule."""

FINITE = "finite"
"""The item that depends on the arithmetic of a run; all others do not."""

STOPS = ("iterations", "observer", *OWN)
"""Reasons for stopping, see `Trajectory.stopped`."""


def _length(declaration: Declaration, trajectory: Trajectory, asked: Asked) -> str:
    length = trajectory.length
    if trajectory.stopped == "iterations" and length != asked.iterations:
        return f"{length} of {asked.iterations} iterations were made"
    return (
        f"{length} iterations were made, {asked.iterations} asked for" if length > asked.iterations else ""
    )


def _start(declaration: Declaration, trajectory: Trajectory, asked: Asked) -> str:
    if trajectory.start == asked.start:
        return ""
    return f"began at position {trajectory.start} of the index stream instead of {asked.start}"


def _steps(declaration: Declaration, trajectory: Trajectory, asked: Asked) -> str:
    return "" if trajectory.s == asked.s else f"windows of s = {trajectory.s} instead of {asked.s}"


def _recorded(declaration: Declaration, trajectory: Trajectory, asked: Asked) -> str:
    recorded = np.asarray(trajectory.iterations)
    if recorded.ndim != 1 or recorded.size == 0 or recorded.dtype.kind not in "iu":
        return f"recorded iterations are a {recorded.dtype} array of shape {recorded.shape}"
    due = [stop for stop in asked.points if stop <= trajectory.length]
    if trajectory.stopped in OWN and trajectory.length % asked.s == 0:
        due = sorted({*due, trajectory.length})  # Its own rule may end it at any window's end.
    if recorded.tolist() == due:
        return ""
    missing, beside = sorted(set(due) - set(recorded.tolist())), sorted(set(recorded.tolist()) - set(due))
    return (
        f"a is recorded at {recorded.size} iterations instead of {len(due)}: missing {missing[:3]}, "
        f"not asked for {beside[:3]}"
    )


def _initial(declaration: Declaration, trajectory: Trajectory, asked: Asked) -> str:
    alphas = np.asarray(trajectory.alphas)
    if alphas.ndim != 2 or alphas.shape[0] == 0 or alphas.shape[1:] != asked.initial.shape:
        return ""  # The shape is what is wrong.
    with np.errstate(over="ignore"):
        held = asked.initial.astype(TYPES[declaration.precision])
    places = np.flatnonzero(~(alphas[0] == held))
    if not places.size:
        return ""
    first = int(places[0])
    return f"the first a differs from a0: coordinate {first} is {alphas[0, first]!r}, a0 {held[first]!r}"


def _shape(declaration: Declaration, trajectory: Trajectory, asked: Asked) -> str:
    alphas = np.asarray(trajectory.alphas)
    wanted = (len(trajectory.iterations), asked.initial.size)
    if alphas.shape != wanted:
        return f"a has the shape {alphas.shape} instead of {wanted}"
    return ""


def _type(declaration: Declaration, trajectory: Trajectory, asked: Asked) -> str:
    if isinstance(trajectory.alphas, np.ma.MaskedArray):
        return "a is a masked array; needed is a plain one, whose every value counts"
    held = np.asarray(trajectory.alphas).dtype
    if held.kind == "f" and np.finfo(held).nmant >= np.finfo(TYPES[declaration.precision]).nmant:
        return ""
    return f"a is held in {held}, which cannot hold the declared {declaration.precision}"


def not_finite(trajectory: Trajectory) -> tuple[str, int, object] | None:
    """The first value that is not finite: of what, at which iteration (-1: none is recorded), which."""
    for name, array in {"a": trajectory.alphas, **trajectory.state}.items():
        values = np.asarray(array)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            place = tuple(int(k) for k in np.argwhere(~np.isfinite(values))[0])
            row = min(place[0], len(trajectory.iterations) - 1) if place else 0
            return name, int(trajectory.iterations[row]) if row >= 0 else -1, values[place]
    return None


def _finite(declaration: Declaration, trajectory: Trajectory, asked: Asked) -> str:
    name, iteration, value = not_finite(trajectory) or ("", -1, 0.0)
    where = f" at iteration {iteration}" if iteration >= 0 else ""
    return f"{name} is not finite, first{where}: {value}" if name else ""


def _inputs(declaration: Declaration, trajectory: Trajectory, asked: Asked) -> str:
    return (
        f"the run changed what it was given or shares: {', '.join(asked.changed)}" if asked.changed else ""
    )


def _stop(declaration: Declaration, trajectory: Trajectory, asked: Asked) -> str:
    reason, length = trajectory.stopped, trajectory.length
    if trajectory.raised:
        kind, message = trajectory.raised.kind, trajectory.raised.message
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


def _state(declaration: Declaration, trajectory: Trajectory, asked: Asked) -> str:
    for name in declaration.state if declaration.level >= 2 else ():
        if name not in trajectory.state:
            return f"the declared state {name!r} is not recorded"
        width = asked.features if name == "weights" else asked.initial.size
        wanted, shape = (len(trajectory.iterations), width), np.shape(trajectory.state[name])
        if shape != wanted:
            return f"the state {name!r} has the shape {shape} instead of {wanted}"
    return ""


def _panels(declaration: Declaration, trajectory: Trajectory, asked: Asked) -> str:
    for begin, panel in trajectory.panels.items():
        columns, among = np.asarray(panel.columns), panel.among
        wanted = (columns.size, asked.initial.size if among is None else np.size(among))
        if np.shape(panel.entries) != wanted or columns.dtype.kind not in "iu":
            return f"the panel of iteration {begin} has the shape {np.shape(panel.entries)}, not {wanted}"
        if 0 in wanted:
            return f"the panel of iteration {begin} holds no entry, but its window drew coordinates"
        if begin not in trajectory.iterations:
            return f"a panel is exposed at iteration {begin}, where a is not recorded"
    return ""


ITEMS: dict[str, Callable[[Declaration, Trajectory, Asked], str]] = {
    "length": _length,
    "start": _start,
    "s": _steps,
    "recorded iterations": _recorded,
    "first a": _initial,
    "shape": _shape,
    "type": _type,
    FINITE: _finite,
    "inputs": _inputs,
    "stop reason": _stop,
    "state": _state,
    "panels": _panels,
}
"""Items held against the request; each says what is wrong, or nothing."""
