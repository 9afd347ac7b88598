"""The stability part of a report: medians, figures, tables, sentences, and what they say of known data."""

from __future__ import annotations

import csv
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from sstep_verify.campaign.stability_sentences import sentences
from sstep_verify.errors import InputError
from sstep_verify.reporting import (
    Campaign,
    Case,
    Results,
    Stability,
    StabilityRun,
    Summary,
    schema,
    write_report,
)
from sstep_verify.reporting.stability_document import DIGITS
from sstep_verify.reporting.stability_heat import full_factor
from sstep_verify.reporting.stability_report import stability_part
from sstep_verify.reporting.stability_summary import cells, rows
from sstep_verify.reporting.stability_svg import brief

U = 2.0**-53
S = (1, 2, 4, 16)
CONDITIONS = (1.0, 1e4)


def case(task: str = "svm-l1", kernel: str = "linear", form: str = "frozen", block: int = 1) -> Case:
    return Case(
        f"{task}/{kernel}/{form}/{block}", f"{task} <{kernel}> {form}", "generated", kernel, task, task, 8, 4,
        block, "PASS", S, parameters={"C": 1.0, "precision": "float64", "form": form},
    )  # fmt: skip


def run(of: Case, condition: float, seed: int, loss, classical: float = 4 * U) -> StabilityRun:
    factors = tuple(loss)
    errors = tuple(None if factor is None else factor * classical for factor in factors)
    ratio = (0.5, *[None] * (len(factors) - 1))
    return StabilityRun(
        of.id, condition, condition, seed, S, errors, errors, factors, factors, ratio
    )  # fmt: skip


def stability(cases, loss, classical=lambda condition: 4 * U) -> Stability:
    runs = tuple(
        run(of, condition, seed, loss(condition, seed), classical(condition))
        for of in cases
        for condition in CONDITIONS
        for seed in range(3)
    )
    return Stability(sentences(runs, cases), runs)


def document(cases, part: Stability) -> Results:
    return Results(Campaign("stability"), Summary("all right", 0), cases=tuple(cases), stability=part)


def test_cells_hold_median_and_largest_over_the_seeds():
    part = stability([case()], lambda condition, seed: (1, 2 + seed, 10 ** (1 + seed), 7))
    cell = cells(part)[case().id, 1.0, 2]
    assert (cell.loss, cell.worst, cell.seeds) == (3.0, 4.0, 3)
    assert cells(part)[case().id, 1e4, 4].worst == 1000.0
    (row,) = rows(part, [case()])
    assert (row.worst, row.where, row.ratio) == (1000.0, "condition 1, s = 4", 0.5)
    assert row.lowest == float(f"{4 * U:.{DIGITS}g}") / U


def test_a_run_that_broke_down_is_the_worst_and_only_a_minority_leaves_a_median():
    part = stability([case()], lambda condition, seed: (1, None if seed == 0 else 2, 2, None))
    found = cells(part)
    assert (found[case().id, 1.0, 2].loss, found[case().id, 1.0, 2].worst) == (2.0, None)
    assert found[case().id, 1.0, 16].loss is None
    assert f"; {2 * 1 + 2 * 3} runs broke down" in part.sentences[0]


@pytest.mark.parametrize(
    ("loss", "classical", "words"),
    [
        (lambda c, seed: (1, 1.5, 1.5, 1.5), lambda c: 4 * U, ["1.5 times", "stays within", "not add"]),
        (lambda c, seed: (1, 2, 4, 64), lambda c: 4 * U, ["64 times at most", "s = 16", "grows 32 times"]),
        (lambda c, seed: (1, c, c, c), lambda c: 4 * U, ["grows 1e4 times", "and adds to them"]),
        (lambda c, seed: (1, 8, 4, 1), lambda c: 4 * U, ["falls 8 times"]),
        (
            lambda c, seed: (1, 1, 1, 1),
            lambda c: 4 * U * c,
            ["classical error grows 1e4 times", "not add"],
        ),
    ],
)
def test_the_sentences_say_what_the_data_show(loss, classical, words):
    found = stability([case(), case("krr", "rbf", block=4)], loss, classical).sentences
    assert len(found) == 3
    for word in words:
        assert word in " ".join(found)


def test_a_document_survives_the_file_and_names_known_cases_only():
    made = document([case()], stability([case()], lambda c, seed: (1, 1 / 3, 2, 3)))
    again = schema.loads(schema.dumps(made))
    assert again == made
    assert again.stability.runs[0].loss == (1.0, 0.333, 2.0, 3.0)
    with pytest.raises(InputError, match="svm-l1"):
        document([case("krr")], made.stability)
    plain = Results(Campaign("embedded"), Summary("all right", 0))
    assert "stability" not in plain.as_dict()
    assert stability_part(plain) is None


@pytest.mark.parametrize("s", [(2, 4, 8, 16), (1, 4, 2, 16), (1, 2, 4)])
def test_a_run_whose_s_does_not_ascend_from_1_or_fit_is_refused(s):
    good = run(case(), 1.0, 0, (1, 2, 3, 4))
    with pytest.raises(InputError):
        replace(good, s=s)


def test_figures_and_tables_hold_every_run(tmp_path):
    cases = [
        case(form=form, kernel=kernel) for form in ("in-place", "frozen") for kernel in ("linear", "a<b")
    ]
    made = document(cases, stability(cases, lambda c, seed: (1, 1 + seed, 20, 0.2)))
    folder = write_report(made, tmp_path / "report").folder
    figures = sorted(path.name for path in (folder / "figures").iterdir())
    assert figures == [
        "error-float64-svm-l1.svg", "loss-float64-frozen-svm-l1.svg", "loss-float64-in-place-svm-l1.svg",
    ]  # fmt: skip
    for name in figures:
        root = ElementTree.parse(folder / "figures" / name).getroot()
        assert root.tag.endswith("svg")
    heat = (folder / "figures" / figures[1]).read_text("utf-8")
    assert heat.count(">20<") == 2 * 2 * 2  # two maps, two conditions, median and largest
    assert "a&lt;b" in heat
    with open(folder / "tables" / "stability.csv", encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert len(lines) == len(cases) * len(CONDITIONS) * 3 * len(S)
    assert {line["loss factor"] for line in lines if line["s"] == "4"} == {"20.0"}
    with open(folder / "tables" / "stability-cells.csv", encoding="utf-8", newline="") as stream:
        assert len(list(csv.DictReader(stream))) == len(cases) * len(CONDITIONS) * len(S)
    page = (folder / "index.html").read_text("utf-8")
    places = [page.index(words) for words in ("Size: ", "Growth with s: ", "Condition: ", "all right")]
    assert places == sorted(places)
    assert "&lt;a&lt;b&gt;" in page
    assert page.count("<svg") == 3


def test_colours_are_full_at_the_same_factor_everywhere():
    def full(largest: float) -> float:
        return full_factor(cells(stability([case()], lambda c, seed: (1, 1, 1, largest))))

    assert [full(1.5), full(9.0), full(11.0), full(0.002)] == [10.0, 10.0, 100.0, 1000.0]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, "0"),
        (0.05, "5e-2"),
        (0.1, "0.1"),
        (1.26, "1.3"),
        (9.96, "10"),
        (123.4, "123"),
        (1000, "1e3"),
        (None, "∞"),
    ],
)
def test_factors_are_written_in_few_characters(value, words):
    assert brief(value) == words
