"""Panels, their SVG and their CSV: grouping, determinism, zeros and gaps, names that need escaping."""

from __future__ import annotations

import csv
import math
import re
import xml.etree.ElementTree as ElementTree

import pytest
from test_reporting_documents import NASTY, case, document

from sstep_verify.report import panels
from sstep_verify.report.case import DRIFT, ERROR, GAP, Line, Series
from sstep_verify.report.chart import write_files
from sstep_verify.report.convergence import figure
from sstep_verify.report.tables import write_tables

SVG = "{http://www.w3.org/2000/svg}"


def ridge(identity: str, block: int, penalty: float):
    series = (Series(ERROR, 1, (0, 1), (1.0, 0.5)), Series(ERROR, 16, (0, 16), (1.0, 0.25)))
    return case(
        identity,
        task="krr",
        block=block,
        dataset="bodyfat",
        loss=f"krr lambda={penalty:g}",
        parameters={"lambda": penalty},
        series=series,
        lines=(Line("target", 1e-8),),
    )


def draw(panel) -> str:
    return figure(panel).svg


def texts(drawing: str) -> str:
    return " ".join(element.text or "" for element in ElementTree.fromstring(drawing).iter(f"{SVG}text"))


def only_panel(made):
    (panel,) = panels.panels_of(made)
    return panel


def test_both_losses_share_a_panel_and_drift_has_one_for_each_problem():
    made = document([case("l1"), case("l2", task="svm-l2", loss="svm-l2 C=1")], [])
    gap, *drift = panels.panels_of(made)
    assert (gap.measure, gap.variants) == (GAP, ["K-SVM-L1", "K-SVM-L2"])
    assert [(one.measure, one.title) for one in drift] == [
        (DRIFT, "problem of l1"),
        (DRIFT, "problem of l2"),
    ]


def test_ridge_panels_part_by_lambda_and_colour_by_block():
    made = document([ridge("a", 1, 1.0), ridge("b", 64, 1.0), ridge("c", 64, 1e-3)], [])
    both = panels.panels_of(made)
    assert [panel.title for panel in both] == [
        "bodyfat · linear · lambda = 1",
        "bodyfat · linear · lambda = 0.001",
    ]
    assert [panel.variants for panel in both] == [["b = 1", "b = 64"], ["b = 64"]]
    colours = [draw(panel).count("009e73") + draw(panel).count("d55e00") for panel in both]
    assert min(colours) > 0, "b = 64 has its second colour in both panels"


def test_cases_that_nothing_else_tells_apart_are_named_by_id():
    panel = only_panel(document([ridge("a", 1, 1.0), ridge("b", 1, 1.0)], []))
    assert panel.variants == ["b = 1 (a)", "b = 1 (b)"]


def test_ranks_and_exchange_tell_runs_of_one_problem_apart():
    shared = {"ranks": 2, "exchange": "gram"}
    cases = [case("a"), case("b", problem=case("a").problem, facts=shared)]
    gap, *drift = panels.panels_of(document(cases, []))
    assert gap.variants == ["K-SVM-L1", "K-SVM-L1, P = 2, gram"]
    assert [panel.title for panel in drift] == ["problem of a", "problem of a · P = 2, gram"]


def test_a_legend_wraps_names_that_are_longer_than_the_figure_is_wide():
    name = " ".join(["word"] * 40)
    drawing = draw(
        only_panel(document([case("a", series=case("x").series[:2], lines=(Line(name, 0.5),))], []))
    )
    assert not any(len(element.text) > 70 for element in ElementTree.fromstring(drawing).iter(f"{SVG}text"))


def test_a_shared_line_is_drawn_once_and_own_lines_for_each_variant():
    one = case(
        "l1", series=case("x").series[:2], lines=(Line("target", 1e-8), Line("attainable gap", 1e-12))
    )
    two = case(
        "l2", task="svm-l2", series=one.series, lines=(Line("target", 1e-8), Line("attainable gap", 1e-11))
    )
    panel = only_panel(document([one, two], []))
    assert [(line.name, variant) for variant, line in panel.lines] == [
        ("target", ""),
        ("attainable gap", "K-SVM-L1"),
        ("attainable gap", "K-SVM-L2"),
    ]


