"""What pages say of the committed benchmarks, compared with their tables."""

from __future__ import annotations

import lzma
import math
import os
import re
from collections import Counter
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from figure_scripts import FIGURES, in_a_clone

from sstep_verify.solver.data.partition import partition_of

DOCS = FIGURES.parent
REPORTS = DOCS.parent / "reports"
TABLES = REPORTS / "benchmarks"
COUNTS = Path(os.environ.get("SSTEP_VERIFY_DATA", "none")) / "news20.binary.colnnz.txt.xz"

pytestmark = [
    in_a_clone,
    pytest.mark.skipif(not REPORTS.is_dir(), reason="reports/ is absent: this is no clone"),
]


def said(page: Path) -> str:
    """A page, its lines joined."""
    return re.sub(r"\s+", " ", page.read_text("utf-8"))


def found(name: str, pattern: str) -> list[tuple[str, ...]]:
    """What a pattern finds in the lines of a table."""
    lines = (TABLES / f"{name}.txt").read_text("utf-8").splitlines()
    return [one.groups() for one in map(re.compile(pattern).search, lines) if one]


def test_targets_on_ranks_are_those_of_the_table():
    # Ranks; whether the target is met; memory over the formula with its vectors.
    rows = found("mpi", r"\s(\d+)\*?(?:\s+[\d.]+){5} \[.*\s(met|MISSED|-)\s+[\d.]+\s+[\d.]+\s+([\d.]+)\s*$")
    met = Counter(ranks for ranks, mark, _ in rows if mark == "met")
    judged = Counter(ranks for ranks, mark, _ in rows if mark != "-")
    most = {ranks: max(float(one[2]) for one in rows if one[0] == ranks) for ranks in judged}
    text = said(REPORTS / "README.md")
    assert (
        f"met in {met['1']} of {judged['1']} cells on one rank, {met['2']} of {judged['2']} on two, "
        f"{met['4']} of {judged['4']} on four"
    ) in text
    assert (
        f"memory is at most {max(most['1'], most['2']):g} times the formula on one and two ranks, and "
        f"{most['4']:g} times on four"
    ) in text


def test_costs_of_checking_are_those_of_the_table():
    rows = found("judge", r"(fresh|kept)\s+[\d.]+\s+[\d.]+\s+([\d.]+) \[.*(met|MISSED)$")
    text = said(REPORTS / "README.md")
    for kind, words in (("fresh", "a run that forms its panels"), ("kept", "one with a kept Gram matrix")):
        ratios = [float(ratio) for own, ratio, _ in rows if own == kind]
        assert f"{min(ratios):g} to {max(ratios):g} times {words} (median {median(ratios):.1f})" in text, (
            kind
        )
    marks = Counter(mark for *_, mark in rows)
    assert f"{marks['met']} of {len(rows)} targets met" in text
    missed = Counter(kind for kind, _, mark in rows if mark == "MISSED")
    assert f"{missed['kept']} of the {marks['MISSED']} missed targets have a kept Gram matrix" in text


def test_tuned_runs_are_those_of_the_tables():
    text = said(REPORTS / "README.md")
    one, two = (
        found(f"tuning-{ranks}", r"median ratio ([\d.]+) \(.*worst ([\d.]+) \(aim")[0] for ranks in (1, 2)
    )
    (first, worst), (second, worse) = ((float(value) for value in both) for both in (one, two))
    assert f"{first:.2f} times as long in the median and {math.ceil(100 * worst) / 100:.2f} at most" in text
    assert f"on two (`--s auto`) {second:.2f} and {math.ceil(100 * worse) / 100:.2f}" in text


def test_goals_are_those_of_the_table():
    marks = Counter(mark for (mark,) in found("goals", r"\s(met|MISSED)\s+[\d.]+$"))
    assert f"{marks['met']} of {sum(marks.values())}." in said(REPORTS / "README.md")


def peers() -> dict[tuple[str, str], tuple[float, ...]]:
    """By data set and solver: times of a fit (ours, with epochs, theirs), ratio, whole processes, ratio."""
    rows = found("peers", r"^(\S+)\s+\d+\s+\d+\s+(\S+)" + 7 * r"\s+([\d.]+)")
    return {(data, name): tuple(map(float, numbers)) for data, name, *numbers in rows}


def test_which_solver_to_take_is_what_the_table_says():
    rows, training, text = peers(), said(DOCS / "training.md"), said(REPORTS / "README.md")
    theirs = {place: 1 / ratio for place, (_, _, _, ratio, *_) in rows.items()}
    assert f"{theirs['look-alike', 'LinearSVC']:.2f} (the columns of news20.binary)" in training
    assert f"{theirs['diabetes_scale', 'LinearSVC']:.2f} (diabetes)" in training
    assert f"{theirs['colon-cancer', 'LinearSVC']:.1f} (colon-cancer)" in training
    assert f"{theirs['duke', 'LinearSVC']:.1f} (duke)" in training
    svc = [ratio for (_, name), ratio in theirs.items() if name == "SVC"]
    assert f"SVC or `solve` | {min(svc):.1f} to {max(svc):.1f} |" in training
    assert f"{theirs['bodyfat_scale', 'KernelRidge']:.1f} (bodyfat)" in training
    assert f"{theirs['abalone_scale', 'KernelRidge']:.1f} (abalone)" in training
    epochs = [with_epochs / fit for fit, with_epochs, *_ in rows.values()]
    assert f"epochs take {min(epochs):.1f} to {max(epochs):.1f} of the time" in training
    whole = {place: numbers[-1] for place, numbers in rows.items()}
    largest = whole.pop(("look-alike", "LinearSVC"))
    assert (
        f"{min(whole.values()):.2f} to {max(whole.values()):.2f} times, on the largest set {largest:.2f}"
        in text
    )
    assert f"takes {min(whole.values()):.1f} to {max(whole.values()):.1f} of the time" in training
    assert f"takes {largest:.2f} times as long" in training


@pytest.mark.nightly
@pytest.mark.skipif(
    not COUNTS.is_file(), reason="the counts of news20.binary are absent: SSTEP_VERIFY_DATA"
)
def test_shares_of_columns_are_as_stated():
    with lzma.open(COUNTS, "rt") as lines:
        counts = np.array([int(one) for one in lines.read().split()])
    works, ranks = counts.astype(np.float64) ** 2, (2, 4, 8, 16, 64)
    shares = {
        "`work`": [partition_of(counts, number).work_imbalance for number in ranks],
        "`contiguous`": [partition_of(counts, number, "contiguous").work_imbalance for number in ranks],
        "equal numbers of columns": [
            max(part.sum() for part in np.array_split(works, number)) * number / works.sum()
            for number in ranks
        ],
    }
    text = (DOCS / "solve.md").read_text("utf-8")
    for name, found_shares in shares.items():
        stated = re.search(rf"^\| {re.escape(name)} \| (.*) \|$", text, re.MULTILINE)
        assert stated is not None, name
        numbers = [float(one) for one in stated[1].split(" | ")]
        assert numbers == pytest.approx(found_shares, rel=5e-3), name
