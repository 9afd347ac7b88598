"""``oracle --final``: one vector of somebody's solver, judged without running anything."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command import command

from sstep_verify.checks import optimum
from sstep_verify.cli.campaign import VACUOUS_VECTOR
from sstep_verify.cli.main import main
from sstep_verify.oracle.certificate.optimum import ridge_optimum, svm_optimum
from sstep_verify.problems import Hinge, LinearKernel, Problem, RBFKernel, Ridge
from sstep_verify.problems.data.datasets import load
from sstep_verify.report import words

EXAMPLE = Path(__file__).parents[2] / "examples" / "adapters" / "kernel_ridge" / "fit.py"
RIDGE = ["small_regression", "--task", "krr", "--lambda", "0.1"]
SVM = ["small", "--task", "svm-l1", "--kernel", "rbf,sigma=0.5", "--C", "2"]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs ``oracle --final`` on a vector in the test's folder; exit code, output, verdicts."""
    monkeypatch.chdir(tmp_path)
    # No solver is run, so that processes of their own would shield nothing, and take longer to start than to judge.
    monkeypatch.setattr("sstep_verify.cli.campaign.processors", lambda: 1)

    def on(vector, *words, form="%.17g"):
        np.savetxt("alpha.txt", vector, fmt=form)
        monkeypatch.setattr(sys, "argv", ["sstep-verify", "oracle", *words, "--final", "alpha.txt"])
        with pytest.raises(SystemExit) as ended:
            main()
        results = Path("sstep-verify-out/alpha-final/results.json")
        found = json.loads(results.read_text("utf-8")) if results.exists() else {}
        told = capsys.readouterr()
        return ended.value.code, told.out + told.err, found

    return on


def ridge():
    data = load("small_regression")
    problem = Problem("small", data.data, data.targets, LinearKernel(), Ridge(0.1))
    return ridge_optimum(problem).alpha


def svm():
    data = load("small")
    return svm_optimum(Problem("small", data.data, data.targets, RBFKernel(0.5), Hinge(2.0))).alpha


def test_the_optimum_passes_and_what_it_reaches_is_said(run):
    code, told, found = run(ridge(), *RIDGE)
    assert code == 0, told
    assert told.startswith("alpha-final: the optimum to 1e-08, relative error in [0, ")
    assert [one["check"] for one in found["verdicts"]] == ["optimum"]
    assert "wherever judged: s" not in told


@pytest.mark.parametrize(("off", "hinted"), [(3e-7, "1e-06"), (0.01, "")])
def test_a_vector_near_the_optimum_is_given_the_tolerance_that_it_meets(run, off, hinted):
    code, told, found = run(ridge() * (1 + off), *RIDGE)
    (note,) = (one for one in found["verdicts"][0]["notes"] if one["kind"] == "relative")
    assert (code, round(note["detail"][0], 9)) == (1, off)
    assert (f"--tolerance {hinted}" in told) == bool(hinted)
    if hinted:
        assert run(ridge() * (1 + off), *RIDGE, "--tolerance", hinted)[0] == 0


def test_the_page_of_a_vector_tells_of_no_stream_and_no_solver(run):
    run(svm(), *SVM)
    page = Path("sstep-verify-out/alpha-final/index.html").read_text("utf-8")
    assert "<dt>optimum found by</dt>" in page
    for fact in (
        "<dt>index stream",
        "update in-place",
        "not declared",
        "<dt>solver",
        "<dt>communication scheme",
        "<dt>memory</dt>",  # Far below the limit it decides nothing.
    ):
        assert fact not in page, fact


def test_printed_decimals_enter_the_bound(run):
    code, told, found = run(svm(), *SVM, form="%.5f")
    assert code == 0, told
    (evidence,) = [one["evidence"] for one in found["verdicts"] if one["check"] == "optimum"]
    gap = evidence["gap_over_optimal_value"][0]
    assert gap > 1e-8, gap  # More than the tolerance alone allows, so that this alone is not said.
    assert ": the optimum to" not in told
    assert "no farther from the optimum than 1e-08 and the digits that were not printed allow (" in told
    code, told, found = run(svm() * (1 + 1e-4), *SVM, form="%.6f")
    assert code == 1
    assert {one["check"] for one in found["verdicts"] if one["status"] == "FAIL"} == {"optimum", "box"}


