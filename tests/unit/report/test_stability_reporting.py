"""The stability part of a report: medians, figures, tables, sentences, and what they say of known data."""

from __future__ import annotations

import csv
import math
from xml.etree import ElementTree

import numpy as np
import pytest
from drawn import read

from sstep_verify.errors import InputError
from sstep_verify.report.case import Case
from sstep_verify.report.plain import DIGITS
from sstep_verify.report.results import Campaign, Results, Summary, dumps, loads
from sstep_verify.report.write import write_report
from studies.committed import KEPT, answer, first
from studies.report.stability.document import Stability, StabilityRun, brief
from studies.report.stability.heat import cells, full_factor, rows
from studies.report.stability.part import drawn as stability_part
from studies.stability.answers import answers, fitted_exponent, mean_exponent
from studies.stability.sentences import sentences as told
from studies.stability.sentences import trend

U = 2.0**-53
S = (1, 2, 4, 16)
CONDITIONS = (1.0, 1e4)


def case(task: str = "svm-l1", kernel: str = "linear", form: str = "frozen", block: int = 1) -> Case:
    return Case(
        f"{task}/{kernel}/{form}/{block}", f"{task} <{kernel}> {form}", "generated", kernel, task, task, 8, 4,
        block, "PASS", S, parameters={"C": 1.0, "precision": "float64", "form": form},
    )  # fmt: skip


def run(
    of: Case, condition: float, seed: int, loss, classical: float = 4 * U, noise: float | None = None
) -> list[StabilityRun]:
    """The runs of one scenario, one for each of `S`."""
    errors = [None if factor is None else factor * classical for factor in loss]
    return [
        StabilityRun(
            of.id, condition, condition, seed, s, error, errors[0], error, factor, factor,
            0.5 if s == 1 else None, noise,
        )
        for s, error, factor in zip(S, errors, loss, strict=True)
    ]  # fmt: skip


def sentences(runs, cases):
    return told(runs, cases, answers(runs, cases))


def stability(cases, loss, classical=lambda condition: 4 * U, noise=None) -> Stability:
    runs = tuple(
        one
        for of in cases
        for condition in CONDITIONS
        for seed in range(3)
        for one in run(of, condition, seed, loss(condition, seed), classical(condition), noise)
    )
    return Stability(sentences(runs, cases), runs, answers(runs, cases))


def document(cases, part: Stability) -> Results:
    return Results(Campaign("stability"), Summary("all right", 0), cases=tuple(cases), stability=part)


def test_cells_hold_median_and_largest_over_the_seeds():
    part = stability([case()], lambda condition, seed: (1, 2 + seed, 10 ** (1 + seed), 7))
    cell = cells(part)[case().id, 1.0, 2]
    assert (cell.loss, cell.worst, cell.runs) == (3.0, 4.0, 3)
    assert cells(part)[case().id, 1e4, 4].worst == 1000.0
    (row,) = rows(part, cells(part), [case()])
    assert [row[name] for name in ("worst", "where", "ratio")] == [1000.0, "condition 1, s = 4", 0.5]
    assert row["lowest"] == float(f"{4 * U:.{DIGITS}g}") / U


def test_a_run_that_broke_down_is_the_worst_and_only_a_minority_leaves_a_median():
    part = stability([case()], lambda condition, seed: (1, None if seed == 0 else 2, 2, None))
    found = cells(part)
    assert (found[case().id, 1.0, 2].loss, found[case().id, 1.0, 2].worst) == (2.0, None)
    assert found[case().id, 1.0, 16].loss is None
    assert f"; {2 * 1 + 2 * 3} runs broke down" in part.sentences[0]


@pytest.mark.parametrize(
    ("loss", "classical", "words"),
    [
        (lambda c, seed: (1, 1.5, 1.5, 1.5), lambda c: 4 * U, ["1.5 times", "shows no growth with s"]),
        (
            lambda c, seed: (1, 2, 4, 16),
            lambda c: 4 * U,
            ["is 16 (", "s = 16", "grows with s (exponent 1,"],
        ),
        (lambda c, seed: (1, 16, 4, 1), lambda c: 4 * U, ["falls with s", " from s = 2 to s = 16"]),
        (lambda c, seed: (1, c, c, c), lambda c: 4 * U, ["Median loss of float64, K-SVM-L1: 1 to 1e4."]),
        (lambda c, seed: (1, 1, 1, 1), lambda c: 4 * U * c, ["classical error grows 1e4 times"]),
    ],
)
def test_the_sentences_say_what_the_data_show(loss, classical, words):
    found = stability([case(), case("krr", "rbf", block=4)], loss, classical).sentences
    assert [text.split(":")[0] for text in found] == ["float64, K-SVM-L1", "float64, K-RR", "Condition"]
    for word in words:
        assert word in " ".join(found)


