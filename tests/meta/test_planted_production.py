"""Defects planted in the production solver's own source turn the window replay red.

Every planted run is compared with the unplanted solver on the very same input, and with the solver
rebuilt from an edit that changes nothing: both must stay green, so that the red is the defect's.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from daily import crossed
from plant import PlantError, edited_source, plant
from worst_ratio import Ratio, window_ends, worst_ratio

from sstep_verify import solver as production
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import ridge_window, svm_window, windows
from sstep_verify.solver import run as run_module

# Two full windows and a short one, long enough that coordinates drawn again are clipped: where such a
# step is free, its new value does not depend on the old one and a dropped overlap has no effect.
SAMPLES, WIDTH, ITERATIONS = 8, 17, 40
LOSSES = {"svm-l1": Hinge(4.0), "svm-l2": SquaredHinge(2.0), "krr": Ridge(0.01)}
KERNELS = [LinearKernel(), PolynomialKernel(2, 1.0), RBFKernel(0.5)]
UPDATES = ["in-place", "frozen"]

TAIL_LOST = ("(1, slice(full, None))", "(1, slice(0, 0))")
SVM = {
    "overlap-dropped": [("value += delta[coordinate]", "value += 0.0")],
    "omega-dropped": [("slope = gradient[place] + shift * value", "slope = gradient[place]")],
    "stale-alpha": [("* row[places[later]] * signed", "* row[places[later]] * 0.0")],
    "assigned-once": [
        ("increment = updated - value\n", "increment = gradient[place] = updated - value\n"),
        (
            "    if frozen:\n        for place in range(steps):\n",
            "    if frozen:\n        alpha[draws] += gradient[:steps]\n"
            "        for place in range(steps):\n",
        ),
        ("            alpha[coordinate] += delta[coordinate]\n", ""),
    ],
    "tail-lost, gram": [
        ("range(0, draws.size, width)", "range(0, draws.size // width * width, width)"),
    ],
}
RIDGE = {
    "overlap-dropped": [("value += delta[places[draw]]", "value += 0.0")],
    "stale-alpha": [
        ("product += row[touched[0, other]] * delta[touched[0, other]]", "product += 0.0"),
        ("product += np.dot(row[:reach], delta[:reach])", "product += 0.0"),
        # Where the product is taken with the current a, staleness means the a of the window's start.
        (
            "        for item in range(0 if fresh else width):\n",
            "        for item in range(width if fresh else 0):\n"
            "            rhs[item] += np.dot(rows[row_of[begin + item]], delta) / penalty\n"
            "        for item in range(0 if fresh else width):\n",
        ),
    ],
    "assigned-once": [
        (
            "delta[place] += rhs[item]\n",
            "delta[place] += rhs[item]\n            stale[begin + item] = rhs[item]\n",
        ),
        (
            "    for draw in range(draws.size if frozen else 0):\n",
            "    if frozen:\n        alpha[draws] += stale[: draws.size]\n"
            "    for draw in range(draws.size if frozen else 0):\n",
        ),
        ("            alpha[draws[draw]] += delta[places[draw]]\n", ""),
    ],
    "tail-lost, gram": [
        ("range(0, draws.size, most)", "range(0, draws.size // most * most, most)"),
    ],
}
# Terms that exist in one form of the update only: see the module docstrings of the windows.
FROZEN_ONLY = ("overlap-dropped", "assigned-once")


def small_problem(task: str, kernel) -> Problem:
    rng = np.random.default_rng(7)
    data = rng.standard_normal((SAMPLES, 3)) + 0.5
    targets = rng.standard_normal(SAMPLES) if task == "krr" else np.resize([1.0, -1.0, 1.0], SAMPLES)
    return Problem("small", data, targets, kernel, LOSSES[task])


def stream_for(task: str) -> IndexStream:
    """A stream whose full windows draw some coordinate more than once, as they must."""
    stream = IndexStream("uniform", SAMPLES, 3 if task == "krr" else 1, ITERATIONS, seed=3)
    assert WIDTH * stream.block > SAMPLES
    return stream


def judged(task: str, kernel, update: str, keep_gram: bool = False) -> Ratio:
    """Run the production solver as it stands now, and judge all windows."""
    problem, stream = small_problem(task, kernel), stream_for(task)
    ends = window_ends(ITERATIONS, WIDTH)
    made = production.ProductionSolver(update=update, keep_gram=keep_gram)
    trajectory = made.run(RunRequest(problem, stream, WIDTH, ITERATIONS, record=tuple(ends)))
    return worst_ratio(problem, stream, made.declaration, ends, [trajectory.at(end) for end in ends])


@functools.cache
def unplanted(*of) -> Ratio:
    """The same of the solver as it is."""
    return judged(*of)


def plants() -> list:
    cases = []
    for task in LOSSES:
        module, edits = (ridge_window, RIDGE) if task == "krr" else (svm_window, SVM)
        for place, (name, edit) in enumerate(edits.items()):
            if name == "omega-dropped" and task != "svm-l2":
                continue
            gram = name == "tail-lost, gram"
            for update in ["frozen"] if name in FROZEN_ONLY else UPDATES:
                # By day of what is in both updates one, in turn.
                both = name not in FROZEN_ONLY and (place + UPDATES.index(update)) % 2
                cases.append(
                    pytest.param(
                        task, update, gram, module, edit, id=f"{task}-{name}-{update}",
                        marks=[pytest.mark.nightly] * both,
                    )
                )  # fmt: skip
        for update in UPDATES:
            cases.append(
                pytest.param(task, update, False, windows, [TAIL_LOST], id=f"{task}-tail-lost-{update}")
            )
    return cases


@pytest.mark.parametrize(("task", "update", "gram", "module", "edits"), plants())
def test_a_planted_defect_is_red_where_the_unplanted_solver_is_green(task, update, gram, module, edits):
    for kernel in KERNELS:
        assert unplanted(task, kernel, update, gram).green
    with plant(module, *edits):
        for kernel in KERNELS:
            ratio = judged(task, kernel, update, gram)
            assert ratio.red, (kernel, ratio)
    assert judged(task, KERNELS[0], update, gram).green


@pytest.mark.parametrize(("update", "task"), crossed(UPDATES, LOSSES, of=2))
def test_an_edit_that_changes_nothing_stays_green(task, update):
    nothing = ("from __future__ import annotations\n", "from __future__ import annotations\n\n")
    for module in (svm_window, ridge_window, run_module, windows):
        with plant(module, nothing):
            assert judged(task, KERNELS[2], update).green
            assert judged(task, KERNELS[0], update, keep_gram=True).green


def test_text_that_is_absent_or_repeated_is_refused():
    with pytest.raises(PlantError, match="'no such text' 0 times"):
        edited_source(svm_window, [("no such text", "")])
    with pytest.raises(PlantError, match=r"'frozen' \d+ times"):
        edited_source(svm_window, [("frozen", "")])


def test_originals_are_back_at_the_end_and_after_an_error():
    original, made = svm_window.svm_updates, run_module.ExchangedWindows
    with plant(windows, TAIL_LOST):
        assert run_module.ExchangedWindows is not made
    assert run_module.ExchangedWindows is made
    planting = plant(svm_window, SVM["stale-alpha"][0])
    planting.__enter__()
    assert svm_window.svm_updates is not original
    error = ZeroDivisionError()
    assert not planting.__exit__(ZeroDivisionError, error, None)
    assert svm_window.svm_updates is original
