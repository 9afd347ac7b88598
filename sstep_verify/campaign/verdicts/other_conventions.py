"""Names the convention with which a run of a program that failed would have been right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sstep_verify.adapters.program import ProgramFile
from sstep_verify.adapters.program.tables import Draws
from sstep_verify.adapters.program.translate import Translation
from sstep_verify.checks.recorded import kernel_entries
from sstep_verify.checks.registry import PRIMARY, verdicts_of, with_draws
from sstep_verify.checks.shared.case import Case, Check
from sstep_verify.checks.trajectory import ID as ENDS
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import Solver
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Hint, HintKind, Status, Verdict

OF_ROWS = kernel_entries.ID
"""Check of the kernel rows that a program leaves, which may hold Q for K or K for Q."""

HINTED = (*PRIMARY, ENDS, OF_ROWS)
"""Checks whose failures may come from a convention."""

FROM_ZERO = 'start = "zero"'
"""The convention of a program that ignores its start vector."""

WORK = 1 << 25
"""Kernel entries of a run's steps (H b m) up to which its checks are made again: a second or so each."""


def name_conventions(
    check: Check,
    case: Case,
    trajectories: Mapping[str, Trajectory],
    solver: Solver,
    verdicts: Sequence[Verdict],
    oracle: Oracle,
) -> list[Verdict]:
    """The verdicts, the first FAIL of a check with the conventions under which its run passes it.

    Of a solver that is no program nothing is tried. `trajectories` are all runs of the case, by key.
    """
    described: ProgramFile | None = getattr(solver, "described", None)
    failed = next((one for one in verdicts if one.status is Status.FAIL), None)
    if failed is None or check.id not in HINTED or described is None:
        return list(verdicts)
    if any(hint.kind is HintKind.STARTED_AT_ZERO for hint in failed.hints):
        hint = Hint(HintKind.CONVENTION, (FROM_ZERO,))
        changed = replace(failed, hints=(*failed.hints, hint))
        return [changed if one is failed else one for one in verdicts]
    if case.iterations * case.stream.block * case.problem.samples > WORK:
        return list(verdicts)
    alone = replace(case, s_values=(failed.s,))
    right_with = _right_rows if check.id == OF_ROWS else _right_with
    found = right_with(check, alone, check.wanted(alone, trajectories), described, oracle)
    hints = [Hint(HintKind.CONVENTION, (name,)) for name in found]
    if not found:
        least = failed.s == min(case.s_values)
        if not least or failed.defects or check.id == OF_ROWS or _mostly_right(failed):
            return list(verdicts)
        hints = [_own_draws(described.stream)]
    changed = replace(failed, hints=(*failed.hints, *hints))
    return [changed if one is failed else one for one in verdicts]


def _mostly_right(failed: Verdict) -> bool:
    """Whether most steps, or windows, of a run are correct: then it drew the coordinates of the stream."""
    over, seen = failed.evidence.get("steps_over_bound"), failed.coverage
    if isinstance(over, int) and seen is not None:
        return 2 * over < seen.judged
    windows: Any = failed.evidence.get("windows", ())
    return 2 * sum(one["status"] == Status.PASS for one in windows) > len(windows)


def _own_draws(draws: Draws | None) -> Hint:
    """What is asked where nothing else explains a run: whether it drew other coordinates."""
    if draws is None:
        return Hint(HintKind.DRAWS)
    how = "" if draws.logged else f", with{'' if draws.replacement else 'out'} replacement"
    return Hint(HintKind.DRAWS, (f"{draws}{how}",))


def _right_rows(
    check: Check, case: Case, runs: Mapping[str, Trajectory], described: ProgramFile, oracle: Oracle
) -> list[str]:
    """Whether a check would have passed if the rows held Q instead of K, or the other way round."""
    if not case.problem.is_svm:
        return []
    tried = replace(case, diagnose=False)
    changed = {key: _relabelled(run, case) for key, run in runs.items()}
    if any(one.status is not Status.PASS for one in verdicts_of(check, tried, changed, oracle)):
        return []
    other = {"K": "Q", "Q": "K"}[described.conventions.rows]
    return [f'rows = "{other}"']


def _relabelled(run: Trajectory, case: Case) -> Trajectory:
    """A run whose kernel rows have their labels multiplied in, or taken out."""
    labels = case.problem.targets
    panels = {}
    for begin, panel in run.panels.items():
        among = labels if panel.among is None else labels[panel.among]
        panels[begin] = replace(panel, entries=panel.entries * labels[panel.columns][:, None] * among)
    return replace(run, panels=panels)


def _right_with(
    check: Check, case: Case, runs: Mapping[str, Trajectory], described: ProgramFile, oracle: Oracle
) -> list[str]:
    own, problem = described.conventions, case.problem
    logged = all(run.drawn is not None for run in runs.values())
    found = []
    for words, other in own.others(reordered=logged):
        if problem.loss.task not in other.tasks or not own.exact or (check.id != ENDS and not other.exact):
            continue
        change = own.of(problem).into(other.of(problem))
        changed = {key: _changed(run, change, case) for key, run in runs.items()}
        stream = replace(case.stream, drawn="") if logged else case.stream
        other_case = replace(case, scaled=not other.exact, stream=stream, diagnose=False)
        tried = with_draws(other_case, changed.values())
        if tried and all(one.status is Status.PASS for one in verdicts_of(check, tried, changed, oracle)):
            if isinstance(other.scale, str) and other.scale != own.scale and other.of(problem).exact:
                factor = float(other.of(problem).factor)
                words += (
                    f" (or, as a power of two, scale = {factor!r} with that value under [fixed]: then "
                    "windows and steps are judged too)"
                )
            found.append(words)
    return found


def _changed(run: Trajectory, change: Translation, case: Case) -> Trajectory:
    """A run as another translation would have given it."""
    everywhere = np.arange(change.order.size)
    alphas, errors = change.ours(np.asarray(run.alphas, dtype=np.float64)[:, change.order], everywhere)
    rounding = None if change.exact and run.rounding is None else errors
    if run.rounding is not None:
        rounding = errors + change.reach(run.rounding[:, change.order])
    drawn, log = run.drawn, run.log
    if drawn is not None:
        drawn = np.argsort(change.order)[drawn]
    if log is not None:
        own = case.stream.blocks(run.start, run.start + run.length) if drawn is None else drawn
        log = change.ours(log, own)[0]
    known = None if run.known is None else run.known[change.order]
    return replace(run, alphas=alphas, rounding=rounding, known=known, drawn=drawn, log=log)
