"""An installed package has no studies: it runs without them, and says where they are."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from sstep_verify.report.results import Campaign, Results, Summary, dumps
from studies import ROOT

BEFORE = "import sys; sys.modules['studies'] = None; "
"""As if there were none."""


ASKED = """
from sstep_verify.campaign import shipped
from sstep_verify.campaign.read import KINDS
from sstep_verify.cli.main import main
codes = []
for name in {0!r}:
    sys.argv = ["sstep-verify", "run", name]
    try:
        main()
    except SystemExit as ended:
        codes.append(ended.code)
print(*codes)
print(*shipped(), *KINDS)
"""


def without(code: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", BEFORE + code], capture_output=True, text=True, check=False, timeout=100
    )


@pytest.mark.nightly
def test_no_campaign_of_a_study_is_shipped_and_one_that_is_asked_for_is_said_to_be_in_a_clone():
    names = ("scaling", "stability", "false-alarms")
    done = without(ASKED.format(names))
    assert done.returncode == 0, done.stderr
    codes, listed = (line.split() for line in done.stdout.splitlines())
    assert codes == ["2"] * 3
    for name in names:
        assert f"campaign '{name}' is unknown" in done.stderr
    assert done.stderr.count("campaigns of studies are run in a clone, by python -m sstep_verify") == 3
    assert {"embedded", "family", "certified"} <= set(listed)
    studied = {"stability", "scenario", "scaling", "sensitivity", "sensitivity-ci", "false-alarms"}
    assert not studied & set(listed)


def test_a_campaign_file_of_a_study_is_said_to_be_run_in_a_clone():
    file = str(ROOT / "studies" / "campaigns" / "stability.toml")
    done = without(f"from sstep_verify.cli.main import main; sys.argv = ['x', 'run', {file!r}]; main()")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "unknown key 'scenario' at the top level; known: [campaign], [[family]], [[optimum]]" in done.stderr
    )
    assert "campaigns of studies are run in a clone" in done.stderr


@pytest.mark.parametrize("study", ["sensitivity", "stability"])
def test_a_document_of_a_study_is_refused_by_name(study, tmp_path):
    document = tmp_path / "results.json"
    values = json.loads(dumps(Results(Campaign("made"), Summary("All is well.", 0))))
    document.write_text(json.dumps(values | {study: {}}), "utf-8")
    done = without(f"from sstep_verify.report.results import load; load({str(document)!r})")
    assert done.returncode != 0
    assert (
        f"{study} is what a study adds, which no installed package has; do this in a clone" in done.stderr
    )


@pytest.mark.nightly
def test_another_folder_of_that_name_is_none_of_ours(tmp_path):
    (tmp_path / "studies").mkdir()
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from sstep_verify.campaign import shipped; "
        "from sstep_verify.campaign.read import KINDS; import studies; print(*shipped(), *KINDS, studies.__path__)"
    )
    for text in (None, "x = 1"):  # A folder, which a package of the clone comes before, and a package.
        if text:
            (tmp_path / "studies" / "__init__.py").write_text(text)
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100
        )
        assert done.returncode == 0, done.stderr
        assert ("false-alarms" in done.stdout) == (str(tmp_path) not in done.stdout)
    assert str(tmp_path) in done.stdout


@pytest.mark.nightly
def test_the_stability_report_of_a_solver_needs_no_studies(tmp_path):
    words = ["x", "check", "reference", "--profile", "smoke", "--task", "krr", "--s", "8", "--stability"]
    words += ["--kernel", "polynomial"]
    words += ["--jobs", "1", "--out", str(tmp_path / "report")]
    done = without(f"from sstep_verify.cli.main import main; sys.argv = {words}; main()")
    assert done.returncode == 0, done.stderr
    assert "at s = 8; the largest on" in done.stdout
    assert (tmp_path / "report" / "tables" / "stability.csv").is_file()
