"""A report with kept runs is made again without its solver, and what was changed in it is found."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command import command
from kept import SMALL, copied, kept_report, mended

from sstep_verify import verify
from sstep_verify.campaign.artefact import runs
from sstep_verify.campaign.artefact.runs import TooLargeError, name_of, read_case
from sstep_verify.campaign.kept import read_campaign
from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.partial import Partial
from sstep_verify.campaign.pool import spread
from sstep_verify.campaign.profile import Selection, profile_of
from sstep_verify.campaign.run import run_campaign
from sstep_verify.campaign.verdicts.kind import KIND
from sstep_verify.errors import InputError
from sstep_verify.report.results import load
from sstep_verify.solver import ProductionSolver
from sstep_verify.verdict import Status, Why

PROGRAM = Path(__file__).with_name("plain_program.py")


@pytest.fixture(scope="module")
def right(tmp_path_factory) -> Path:
    """The report of a correct solver, with its runs; to be copied, not changed."""
    return kept_report(tmp_path_factory.mktemp("right"), "right", 0)


def proved(folder: Path) -> tuple[int, str]:
    """Exit code and output of making a report again."""
    code, out, err = command("explain", "--again", str(folder), "--jobs", "1")
    return code, out + err


def test_a_report_is_equal_to_what_its_runs_give(right):
    code, said = proved(right)
    assert (code, "equal: the kept runs give this report" in said) == (0, True), said
    assert "kept_solvers" not in sys.modules


@pytest.mark.parametrize("solver", ["Defective", pytest.param("Raising", marks=pytest.mark.nightly)])
def test_a_report_of_a_faulty_solver_is_equal_to_what_its_runs_give(tmp_path, solver):
    report = kept_report(tmp_path, solver, 1)
    code, said = proved(report)
    assert (code, "faulty on 1" in said) == (0, True), said


@pytest.mark.nightly
def test_a_run_that_ended_its_process_is_kept_as_one_that_did(tmp_path, process_of_its_own):
    report = kept_report(tmp_path, "Crashing", 1, alone=False)
    assert proved(report)[0] == 0
    (name,) = read_campaign(report / "runs").cases
    ended = read_case(report / "runs" / name_of(name)).runs["s=7"].run
    assert ended.raised
    assert "signal 11" in ended.raised.message


@pytest.mark.parametrize(
    "words",
    [
        ("check", "mine.toml", "--profile", "smoke", "--kernel", "rbf", "--s", "7"),
        pytest.param(("run", "file.toml"), marks=pytest.mark.nightly),
    ],
)
def test_a_report_of_a_program_is_made_again_without_the_program(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    shutil.copy(PROGRAM, "mine.py")
    (tmp_path / "mine.toml").write_text(
        f'[program]\nname = "mine"\ncommand = ["{sys.executable}", "mine.py", "{{dir}}", "last"]\n'
    )
    (tmp_path / "file.toml").write_text(ONE)
    more = ("--only", "svm-l1", "--jobs", "1", "--out", "report", "--keep-runs")
    code, out, err = command(*words, *more)
    assert code == 1, out + err
    for name in ("mine.py", "mine.toml", "file.toml"):
        (tmp_path / name).unlink()
    assert proved(tmp_path / "report")[0] == 0


class Last(ProductionSolver):
    """A solver of which the last alpha is all that is known."""

    def __init__(self):
        super().__init__()
        silent = {"log": False, "panels": False, "exchange": None}
        self.declaration = replace(self.declaration, name="last", level=0, **silent)


ONE = """
[campaign]
name = "file"
title = "One program"
description = "A program that a campaign file names."

