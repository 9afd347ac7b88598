"""Kept outcomes come back as they were; what is not whole or not of this campaign is run again, and said."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import pytest
from campaign.kept_outcomes import COMMON, DATA, Folder, fill, outcome

from sstep_verify.campaign.partial import Partial
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.run import CAMPAIGN, identity
from sstep_verify.campaign.verdicts.execute import CaseOutcome
from sstep_verify.errors import InputError
from sstep_verify.files.paths import hidden_path
from sstep_verify.verdict import Status
from studies.report.stability.document import StabilityRun
from studies.stability.units import UnitOutcome


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "deep" / "out.partial")


def test_an_outcome_comes_back_as_it_was(folder):
    folder.interrupted(outcome("first"))
    found = folder.resumed()
    # repr shows every digit and every type, and NaN equals itself in it.
    assert {key: repr(one) for key, one in found.items()} == {"first": repr(outcome("first"))}
    assert found["first"].verdicts[0].status is Status.INCONCLUSIVE
    assert folder.said == [
        f"1 of 2 problems are taken from {folder.path}",
        f"1 finished problem is kept in {folder.path}: continue with --resume",
    ]


def test_commands_that_run_a_problem_again_are_those_of_the_run_that_resumes(folder):
    """The report of a run that was resumed otherwise is that of one that was not, and so is proved again."""
    then, now = ("sstep-verify check 'my \"solver\"' --jobs 1", "sstep-verify check 'my \"solver\"'")
    partial = folder.partial(resume=False)
    partial.open(CaseOutcome, COMMON, DATA, again=then)
    quoted = f"its last words: usage: {then}"
    kept = outcome("first", f"{then} --only first")
    partial.keep("first", replace(kept, too_few=(replace(kept.too_few[0], check=quoted),)))
    partial.close()
    partial = folder.partial()
    found = partial.open(CaseOutcome, COMMON, DATA, again=now)
    partial.close()
    assert [one.replay for one in found["first"].verdicts] == [f"{now} --only first"]
    assert found["first"].too_few[0].check == quoted


def test_an_outcome_of_a_scenario_comes_back_as_it_was(folder):
    run = StabilityRun("case", 1e8, 1.02e8, 3, 2, math.nan, 0.1, 0.2, None, 2)
    unit = UnitOutcome("key", (run,), (("case", 1e8, outcome("case").verdicts[0]),))
    for resume in (False, True):
        partial = folder.partial(resume)
        found = partial.open(UnitOutcome, COMMON, {"key": ""})
        if not resume:
            partial.keep("key", unit)
        partial.close()
    assert repr(found) == repr({"key": unit})


def test_an_outcome_of_other_data_is_ignored_with_one_line(folder):
    folder.interrupted(outcome("first"), outcome("second"))
    assert set(folder.resumed(COMMON, {**DATA, "first": "cc"})) == {"second"}
    assert ["other content of the data" in line for line in folder.said if "(first)" in line] == [True]


@pytest.mark.parametrize(
    ("common", "words"),
    [
        (
            {"version of sstep-verify": {"version": "2"}},
            r"other version of sstep-verify: .*'1'.*, now .*'2'",
        ),
        ({CAMPAIGN: "a digest"}, re.escape(f"other {CAMPAIGN}; they were made by: my 'long command'")),
    ],
)
@pytest.mark.parametrize("asked", [DATA, {"third": ""}])
def test_outcomes_of_another_campaign_are_refused_with_the_reason_and_stay(folder, common, words, asked):
    folder.interrupted(outcome("first"), outcome("second"))
    kept = sorted(folder.path.iterdir())
    refused = f"holds 2 finished problems .*cannot take: {words}.*--force"
    with pytest.raises(InputError, match=refused) as caught:
        folder.resumed(common, asked)
    # The command that made them brings no other version back.
    assert ("Continue with the command" in str(caught.value)) == (CAMPAIGN in common)
    assert sorted(folder.path.iterdir()) == kept
    assert set(folder.resumed()) == set(DATA)


def test_where_nothing_is_taken_it_is_said_what_there_is(folder):
    assert folder.resumed() == {}
    assert folder.said == [f"--resume: there is nothing to continue from in {folder.path}, so all is run"]
    folder.interrupted(outcome("first"))
    assert folder.resumed(data={"other": "aa"}) == {}
    assert folder.said[0].endswith(
        f"0 of 1 problem is taken from {folder.path}, which held 1 finished problem, but none that this run "
        "can take"
    )
    # One that is asked for, of other data, is none of these either.
    assert folder.resumed(data={"first": "cc"}) == {}
    assert folder.said[-1].endswith("but none that this run can take")


def test_the_identity_changes_with_campaign_file_path_of_data_and_solver_options(tmp_path):
    path = tmp_path / "small.toml"
    text = """
    [campaign]
    name = "small"
    title = "Small"
    description = "Small."
    [[family]]
    data = ["breast_cancer"]
    task = ["svm-l1"]
    kernel = [{ name = "linear" }]
    s = [1]
    """

    def made(text, directory=None):
        path.write_text(text, encoding="utf-8")
        return json.dumps(identity(read_definition(str(path)), directory))

    assert made(text) == made(text)
    others = {
        made(text, "folder"), made(text.replace("[1]", "[1, 2]")), made(text + 'exchange = "gram"'),
        made(text.replace("linear", "rbf").replace('rbf"', 'rbf", sigma = 1.0')),
    }  # fmt: skip
    assert len(others - {made(text)}) == 4


def test_what_is_there_is_refused_unless_it_is_resumed_or_discarded(folder):
    folder.interrupted(outcome("first"))
    with pytest.raises(InputError, match=r"holds 1 finished problem .*--resume.*--force"):
        folder.partial(resume=False).open(CaseOutcome, COMMON, DATA)
    assert folder.said == []
    assert set(folder.resumed()) == {"first"}
    partial = Partial(folder.path, force=True)
    assert partial.open(CaseOutcome, COMMON, DATA) == {}
    partial.close()
    assert not folder.path.exists()


def test_other_problems_than_those_asked_for_stay(folder):
    folder.interrupted(outcome("first"), outcome("second"))
    partial = folder.partial()
    assert set(partial.open(CaseOutcome, COMMON, {"second": "bb"})) == {"second"}
    partial.reported()
    partial.close()
    assert set(folder.resumed()) == {"first"}


def test_a_whole_report_leaves_nothing_and_one_that_is_not_whole_leaves_all(folder):
    for last, left in (("none", True), ("second", False)):
        partial = folder.partial()
        partial.open(CaseOutcome, COMMON, DATA)
        partial.keep("first", outcome("first"))
        if last in DATA:
            partial.keep(last, outcome(last))
        partial.reported()
        partial.close()
        assert folder.path.exists() is left


def test_artefacts_stay_with_their_outcomes_and_others_go(folder):
    replay = "sstep-verify explain --again artefacts/"
    folder.interrupted(outcome("first", replay + "one"), outcome("second", replay + "lost"))
    for name in ("one", "unfinished", ".half.partial"):
        (folder.path / "artefacts" / name).mkdir(parents=True)
    fill(folder.path / "artefacts/one")
    partial = folder.partial()
    assert set(partial.open(CaseOutcome, COMMON, DATA)) == {"first"}
    assert [
        line.endswith("its artefact lost is not there") for line in folder.said if "(second)" in line
    ] == [True]
    assert [entry.name for entry in partial.artefacts.iterdir()] == ["one"]
    assert partial.named == {"one"}
    partial.close()
    assert sorted(entry.name for entry in folder.path.iterdir() if entry.is_dir()) == ["artefacts"]
    assert set(folder.resumed()) == {"first"}


def test_a_foreign_file_is_refused_and_kept(folder):
    folder.path.mkdir(parents=True)
    (folder.path / "thesis.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match=r"thesis\.json is no part .*--out"):
        folder.partial(resume=False).open(CaseOutcome, COMMON, DATA)
    assert [entry.name for entry in folder.path.iterdir()] == ["thesis.json"]


def test_what_a_killed_writer_left_is_removed(folder):
    folder.interrupted(outcome("first"))
    left = hidden_path(folder.file(), "partial")
    left.write_text("half", encoding="utf-8")
    assert set(folder.resumed()) == {"first"}
    assert not left.exists()


def test_two_runs_cannot_share_a_folder(folder):
    first = folder.partial(resume=False)
    first.open(CaseOutcome, COMMON, DATA)
    second = folder.partial(resume=False)
    with pytest.raises(InputError, match=r"--out .*another run .*writes there"):
        second.open(CaseOutcome, COMMON, DATA)
    second.close()
    assert folder.path.is_dir()
    first.keep("first", outcome("first"))
    first.close()
    assert set(folder.resumed()) == {"first"}


def test_what_cannot_be_kept_is_said_once_and_ends_nothing(folder, monkeypatch):
    partial = folder.partial(resume=False)
    partial.open(CaseOutcome, COMMON, DATA)
    folder.path.rmdir()
    for key in DATA:
        partial.keep(key, outcome(key))
    (line,) = folder.said
    assert "no longer kept for --resume" in line
    partial.close()