@pytest.mark.parametrize("digits", [4, 5, 6])
def test_what_printed_decimals_allow_is_said_as_a_share_of_the_optimum(run, digits):
    """The bound is a gap, and the tolerance a share: the share of a bound is not the tolerance by far."""
    code, told, found = run(svm(), *SVM, form=f"%.{digits}f")
    assert code == 0, told
    (verdict,) = [one for one in found["verdicts"] if one["check"] == "optimum"]
    (said,) = re.findall(r"allow \((\S+) together\), gap", told)
    allowed = verdict["bound"] / verdict["evidence"]["optimal_value"][0]
    assert allowed * (1 - 1e-6) <= float(said) <= 1.1 * allowed
    assert float(said) > max(1e-8, verdict["evidence"]["gap_over_optimal_value"][1])


@pytest.mark.parametrize(("value", "code"), [(0.0, 0), (1e-9, 1), (1e-300, 1)])
def test_a_report_on_targets_that_are_all_0_is_written(run, value, code):
    rows = np.random.Generator(np.random.PCG64(0)).standard_normal((12, 3))
    lines = (" ".join(["0", *(f"{k}:{entry:.6f}" for k, entry in enumerate(row, 1))]) for row in rows)
    Path("zero.svm").write_text("\n".join([*lines, ""]), "utf-8")
    ended, told, found = run(np.full(12, value), "zero.svm", "--task", "krr", "--lambda", "0.5")
    assert ended == code, told
    (verdict,) = found["verdicts"]
    low, high = verdict["evidence"]["measured_enclosure"]
    assert low <= value * np.sqrt(12) <= high
    assert (low == high) is (value == 0.0)
    assert [term["name"] for term in verdict["terms"] if term["seen"]] == [optimum.ONES]


def test_digits_that_were_not_printed_are_allowed_where_the_optimum_is_0(run):
    Path("zero.svm").write_text("0 1:1 2:0.5\n0 1:0.25 2:-1\n", "utf-8")
    for value, code in ((0.0, 0), (0.04, 0), (0.2, 1)):
        assert run(np.full(2, value), "zero.svm", "--task", "krr", "--lambda", "1", form="%.1f")[0] == code


def test_a_stated_tolerance_is_what_is_held_against(run):
    near = svm() * (1 - 1e-4)
    assert run(near, *SVM)[0] == 1
    assert run(near, *SVM, "--tolerance", "0.001")[0] == 0
    code, told, found = run(near, *SVM, "--tolerance", "1e6")
    assert code == 3
    terms = {one["check"]: one["terms"] for one in found["verdicts"]}["optimum"]
    assert [term["name"] for term in terms] == [optimum.ZERO]
    assert all("kernel entry" not in case["reason"] for case in found["cases"])
    assert "--tolerance" in told
    assert words.DIGITS not in told


def test_a_vector_of_one_digit_is_asked_to_have_more(run):
    code, told, found = run(svm(), *SVM, form="%.0e")
    assert code == 3
    (one,) = (one for one in found["verdicts"] if one["check"] == "optimum")
    assert "digits_rounded" in {note["kind"] for note in one["notes"]}
    assert words.DIGITS in told
    assert VACUOUS_VECTOR in told
    page = Path("sstep-verify-out/alpha-final/index.html").read_text("utf-8")
    assert "<dt>box</dt>" in page
    assert not re.search("<dt>(contract|window-replay|level)</dt>", page)


def test_the_commands_of_a_wrong_vector_work(run):
    code, told, found = run(2 * ridge(), *RIDGE)
    again = f"sstep-verify oracle {shlex.join(RIDGE)} --final alpha.txt"
    assert code == 1
    assert found["verdicts"][0]["evidence"]["run_again"] == again
    (more,) = [line.removeprefix("more: ") for line in told.splitlines() if line.startswith("more: ")]
    told = command(*shlex.split(more)[1:])[1]
    assert "Errors that this vector would have shown\n" in told
    code, explained, _ = command("explain", "--again", shlex.split(more)[-1])
    assert code == 1
    assert "s = 1" not in told + explained
    assert f"with the vector: {again}\n" in explained
    assert command(*shlex.split(again)[1:])[0] == 1


def test_the_box_may_be_left_by_the_tolerance_times_C(run):
    vector = svm()
    top = int(np.argmax(vector))
    assert vector[top] == 2.0
    for beyond, codes in ((1e-8, (0, 0)), (1e-6, (1, 0))):
        vector[top] = 2.0 + beyond
        found = run(vector, *SVM)[0], run(vector, *SVM, "--tolerance", "1e-6")[0]
        assert found == codes


@pytest.mark.parametrize("value", [np.nan, 1e300])
@pytest.mark.parametrize("options", ["ridge", "svm"])
def test_no_gap_is_reported_of_a_vector_that_has_none(run, options, value):
    vector = ridge() if options == "ridge" else svm()
    vector[int(np.argmax(np.abs(vector)))] = value
    code, told, _ = run(vector, *(RIDGE if options == "ridge" else SVM))
    assert code == 1
    assert "inf" not in told
    inside = "gap over the optimal value, of the nearest vector in the box, in [" in told
    assert inside == (options == "svm" and value == 1e300)
    assert ("is known" in told) != inside