def test_growth_of_one_task_is_not_pooled_away():
    still, growing = case(), case("krr")
    runs = [
        one
        for of, factors in ((still, (1.2, 1.2, 1.2)), (growing, (1.7, 5.9, 8.2)))
        for seed in range(9)
        for one in run(of, 1.0, seed, (1, *(factor * (1 + seed / 50) for factor in factors)))
    ]
    first, second, _ = sentences(runs, [still, growing])
    assert "shows no growth with s" in first
    assert "grows with s" in second
    assert " from s = 2 to s = 16. The largest loss over the scenarios" in second


def test_a_factor_over_an_error_below_rounding_is_left_out():
    runs = run(case(), 1.0, 0, (1, 13.6, 13.6, 13.6), 0.75 * U)
    (alone, _) = sentences(runs, [case()])
    assert "no accuracy loss can be distinguished from rounding. Left out: 1 scenarios" in alone
    runs += [one for seed in (1, 2) for one in run(case(), 1.0, seed, (1, 2, 3, 2), U)]
    (text, _) = sentences(runs, [case()])
    assert "over 2 scenarios" in text
    assert "Left out: 1 scenarios" in text
    assert "13.6" not in alone + text


def test_no_factor_within_the_noise_of_its_scenario_is_quoted_as_the_largest():
    (text, _) = sentences(run(case(), 1.0, 0, (1, 2, 6, 2), noise=7.0), [case()])
    assert "its own scenario in 0 of 3 runs" in text
    assert "The largest such loss" not in text
    runs = [
        one
        for seed, noise in ((0, 7.0), (1, 5.0))
        for one in run(case(), 1.0, seed, (1, 2, 6, 2), noise=noise)
    ]
    (text, _) = sentences(runs, [case()])
    assert "6 times the smallest in the median, and 7 times at most. " in text
    assert "scenario in 1 of 6 runs" in text
    assert "The largest such loss is 6 (frozen, K-SVM-L1, linear, condition 1, s = 4). " in text
    assert "Its errors are 24 and 4 unit" in text


@pytest.mark.nightly
def test_the_interval_of_the_exponent_covers_the_truth_as_often_as_it_says():
    """300 drawn groups of 8 scenarios: the share covered lies within 6 standard deviations of 95 %."""
    generator = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        noise = np.exp(generator.normal(size=(8, 3)) / 4)
        runs = [
            run(case(), 1.0, seed, (1, *(np.array([2, 4, 16]) ** 0.5 * noise[seed]))) for seed in range(8)
        ]
        found = mean_exponent(runs)
        covered += found[1] <= 0.5 <= found[2]
    assert abs(covered - 285) <= 6 * math.sqrt(300 * 0.95 * 0.05)


def test_the_exponent_of_exact_powers_is_exact_and_of_too_few_there_is_none():
    value, low, high = fitted_exponent([(2, 4.0), (4, 16.0), (16, 256.0)])
    assert low <= 2.0 <= high or value == 2.0
    assert "grows with s (exponent 2," in trend(value, low, high)
    assert fitted_exponent([(2, 1.0), (4, 2.0)]) == (None, None, None)
    assert mean_exponent([run(case(), 1.0, 0, (1, 2, 3, 4))]) == (None, None, None)


def test_the_forms_of_one_scenario_count_as_one():
    forms = [
        [run(case(form=form), 1.0, seed, (1, 2, 3, 4 + seed)) for form in ("in-place", "frozen")]
        for seed in range(3)
    ]
    assert mean_exponent([one + other for one, other in forms]) == mean_exponent([one for one, _ in forms])


def test_a_document_survives_the_file_and_names_known_cases_only():
    made = document([case()], stability([case()], lambda c, seed: (1, 1 / 3, 2, 3)))
    again = loads(dumps(made))
    assert again == made
    assert [one.loss for one in again.stability.runs[:4]] == [1.0, 0.333, 2.0, 3.0]
    with pytest.raises(InputError, match="svm-l1"):
        document([case("krr")], made.stability)
    plain = Results(Campaign("embedded"), Summary("all right", 0))
    assert "stability" not in plain.as_dict()
    assert not plain.studies