[[family]]
solver = "mine.toml"
data = ["small"]
task = ["svm-l1"]
kernel = [{ name = "rbf", sigma = 0.5 }]
parameter = [2.0]
s = [7]
iterations = 40
"""


@pytest.mark.nightly
def test_a_report_judged_by_final_vectors_says_so_everywhere_and_is_made_again(tmp_path):
    folder = tmp_path / "report"
    report = verify(
        Last(), "smoke", tasks=("svm-l1",), kernels=("rbf",), s=(7,), out=folder, keep_runs=True
    )
    results, words = report.results, "judged by final vectors only"
    assert results.summary.sentence.startswith(f"{words}: correct wherever judged: s = 7 on 1 of 1 problem")
    assert results.campaign.title.endswith(f", {words}")
    assert results.cases[0].reason.startswith(f"{words}: correct for s = 7")
    assert repr(report).count(words) == 2
    assert words in (folder / "junit.xml").read_text("utf-8")
    assert (folder / "index.html").read_text("utf-8").partition("</title>")[0].endswith(words)
    assert proved(folder)[0] == 0


@pytest.mark.nightly
def test_an_interrupted_report_and_one_that_went_on_are_made_again(tmp_path, monkeypatch):
    def first_only(kind, units, plan, heard):
        yield next(iter(spread(kind, units[:1], plan, heard)))
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    small = ("run", "two.toml", "--jobs", "1", "--keep-runs", "--out", "report")
    Path("two.toml").write_text(TWO, "utf-8")
    with monkeypatch.context() as patch:
        patch.setattr("sstep_verify.campaign.run.spread", first_only)
        assert command(*small)[0] == 130
    assert load("report/results.json").summary.interrupted
    assert proved(Path("report"))[0] == 0
    code, out, err = command(*small, "--resume")
    assert code == 0, out + err
    assert "1 of 2 problems are taken from" in err
    assert len(load("report/results.json").cases) == 2
    assert proved(Path("report"))[0] == 0
    assert not Path("report.partial").exists()


TWO = """
[campaign]
name = "two"
title = "Two problems"
description = "Two problems that share kernels."

