"""Check trajectory: a short run from zero stays as near the exact trajectory as its rounding allows.

window-replay restarts from the recorded alpha at every window. Here nothing is restarted, so an error that
is carried from window to window, a lost window or a wrong index stream shows even where each window by
itself looks correct. The price is a bound that grows with the number of iterations
(sstep_verify/bounds/window/svm.py, sstep_verify/bounds/window/ridge.py). So the runs are short, and every
verdict lists its ratio against H.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from sstep_verify.checks.shared.case import Case, Check, unseen_weights
from sstep_verify.checks.shared.outcome import right_at_one
from sstep_verify.checks.short.runs import (
    has_bound,
    short_key,
    short_length,
    short_request,
    short_truth,
)
from sstep_verify.checks.short.verdict import verdict_of
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Verdict

ID = "trajectory"

ROUNDED = "rounded_when_written"
"""Key of the evidence on a run whose values were rounded when they were written down."""

ENDS_ALONE = "judged_by_final_vectors"
"""Key of the evidence on a solver of which no window is judged: of level 0, or with unrecorded weights."""


def runs(case: Case) -> dict[str, RunRequest]:
    """A short run of every s, recorded at about H, H/2, H/4, ..."""
    if not short_length(case):
        return {}
    return {short_key(s): short_request(case, s) for s in case.s_values}


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Compare the short runs with the exact trajectory.

    Parameters are those of `Check.judge`; the oracle gives the exact kernel.

    Returns
    -------
    list of Verdict
        One per s; VACUOUS where the run without its kernel correction would have stayed within the bound.
    """
    if not short_length(case):
        return []
    truth = short_truth(case, oracle)
    verdicts: list[Verdict] = []
    for s in case.s_values:
        run = trajectories[short_key(s)]
        right = s > 1 and right_at_one(case, verdicts)
        verdict = verdict_of(ID, truth, s, run, right=right)
        evidence = dict(verdict.evidence)
        if run.rounding is not None:
            evidence[ROUNDED] = float(np.max(run.rounding, initial=0.0))
        if case.formulas.level == 0 or unseen_weights(case):
            evidence[ENDS_ALONE] = True
        verdicts.append(replace(verdict, evidence=evidence))
    return verdicts


CHECK = Check(
    id=ID,
    text=__doc__,
    exact=True,
    needs="a short run of every s, recorded at about H, H/2, H/4, ...",
    planted="the kernel correction of the s-step recurrence left out in every window of the run",
    runs=runs,
    judge=judge,
    bounds=("bounds/window/svm", "bounds/window/ridge"),
    level=0,
    bounded=has_bound,
)
