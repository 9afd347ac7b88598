"""Predicted scaling, and the paper's claims next to it."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from model_fit import TIMINGS_FILE, published_profiles, published_timings

from sstep_verify.costs.prediction import read
from sstep_verify.costs.profiles import Profile, uniform_profile
from studies.scaling import claims as claims_module
from studies.scaling.claims import NOT_REPRODUCIBLE, NOT_SUPPORTED, SPEEDUPS, SUPPORTED, claims_on
from studies.scaling.curve import (
    DATA,
    KERNELS,
    LAST,
    RANKS,
    STEPS,
    TIMED,
    UNKNOWN,
    Cell,
    Timed,
    program_error,
    published_rows,
)
from studies.scaling.curve import points as points_of

MACHINE = read("perlmutter")
PROFILES = {
    "colon-cancer": uniform_profile("colon-cancer", 62, 2000, 124_000),
    "duke": uniform_profile("duke", 44, 7129, 44 * 7129),
    "synthetic": uniform_profile("synthetic", 2000, 8_000, 160_000),
    # Columns as skewed as those of the real data, fewer of them.
    "news20.binary": Profile("news20.binary", 19_996, np.maximum(8000 // np.arange(1, 10_001), 2)),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", PROFILES)
def test_every_number_of_ranks_has_a_point(name, kernel):
    points = list(points_of("", MACHINE, PROFILES[name], Cell(name, True, kernel)))
    assert tuple(point.ranks for point in points) == RANKS
    assert points[0].s_step < points[0].classical  # The transpose is paid once a window.
    for point in points:
        assert point.s > 1
        assert kernel == "linear" or point.exchange != "gram"
        if name == "news20.binary":
            assert 0 < point.ours < point.s_step  # Long columns: fewer words, and no transpose.


def every_claim():
    cells = [
        Cell(name, svm, kernel, block)
        for name in PROFILES
        for svm, blocks in ((True, (1,)), (False, (1, 2, 4)))
        for block in blocks
        for kernel in KERNELS
    ]
    return [(cell, claim) for cell in cells for claim in claims_on("", MACHINE, PROFILES[cell.data], cell)]


def test_claims_are_judged_where_timings_were_published_and_nowhere_else():
    found = every_claim()
    assert len(found) == 3 * len(SPEEDUPS) + 7
    for cell, claim in found:
        judged = cell in TIMED and "P =" not in claim.text
        assert (claim.mark != NOT_REPRODUCIBLE) == judged
        assert bool(claim.timed) == judged
        assert claim.error
        if cell.data not in DATA:
            assert "were published" in claim.reason


def test_a_claim_needs_the_prediction_and_the_timings(monkeypatch):
    cell = Cell("duke", True, "rbf")
    (first, *_) = claims_on("", MACHINE, PROFILES["duke"], cell)
    assert (first.stated, first.timed, first.mark) == ("9.8", "2.95", NOT_SUPPORTED)
    monkeypatch.setitem(claims_module.SPEEDUPS, ("duke", True, 1), (4.8, 5.4, 3.0))
    assert claims_on("", MACHINE, PROFILES["duke"], cell)[0].mark == SUPPORTED
    monkeypatch.setitem(claims_module.TIMED, cell, Timed(1024, 2.2))
    assert claims_on("", MACHINE, PROFILES["duke"], cell)[0].mark == NOT_SUPPORTED
    monkeypatch.setitem(claims_module.TIMED, cell, Timed(1024, 0.99))
    monkeypatch.setitem(claims_module.SPEEDUPS, ("duke", True, 1), (4.8, 5.4, 1.1))
    slower = claims_on("", MACHINE, PROFILES["duke"], cell)[0]
    assert slower.mark == NOT_SUPPORTED
    assert "s-step was slower" in slower.reason


def test_a_claim_looks_at_nothing_beyond_what_was_timed():
    for cell, claim in every_claim():
        if claim.text == "speed-up" and cell in TIMED:
            ranks, s = claim.predicted.split("P = ")[1].rstrip(")").split(", s = ")
            assert all(int(count.replace(",", "")) <= TIMED[cell].ranks for count in ranks.split(" / "))
            assert int(s) <= LAST


@pytest.mark.parametrize(
    ("cell", "ranks", "s", "error"),
    [
        (Cell("duke", True, "rbf"), 1024, 1, "14 %"),
        (Cell("duke", True, "rbf"), 1024, 64, "20 %"),
        (Cell("duke", True, "rbf"), 2048, 1, UNKNOWN),
        (Cell("duke", True, "rbf"), 64, 128, UNKNOWN),
        (Cell("colon-cancer", True, "rbf"), 64, 8, "20 to 50 %"),
        (Cell("", True, "rbf"), 4096, 8, UNKNOWN),
    ],
)
def test_errors_are_stated_as_far_as_something_was_timed(cell, ranks, s, error):
    assert program_error(MACHINE, cell, ranks, s) == error


def test_the_numbers_of_the_shipped_machine_are_those_in_its_words():
    for name in ("classical", "s_step", "unfitted_least", "unfitted_most"):
        assert f"{MACHINE.errors[name]:g}" in MACHINE.error


@pytest.fixture(scope="module")
def timings():
    """The published timings."""
    folder = os.environ.get("SSTEP_VERIFY_DATA", "")
    if not folder or not (Path(folder) / TIMINGS_FILE).exists():
        pytest.skip(f"no {TIMINGS_FILE} in SSTEP_VERIFY_DATA: published timings are not copied here")
    return published_timings(folder)


def of_cells(timings) -> dict[Cell, np.ndarray]:
    """Places of the timings of each cell."""
    found = {}
    for which in range(len(timings)):
        cell = Cell(
            str(timings.dataset[which]),
            timings.method[which] == "ksvm",
            str(timings.kernel[which]),
            int(timings.block[which]),
        )
        found.setdefault(cell, []).append(which)
    return {cell: np.array(places) for cell, places in found.items()}


@pytest.mark.nightly
def test_what_is_said_of_the_published_timings_is_so(timings):
    assert timings.s.max() == LAST
    found = of_cells(timings)
    for cell, (ranks, speedup) in TIMED.items():
        own = found[cell]
        first = timings.s[own] == 1
        assert timings.ranks[own].max() == ranks
        assert (
            round(float(timings.total[own[first]].min() / timings.total[own[~first]].min()), 2) == speedup
        )
    there = Counter(cell.data for cell in found)
    assert all(there[name] == sum(cell.data == name for cell in TIMED) for name in DATA)
    rbf = found[Cell("duke", True, "rbf")]
    stepped = rbf[timings.s[rbf] > 1]
    assert timings.s[stepped[np.argmin(timings.total[stepped])]] == 32
    own = rbf[timings.ranks[rbf] == 32]
    kernel = timings.phases[own[np.argsort(timings.s[own])], 0]
    assert (np.diff(kernel) < 0).all()
    assert [round(float(value), 1) for value in kernel[[0, -1]]] == [78.5, 16.1]


@pytest.mark.nightly
def test_at_one_number_of_ranks_every_timed_speed_up_would_be_supported(timings):
    """What docs/paper.md says of another definition than the one by which its verdicts are given."""
    profiles, found, supported = published_profiles(os.environ["SSTEP_VERIFY_DATA"]), of_cells(timings), 0
    for cell, known in TIMED.items():
        own = found[cell]
        times = {
            (int(timings.ranks[k]), int(timings.iterations[k]), int(timings.s[k])): timings.total[k]
            for k in own
        }
        timed = max(
            (float(times[ranks, length, 1] / time), ranks, s)
            for (ranks, length, s), time in times.items()
            if s > 1 and (ranks, length, 1) in times
        )
        ranks = [count for count in RANKS if count <= known.ranks]
        steps = [s for s in STEPS if s <= LAST]
        rows = published_rows(MACHINE, profiles[cell.data], cell, ranks, steps)
        classical = {row["P"]: row["total"] for row in rows if row["s"] == 1}
        predicted = max(classical[row["P"]] / row["total"] for row in rows if row["s"] > 1)
        figures = SPEEDUPS.get((cell.data, cell.svm, cell.block))
        if figures is not None:
            least = min(timed[0], predicted)
            supported += least > 1 and least >= 0.75 * figures[KERNELS.index(cell.kernel)]
        if cell == Cell("duke", True, "rbf"):
            assert (round(timed[0], 2), *timed[1:], round(predicted, 2)) == (8.72, 32, 64, 7.46)
    stated = (Path(__file__).parents[3] / "docs" / "paper.md").read_text("utf-8")
    assert "8.72 (P = 32, s = 64) and the model 7.46" in stated
    assert f"all {supported} would be supported" in stated