def test_slugs_are_safe_file_names_and_unique():
    taken: set[str] = set()
    names = [panels.slug(text, taken) for text in ("../../etc/Passwd", "etc passwd", "...", "", "é")]
    assert len(set(names)) == len(names)
    assert all(
        set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.") and name[0] != "." for name in names
    )


def test_drawing_depends_on_the_panel_alone():
    made = document([case("a")], [])
    first, second = (draw(panels.panels_of(made)[0]) for _ in range(2))
    assert first == second


def test_numbers_in_text_are_not_rounded():
    drawing = draw(only_panel(document([ridge("a", 8, 0.001234567)], [])))
    assert "lambda = 0.00123457" in texts(drawing)


def test_axes_and_legend_name_units_runs_and_lines():
    series = (
        Series(DRIFT, 1, (1, 10), (1e-17, 1e-16), "max norm of a"),
        Series(DRIFT, 4, (4, 8), (1e-17, 1e-16)),
    )
    drawing = texts(draw(only_panel(document([case("a", series=series)], []))))
    for label in ("drift (max norm of a)", "iterations", "s = 1 (classical)", "s = 4", "problem of a"):
        assert label in drawing


@pytest.mark.parametrize(
    "values",
    [
        (0.0, 0.0, 0.0),
        (math.nan, math.inf, -math.inf),
        (None, 1.0, None),
        (-1.0, 0.0, 1e-300),
        (5e-324, 1.0, 1.7e308),
        (1.0, 1.0, 1.0),
    ],
)
def test_zeros_gaps_and_undefined_values_are_drawn_without_complaint(values, recwarn):
    made = case("a", series=(Series(GAP, 1, (0, 1, 5000), values), Series(GAP, 2, (0,), (1.0,))))
    drawing = draw(only_panel(document([made], [])))
    assert not recwarn.list
    assert "nan" not in drawing.lower()
    known = [value for value in made.series[0].y if value is not None]
    assert ("≤ 0" in texts(drawing)) == any(value <= 0 for value in known)


@pytest.mark.parametrize("iterations", [(), (0,), (0, 1), (0, 40_000, 90_000), (3 * 10**9, 4 * 10**9)])
def test_any_range_of_iterations_can_be_drawn(iterations, recwarn):
    made = case("a", series=(Series(GAP, 1, iterations, (0.5,) * len(iterations)),))
    assert "relative duality gap" in texts(draw(only_panel(document([made], []))))
    assert not recwarn.list


def test_names_are_escaped_in_drawings_and_never_taken_for_formulas(tmp_path):
    made = document([case("a", dataset=NASTY, problem=NASTY)], [])
    drawn = [figure(panel) for panel in panels.panels_of(made)]
    write_files(drawn, tmp_path)
    for one in drawn:
        assert "<script" not in one.svg
        assert "$x_1$" in texts(one.svg)
        ElementTree.parse(tmp_path / f"{one.slug}.svg")


def test_drawings_hold_no_ids_that_could_clash_on_one_page():
    for panel in panels.panels_of(document([case("a"), case("b", dataset="other")], [])):
        assert " id=" not in draw(panel)


def test_a_curve_is_broken_where_a_value_is_missing_and_a_lone_point_is_a_dot():
    made = case("a", series=(Series(GAP, 1, (0, 1, 2, 3), (1.0, None, 0.1, 0.1)),))
    (path,) = re.findall(r'd="([^"]*)" stroke="var', draw(only_panel(document([made], []))))
    assert [path.count(letter) for letter in "MLh"] == [2, 1, 2]


def test_colours_follow_the_page_with_a_fallback():
    drawing = draw(panels.panels_of(document([case("a")], []))[0])
    assert "currentColor" in drawing
    assert "var(--c-0072b2,#0072b2)" in drawing


def test_tables_hold_every_value_in_full(tmp_path):
    third = 1 / 3
    made = document([case("a", series=(Series(GAP, 1, (0, 1), (third, None)),))], [])
    write_tables(made, panels.panels_of(made), tmp_path)
    (path,) = tmp_path.glob("relative-duality-gap*.csv")
    with open(path, newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert float(rows[0]["value"]) == third
    assert rows[1]["value"] == ""
    assert [row["kind"] for row in rows] == [GAP, GAP, "target", "attainable gap"]