def test_figures_and_tables_hold_every_run(tmp_path):
    cases = [
        case(form=form, kernel=kernel) for form in ("in-place", "frozen") for kernel in ("linear", "a<b")
    ]
    made = document(cases, stability(cases, lambda c, seed: (1, 1 + seed, 20, 0.2)))
    folder = write_report(made, tmp_path / "report")
    figures = sorted(path.name for path in (folder / "figures").iterdir())
    assert figures == [
        "error-float64-svm-l1.svg", "frontier.svg", "loss-float64-frozen-svm-l1.svg",
        "loss-float64-in-place-svm-l1.svg", "loss-overview.svg", "stability-error.svg",
    ]  # fmt: skip
    for name in figures:
        root = ElementTree.parse(folder / "figures" / name).getroot()
        assert root.tag.endswith("svg")
    heat = (folder / "figures" / figures[2]).read_text("utf-8")
    assert heat.count(">20<") == 2 * 2 * 2  # two maps, two conditions, median and largest
    assert "a&lt;b" in heat
    with open(folder / "tables" / "stability.csv", encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert len(lines) == len(cases) * len(CONDITIONS) * 3 * len(S)
    assert {line["loss factor"] for line in lines if line["s"] == "4"} == {"20.0"}
    with open(folder / "tables" / "stability-cells.csv", encoding="utf-8", newline="") as stream:
        assert len(list(csv.DictReader(stream))) == len(cases) * len(CONDITIONS) * len(S)
    page = (folder / "index.html").read_text("utf-8")
    places = [
        page.index(words)
        for words in ("all right", "float64, K-SVM-L1</strong>: ", "Growth with s: ", "Condition: ")
    ]
    assert places == sorted(places)
    assert "&lt;a&lt;b&gt;" in page
    assert page.count("<svg") == 5
    with open(folder / "tables" / "stability-worse.csv", encoding="utf-8", newline="") as stream:
        assert len(list(csv.DictReader(stream))) == len(cases) * len(CONDITIONS) * 3
    with open(folder / "tables" / "stability-safe.csv", encoding="utf-8", newline="") as stream:
        safe = {(line["u condition from"], line["safe s within 10"]) for line in csv.DictReader(stream)}
    assert safe == {("1e-16", "2"), ("1e-12", "2")}
    places = [page.index(f'id="stability-{name}"') for name in ("growth", "worse", "safe")]
    assert places == sorted(places)
    assert "24 of 72 runs, of which 24 beyond the noise of their own scenario and 24 in the median" in page


def test_the_first_screen_says_in_how_many_runs_s_step_is_as_stable(tmp_path):
    cases = [case(form=form) for form in ("in-place", "frozen")]
    made = document(cases, stability(cases, lambda c, seed: (1, 1, 20, 1.5)))
    found = stability_part(made)
    held = sum(len(answer.held) for answer in made.stability.answers)
    runs = sum(answer.runs for answer in made.stability.answers)
    rows = {row.name: row.parts for row in found.answer.rows}
    assert held > 0
    assert f"in {runs - held} of {runs} runs, at every s from 2 to 16" in found.answer.headline
    assert len(rows["Does not hold"]) == 4  # three runs, and how many more
    assert rows["Safe s"] == ("up to 2: all tasks and precisions",)
    assert "s above" in rows["Not looked at"][1]
    figure, table, *_ = found.first
    assert figure.svg.count("-14 0z") == held
    assert {(row.s, round(row.error / row.classical)) for row in table.rows if row.s == 4} == {(4, 20)}
    page = (write_report(made, tmp_path / "report") / "index.html").read_text("utf-8")
    assert page.index("<h1>") < page.index('<dl class="answer">') < page.index("<svg") < page.index("<nav")
    assert page.index("<nav") < page.index("Exponent")


def test_where_nothing_is_worse_all_runs_are_as_stable():
    made = document([case()], stability([case()], lambda c, seed: (1, 1, 1.1, 1)))
    said = stability_part(made).answer
    assert "in all " in said.headline
    assert "Does not hold" not in {row.name for row in said.rows}


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


def test_the_rows_of_a_heat_map_are_next_to_their_own_s():
    losses = {2: 2.0, 4: 3.0, 16: 5.0}
    part = stability([case()], lambda condition, seed: (1, *losses.values()))
    drawn = stability_part(document([case()], part)).heat[-1]
    texts = read(drawn.svg).texts
    rows = {int(words): y for words, _, y, anchor in texts if anchor == "end" and words.isdigit()}
    assert sorted(rows) == sorted(losses)
    for s, loss in losses.items():
        beside = [y for words, _, y, _ in texts if words == f"{loss:.1f}"]
        assert len(beside) == 2 * len(CONDITIONS)  # the median, and the largest below it
        assert {min(rows, key=lambda other: abs(rows[other] - y)) for y in beside} == {s}


def test_the_interval_of_a_mean_exponent_is_student_s():
    """Of two scenarios it is the mean -+ 12.7062 standard errors (t at 97.5 %, one degree of freedom)."""
    one, other = 0.75, -0.5
    runs = [run(case(), 1.0, seed, [1.0, 2.0**e, 4.0**e, 16.0**e]) for seed, e in enumerate((one, other))]
    value, low, high = mean_exponent(runs)
    digits = 1e-2  # Of the losses three are kept.
    assert value == pytest.approx((one + other) / 2, rel=digits)
    assert high - value == pytest.approx(12.7062 * (one - other) / 2, rel=digits)
    assert value - low == pytest.approx(high - value)


def test_a_committed_report_begins_with_the_answer():
    made = document([case()], stability([case()], lambda c, seed: (1, 1, 20, 1.5)))
    text = answer(made, KEPT["stability"])
    assert first(made)[0].startswith("**s-step is as stable as classical in ")
    parts = [line for line in first(made) if line.startswith("  - ")]
    assert len(parts) > 1
    assert not any("; " in line for line in parts)
    places = [text.index(words) for words in (first(made)[0], "stability-error.svg", "## What was run")]
    assert places == sorted(places)
