"""Names the mistakes that would have ended a failed window where the solver did."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sstep_reference import SingularSystemError

from sstep_verify.oracle.replay.window import Replay
from sstep_verify.quantities import WRITE_BACK
from sstep_verify.recurrence.catalogue import CATALOGUE
from sstep_verify.recurrence.mutation import NONE, Mutation, left_out

TAIL_LOST, NOT_STORED = "tail-lost", left_out(WRITE_BACK).name
"""A lost tail is a short last window whose new values were not stored."""

PARTIAL = (
    Mutation("corrected-by-newest-increment-alone", earlier=(-1, None)),
    Mutation("newest-increment-lost", earlier=(None, -1)),
    Mutation("corrected-by-first-increment-alone", earlier=(None, 1)),
    Mutation("first-increment-lost", earlier=(1, None)),
    Mutation("last-step-alone-corrected", corrected=(-1, None)),
    Mutation("last-step-uncorrected", corrected=(None, -1)),
)
"""The kernel correction of the s-step recurrence, made for a part of it."""

_BETWEEN = ("kernel", "kernel_overlap", "overlap", "omega_overlap", "lose_tail", "assign_once")


def of_correction(mutation: Mutation) -> bool:
    """Whether a mutation changes nothing where a window is a single step."""
    right = {name: getattr(NONE, name) for name in ("name", "corrected", "earlier", *_BETWEEN)}
    return replace(mutation, **right) == NONE


def mistakes(task: str, names: list[str]) -> list[Mutation]:
    """The mutations that are tried, once each: quantities left out, the catalogue, parts of the correction.

    Parameters
    ----------
    task : {"svm-l1", "svm-l2", "krr"}
        Task.
    names : list of str
        Quantities that act in the window.
    """
    found: dict[Mutation, Mutation] = {}
    known = [d.mutation for d in CATALOGUE if task in d.tasks]
    for mutation in [left_out(name) for name in names] + known + list(PARTIAL):
        if not mutation.lose_tail:  # a lost tail is a window whose new values were not stored
            found.setdefault(replace(mutation, name=""), mutation)
    return list(found.values())


def suspects(
    task: str,
    replay: Replay,
    names: list[str],
    bound: np.ndarray,
    *,
    tail: bool = False,
    between: bool = False,
) -> tuple[str, ...]:
    """Mistakes whose exact window end the solver's end is within the bound of.

    Parameters
    ----------
    task : {"svm-l1", "svm-l2", "krr"}
        Task.
    replay : Replay
        The replay of a window that failed.
    names : list of str
        Quantities that act in it.
    bound : ndarray, shape (k,)
        Its bound.
    tail : bool
        Whether it is a short last window, which may not have been made at all.
    between : bool
        Whether only what relates the steps of a window can be wrong, since the run of s = 1 is right.
    """
    relating = [
        one for one in mistakes(task, names) if of_correction(one) or (tail and one.name == NOT_STORED)
    ]
    tried = relating if between else mistakes(task, names)
    found = [mistake.name for mistake in tried if _reproduces(replay, mistake, bound)]
    return (TAIL_LOST, *found) if tail and NOT_STORED in found else tuple(found)


def _reproduces(replay: Replay, mistake: Mutation, bound: np.ndarray) -> bool:
    if replay.distance is None:
        return False
    try:
        _, high = replay.distance(mistake)
    except SingularSystemError:
        return False
    return bool((high[: bound.size] <= bound).all())