def test_a_convention_is_named_and_undone(run):
    code, told, _ = run(ridge() / 0.1, *RIDGE)
    assert code == 1
    assert "c alpha with c = 1/lambda = 10" in told
    assert "s = 1" not in told
    page = Path("sstep-verify-out/alpha-final/index.html").read_text("utf-8")
    assert "<dt>May be</dt><dd>proportional to the optimum" in page
    assert "<dt>Cause</dt>" not in page
    assert not re.search(r"\bs = 1</|, s = 1 |first at s|faulty s|over all s|>Iterations<|Runs;", page)
    assert run(ridge() / 0.1, *RIDGE, "--scale", "1/lambda")[0] == 0
    labels = load("small").targets
    code, told, _ = run(labels * svm(), *SVM)
    assert code == 1
    assert "its entries are y_i a_i" in told
    assert run(labels * svm(), *SVM, "--signed")[0] == 0


def test_the_artefact_of_a_vector_is_judged_again_and_explained(run, monkeypatch, capsys):
    run(2 * ridge(), *RIDGE)
    (folder,) = Path("sstep-verify-out/alpha-final/artefacts").iterdir()
    for option in (["--again"], []):
        monkeypatch.setattr(sys, "argv", ["sstep-verify", "explain", *option, str(folder)])
        with contextlib.suppress(SystemExit):
            main()
        told = capsys.readouterr().out
        assert "c = 2" in told


def test_what_an_interrupted_run_has_finished_stays(run):
    kept = Path("sstep-verify-out/alpha-final.partial") / f"{'0' * 32}.json"
    kept.parent.mkdir(parents=True)
    kept.write_text("what --resume goes on with")
    assert run(ridge(), *RIDGE)[0] == 0
    assert kept.read_text() == "what --resume goes on with"
    assert {path.name for path in kept.parents[1].iterdir()} == {"alpha-final", "alpha-final.partial"}


def test_a_vector_that_is_not_finite_fails(run):
    vector = ridge()
    vector[3] = np.nan
    code, _, found = run(vector, *RIDGE)
    assert code == 1
    (place,) = [one["place"] for one in found["verdicts"] if one["check"] == "optimum"]
    assert (place["item"], place["coordinate"]) == ("largest entry", 3)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--task", "krr"], "give DATA and --task"),
        (["small"], "give DATA and --task"),
        ([*RIDGE, "--digits", "4"], "--digits does not go with --final"),
        ([*RIDGE, "--force"], "--force does not go with --final"),
        ([*RIDGE, "--C", "4"], "--C 4.0"),
        ([*RIDGE, "--scale", "1/lambd"], "did you mean '1/lambda'"),
        ([*RIDGE, "--signed"], "those of a K-SVM"),
        (["wide", "--task", "svm-l1"], "holds 32 numbers, but the data have 150 samples"),
    ],
)
def test_what_cannot_be_judged_is_refused(run, words, told):
    code, output, _ = run(ridge(), *words)
    assert code == 2
    assert told in output


def test_options_of_a_vector_need_one(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sstep-verify", "oracle", "small", "--task", "krr", "--scale", "2"])
    with pytest.raises(SystemExit):
        main()
    assert "--scale is for --final" in capsys.readouterr().err


@pytest.mark.nightly
def test_kernel_ridge_of_scikit_learn_is_another_convention(run, tmp_path):
    pytest.importorskip("sklearn", reason="scikit-learn is absent: install the extra [peers]")
    data = load("small_regression")
    rows = [
        f"{y!r} " + " ".join(f"{j + 1}:{float(x)!r}" for j, x in enumerate(row) if x)
        for y, row in zip(data.targets.tolist(), np.asarray(data.data), strict=True)
    ]
    (tmp_path / "train.svm").write_text("\n".join(rows) + "\n", "utf-8")
    words = ["train.svm", "0.1", "0.5", "coefficients.txt"]
    subprocess.run([sys.executable, str(EXAMPLE), *words], check=True, timeout=100)
    vector = np.loadtxt("coefficients.txt")
    asked = ["train.svm", "--task", "krr", "--lambda", "0.1", "--kernel", "rbf,sigma=0.5"]
    code, told, _ = run(vector, *asked)
    assert code == 1
    assert "c = 1/lambda = 10" in told
    assert run(vector, *asked, "--scale", "1/lambda")[0] == 0
