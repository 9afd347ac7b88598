"""What safe-s certifies on known problems, what it says, what it writes, and what it refuses."""

from __future__ import annotations

import csv
import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from sstep_verify.cli import main
from sstep_verify.cli.commands.safe_s import command
from sstep_verify.errors import InputError
from sstep_verify.problems import LinearKernel, Problem, RBFKernel, Ridge, SquaredHinge, loss_from
from sstep_verify.report.chart import AgainstS, draw_against_s
from sstep_verify.safety import certify, trained_alpha
from sstep_verify.safety.every_window import EveryWindow
from sstep_verify.safety.measured import declaration_of
from sstep_verify.safety.report import beyond, claim, lines, verdict


def problem_of(task: str = "svm-l2", scale: float = 1.0) -> Problem:
    generator = np.random.Generator(np.random.PCG64(3))
    targets = np.where(np.arange(40) % 2, -1.0, 1.0)
    data = generator.standard_normal((40, 6)) + targets[:, None]
    return Problem("known", data * scale, targets, LinearKernel(), loss_from(task))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The same problem in a file."""
    problem, path = problem_of(), tmp_path_factory.mktemp("data") / "known"
    rows = [
        f"{target:+g} " + " ".join(f"{k + 1}:{value:.17g}" for k, value in enumerate(row))
        for target, row in zip(problem.targets, problem.data, strict=True)
    ]
    path.write_text("\n".join(rows) + "\n")
    return str(path)


def told(*words: str):
    return CliRunner().invoke(command, words, catch_exceptions=False)


@pytest.mark.parametrize("task", ["svm-l1", "svm-l2"])
def test_of_an_easy_problem_the_largest_s_is_certified_in_float64(task):
    problem = problem_of(task)
    alpha = trained_alpha(problem).trajectory.final
    found = certify(problem, alpha, measure=False)
    double, single = found.curves
    assert [point.s for point in double.points] == [1 << k for k in range(11)]
    assert double.largest == 1024
    assert all(point.safe and point.measured is None for point in double.points)
    assert 1 <= single.largest <= 1024
    assert single.shown > double.shown * 1e6
    assert all(
        point.bound <= curve.gained for curve in found.curves for point in curve.points if point.safe
    )


@pytest.mark.parametrize("task", ["svm-l2", "krr"])
def test_float32_windows_are_measured_on_the_problem_that_float32_holds(task):
    generator = np.random.Generator(np.random.PCG64(5))
    data = 1e4 + 1e-2 * generator.standard_normal((24, 3))  # float32 numbers lie 1e-3 apart there
    problem = Problem("far", data, problem_of().targets[:24], RBFKernel(1e3), loss_from(task))
    found = certify(problem, np.full(24, 0.25), precisions=("float32",), most=4)
    assert beyond(found) == []
    assert all(point.measured for point in found.curves[0].points)


def test_an_error_whose_square_underflows_counts_by_the_curvature():
    """The curvature of L2 is about 1 / (2 C), here beyond the reciprocal of what float64 loses of a square."""
    problem = replace(problem_of(), loss=SquaredHinge(1e-180))
    alpha = np.full(problem.samples, 1.5e-180)
    found = certify(problem, alpha, precisions=("float64",), most=4)
    assert beyond(found) == []
    assert all(0.0 < point.measured <= point.bound < 1e-160 for point in found.curves[0].points)


@pytest.mark.parametrize(("size", "penalty"), [(1e-20, 1e-290), (1e80, 1e-240), (1e80, 1e-100)])
def test_what_is_beyond_float64_has_no_bound(size, penalty):
    data = size * np.array([[1.0], [0.5]])
    problem = Problem("beyond", data, np.array([1.0, -1.0]), LinearKernel(), Ridge(penalty))
    found = certify(problem, np.array([1e20, 1.0]), precisions=("float64",), most=2)
    assert beyond(found) == []
    assert found.curves[0].points[0].bound == np.inf


def test_the_largest_s_is_the_last_that_is_safe():
    problem = problem_of("krr")
    alpha = trained_alpha(problem).trajectory.final
    (curve,) = certify(problem, alpha, precisions=("float64",), measure=False).curves
    assert 1 < curve.largest < 1024
    for most, safe in ((curve.largest, True), (curve.largest + 1, False)):
        (again,) = certify(problem, alpha, precisions=("float64",), most=most, measure=False).curves
        assert again.points[-1].s == most
        assert again.points[-1].safe is safe


def test_a_vector_that_training_gained_nothing_with_certifies_nothing():
    problem = problem_of()
    (curve,) = certify(problem, np.zeros(40), precisions=("float64",), most=4, measure=False).curves
    assert curve.largest == 0
    assert verdict(curve, 4) == "float64: no s is certified, not even 1"


def test_a_measured_loss_beyond_the_bound_is_reported():
    problem = problem_of()
    found = certify(problem, trained_alpha(problem).trajectory.final, precisions=("float64",), most=2)
    assert beyond(found) == []
    (curve,) = found.curves
    points = (curve.points[0], replace(curve.points[1], measured=1.0))
    (line,) = beyond(replace(found, curves=(replace(curve, points=points),)))
    assert line.startswith("known / linear / svm-l2 C=1, float64, s = 2: a window lost up to 1.000e+00")


@pytest.mark.parametrize("value", [9.781e-06, 9.789e-06, 1e-05])
def test_what_a_precision_shows_is_rounded_as_the_column_is_that_holds_it(value):
    problem = problem_of()
    found = certify(
        problem, trained_alpha(problem).trajectory.final, precisions=("float32",), most=1, measure=False
    )
    (curve,) = found.curves
    point = replace(curve.points[0], attainable=value)
    head, _, row, *_ = lines(replace(found, curves=(replace(curve, shown=value, points=(point,)),)))
    (shown,) = re.findall(r"gaps from (\S+) on", head)
    assert float(shown) >= value
    assert shown == row.split()[3]


def test_the_bounds_refuse_solvers_that_they_do_not_cover():
    for change in ({"update": "frozen"}, {"products": "any"}, {"weights": 0}):
        with pytest.raises(InputError, match="every window is bounded only for update 'in-place'"):
            EveryWindow(problem_of(), replace(declaration_of("float64"), **change), np.zeros(40), 0.0)


def test_the_claim_says_what_is_covered_and_what_is_not():
    problem = problem_of("krr")
    alpha = trained_alpha(problem, block=2).trajectory.final
    found = certify(problem, alpha, block=2, most=2, measure=False)
    said = " ".join(claim(found))
    assert "every window of s steps that begins at this dual vector, whatever blocks of 2 it draws" in said
    assert "at most `attainable` more than `classical`" in said
    assert "Not covered: windows that begin elsewhere; faulty code." in said
    assert "An s that is not certified is not shown to be unsafe." in said


def test_the_command_prints_a_row_for_each_s_and_the_largest(file):
    result = told(file, "--task", "svm-l2", "--largest-s", "6")
    assert result.exit_code == 0
    rows = [line.split() for line in result.output.splitlines() if line.endswith(("safe", "certified"))]
    assert [row[0] for row in rows] == ["1", "2", "4", "6"] * 2
    assert "float64: largest certified s = 6, the largest looked at" in result.output
    assert "trained" in result.output.splitlines()[0]


def test_the_command_writes_json_a_table_and_figures(file, tmp_path):
    out = tmp_path / "out"
    result = told(file, "--task", "krr", "--largest-s", "8", "--out", str(out), "--json")
    assert result.exit_code == 0
    document = json.loads(result.output)
    assert [curve["precision"] for curve in document["curves"]] == ["float64", "float32"]
    assert document["curves"][0]["points"][3]["s"] == 8
    assert document["claim"].startswith("certified: every window")
    assert document["training"]["iterations"] > 0
    with open(out / "safe-s.csv", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    assert [row["s"] for row in rows] == ["1", "2", "4", "8"] * 2
    assert float(rows[3]["bound"]) == document["curves"][0]["points"][3]["bound"]
    for name in ("float64", "float32"):
        text = (out / f"{name}.svg").read_text(encoding="utf-8")
        assert "attainable accuracy" in text
        ElementTree.fromstring(text)
    (out / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"holds 'thesis\.tex'"):
        told(file, "--task", "krr", "--out", str(out))
    (out / "thesis.tex").unlink()
    assert told(file, "--task", "krr", "--largest-s", "2", "--out", str(out)).exit_code == 0
    assert len((out / "safe-s.csv").read_text("utf-8").splitlines()) == 5


def test_where_nothing_is_certified_the_exit_code_is_3(file):
    result = told(
        file, "--task", "svm-l2", "--largest-s", "2", "--iterations", "0", "--precision", "float32"
    )
    assert result.exit_code == 3
    assert "float32: no s is certified, not even 1" in result.output
    assert "float64" not in result.output
    first, second = result.output.splitlines()[:2]
    assert first.endswith("(nothing was trained: windows begin at a = 0)")
    assert "nothing gained by training" in second


@pytest.mark.parametrize(("iterations", "far"), [("1", True), ("2000", False)])
def test_a_training_that_failed_is_warned_of(file, iterations, far):
    words = "--task", "svm-l1", "--largest-s", "1", "--iterations", iterations, "--tolerance", "1e-12"
    first = told(file, *words).output.splitlines()[0]
    assert "(stopped before --tolerance" in first
    assert ("far from the optimum" in first) == far


@pytest.mark.parametrize(
    "words",
    [
        ["--task", "svm-l1", "--largest-s", "0"],
        ["--task", "svm-l1", "--lambda", "2"],
        ["--task", "svm-l1", "--block", "2"],
        ["--task", "krr", "--block", "41"],
        ["--task", "svm-l1", "--tolerance", "-1"],
        [],
    ],
    ids=" ".join,
)
def test_bad_input_is_refused_in_one_line(file, words, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["sstep-verify", "safe-s", file, *words])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 2
    said = [line for line in capsys.readouterr().err.splitlines() if "rror" in line]
    assert len(said) == 1


def test_a_file_that_is_not_there_is_refused_and_the_command_is_listed(tmp_path):
    with pytest.raises(InputError):
        told(str(tmp_path / "none"), "--task", "svm-l1")
    assert "safe-s" in CliRunner().invoke(main.cli, ["--help"]).output


def test_a_figure_leaves_out_what_is_infinite_or_missing():
    curve = AgainstS("bound", (1, 2, 4), (1e-9, float("inf"), None))
    text = draw_against_s("a title", "loss", [curve], 2)
    ElementTree.fromstring(text)
    assert "a title" in text
    assert "inf" not in text
    assert "nan" not in text
