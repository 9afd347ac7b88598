"""The production solver in all its forms, run over a drawn scenario."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from unittest import mock

import numpy as np
import scipy.sparse as sp
from drawn_windows import Scenario
from hypothesis import strategies as st

from sstep_verify.protocol import Declaration, RunRequest
from sstep_verify.solver import ProductionSolver, recurrences, ridge_window


@st.composite
def production_forms(draw):
    return {
        "update": draw(st.sampled_from(["in-place", "frozen"])),
        "keep_gram": draw(st.booleans(), label="gram kept"),
        "sparse": draw(st.booleans(), label="CSR"),
        "gather": draw(st.booleans(), label="gathered corrections"),
    }


def gathering():
    """Make K-RR windows gather their corrections, as they do where a window touches few of the samples.

    The threshold is a constant of the compiled code, so the plain Python of the function runs instead.
    """
    plain = {
        name: getattr(function, "py_func", function)
        for name, function in vars(ridge_window).items()
        if name in ("ridge_window", "ridge_kept_windows", "takes_fresh_products")
    }
    return mock.patch.multiple(recurrences.ridge_window, GATHER_FACTOR=0, **plain)


def production_run(scenario: Scenario, form: dict) -> tuple[Declaration, list[np.ndarray]]:
    problem = scenario.problem
    if form["sparse"]:
        problem = replace(problem, data=sp.csr_array(problem.data))
    solver = ProductionSolver(update=form["update"], keep_gram=form["keep_gram"])
    H = scenario.stream.length
    request = RunRequest(
        problem, scenario.stream, scenario.s, H, initial=scenario.initial, record=(scenario.s,)
    )
    with gathering() if form["gather"] else nullcontext():
        trajectory = solver.run(request)
    return solver.declaration, [trajectory.at(stop) for stop in (0, scenario.s, H)]