[[family]]
data = ["small_regression"]
task = ["krr"]
kernel = [{ name = "linear" }]
parameter = [1.0, 0.25]
s = [1, 4]
iterations = 40
"""


def test_what_would_take_too_much_is_refused_before_the_first_run(tmp_path, monkeypatch):
    class NeverRun(ProductionSolver):
        def run(self, request, observe=None):
            raise AssertionError("a run was made")

    monkeypatch.setattr(runs, "LIMIT", 2_000)
    definition = profile_of(
        "smoke", NeverRun(), Selection(s=(7,), tasks=("svm-l1",), kernels=("rbf",)), "again"
    )
    with pytest.raises(TooLargeError, match="leave it out, or ask for fewer problems by --only") as refusal:
        run_campaign(Plan(definition, keep=tmp_path / "kept"))
    assert refusal.value.estimate > refusal.value.limit == 2_000
    assert str(refusal.value).count("GB") == 2
    assert not (tmp_path / "kept").exists()


def test_the_estimate_is_near_what_the_runs_take(right):
    (name,) = read_campaign(right / "runs").cases
    size = (right / "runs" / name_of(name) / "runs.npz").stat().st_size
    definition = read_campaign(right / "runs").definition()
    said: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sstep_verify.campaign.verdicts.kind.refuse_too_large", said.extend)
        unit_of = KIND.units(definition)
        KIND.prepare(Plan(definition, keep=right), unit_of)
    assert size / 4 < sum(said) < 4 * size


def test_kernel_entries_says_that_their_rows_were_not_kept(right):
    found = [one for one in load(right / "results.json").verdicts if one["check"] == "kernel-entries"]
    assert {(one["status"], one["why"], one["executed"]) for one in found} == {
        (Status.VACUOUS, Why.NOT_KEPT, 0)
    }
    assert not any(load(right / "results.json").campaign.parameters["too_few"])


def test_a_changed_run_is_found_and_one_with_its_digests_changes_the_verdict(right, tmp_path):
    report = copied(right, tmp_path)
    (folder,) = [path for path in (report / "runs").iterdir() if path.is_dir()]
    whole = (folder / "runs.npz").read_bytes()
    kept = read_case(folder)
    with np.load(folder / "runs.npz") as arrays:
        values = {name: arrays[name].copy() for name in arrays}
    moved = next(name for name, one in values.items() if one.shape == kept.runs["s=7"].run.alphas.shape)
    values[moved][3] *= 1 + 1e-9
    np.savez(folder / "runs.npz", **values)
    code, said = proved(report)
    assert (code, "has SHA-256" in said) == (2, True)
    mended(report)
    code, said = proved(report)
    assert code == 4, said
    assert "summary.exit_code: is 0, made again 1" in said
    (folder / "runs.npz").write_bytes(whole[:-7])
    assert proved(report)[0] == 2
    (folder / "runs.npz").unlink()
    assert proved(report)[0] == 2


@pytest.mark.nightly
def test_runs_that_are_left_out_or_of_another_problem_make_no_report(right, tmp_path):
    report = copied(right, tmp_path)
    (folder,) = [path for path in (report / "runs").iterdir() if path.is_dir()]
    document = json.loads((folder / "runs.json").read_text("utf-8"))
    for key, change in (
        ("s=7", lambda run: None),
        ("s=7", lambda run: run["run"]["asked"].update(problem="0" * 64)),
        ("s=1", lambda run: run["run"]["asked"].update(iterations=3)),
    ):
        changed = json.loads(json.dumps(document))
        if change(changed["runs"][key]) is None and changed == document:
            del changed["runs"][key]
        (folder / "runs.json").write_text(json.dumps(changed), "utf-8")
        mended(report)
        code, said = proved(report)
        assert (code, "cases" in said) == (4, True), said


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("campaign.json", "[" * 100_000),
        ("campaign.json", '{"schema": 2}'),
        ("campaign.json", '{"schema": 1}'),
        ("runs.json", "{}"),
        ("runs.json", "\0"),
    ],
)
def test_what_are_no_kept_runs_is_refused_in_one_line(right, tmp_path, name, content):
    report = copied(right, tmp_path)
    (path,) = (report / "runs").rglob(name)
    path.write_text(content, "utf-8")
    mended(report)
    code, said = proved(report)
    assert code in (2, 4)
    assert "Traceback" not in said


def test_a_report_without_runs_and_links_are_refused(right, tmp_path):
    report = copied(right, tmp_path)
    (folder,) = [path for path in (report / "runs").iterdir() if path.is_dir()]
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert proved(report)[0] == 2
    shutil.rmtree(report / "runs")
    code, said = proved(report)
    assert (code, "check --keep-runs" in said) == (2, True)
    with pytest.raises(InputError, match="name its folder by out"):
        verify(ProductionSolver(), "smoke", keep_runs=True)


@pytest.mark.parametrize(
    ("words", "named"), [(("{}",), "--again {}"), (("--again", "{}/runs"), "--again {}")]
)
def test_what_is_no_artefact_is_refused_with_the_command_that_takes_it(right, words, named):
    code, _, said = command("explain", *(word.format(right) for word in words))
    assert (code, named.format(right) in said) == (2, True), said


@pytest.mark.nightly
def test_a_report_with_kept_runs_is_not_replaced_without_a_word(right, tmp_path, monkeypatch):
    report = copied(right, tmp_path)
    monkeypatch.chdir(tmp_path)
    solver = "sstep_verify.solver:ProductionSolver"
    for told in (True, False):
        code, _, said = command("check", solver, *SMALL, "--out", report.name)
        assert (code, "replaces one with kept runs" in said) == (0, told), said
    assert not (report / "runs").exists()


def test_a_report_that_is_written_again_has_its_runs(right, tmp_path):
    assert command("report", str(right / "results.json"), "--out", str(tmp_path / "page"))[0] == 0
    assert proved(tmp_path / "page")[0] == 0


def test_a_campaign_without_verdicts_keeps_no_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = command("run", "certified", "--only", "svm", "--keep-runs", "--out", "report")
    assert (code, "--keep-runs is for campaigns with verdicts" in err) == (2, True)


@pytest.mark.nightly
def test_an_outcome_that_was_kept_without_its_runs_is_made_again(tmp_path):
    definition = profile_of(
        "smoke", ProductionSolver(), Selection(s=(7,), tasks=("svm-l1",), kernels=("rbf",)), "again"
    )
    found = []
    for place, keeps in enumerate((False, True, True)):
        partial = Partial(tmp_path / "kept", resume=place > 0)
        keep = partial.runs if keeps else None
        run_campaign(Plan(definition, partial=partial, artefacts=partial.artefacts, keep=keep))
        found.append({path: path.stat().st_mtime_ns for path in partial.runs.glob("*/runs.json")})
        partial.close()
    assert [len(one) for one in found] == [0, 1, 1]
    assert found[1] == found[2], "an outcome with its runs is not"
