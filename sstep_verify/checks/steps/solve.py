"""Judges every block step of logged K-RR windows in float64 by the residual that its increment leaves."""

from __future__ import annotations

from sstep_verify.checks.steps.residual import judged_residual
from sstep_verify.checks.steps.step_statistics import FREE, event
from sstep_verify.compiled import inlined


@inlined
def judge_solved_step(rows, state, block, segment, step, constants, progress, kept, tally):
    """Judge one step, by the entry of its residual that is largest relative to its bound.

    `step` is its place in the segment, `constants` are those of the bounds, and `progress` is what its
    window did before; the rest is as for `judge_steps`.
    """
    bound, distance, solved = judged_residual(rows, state, block, segment, step, constants, progress, kept)
    tally.distance[step], tally.bound[step], kept.solved[step] = distance, bound, solved
    event(tally, FREE, segment.first + step)
