"""The option --oracle of ``check`` and ``run``: which oracle judged is in every result, and is kept."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from command import command
from sstep_reference.arithmetic import Balls

from sstep_verify import ReferenceSolver, verify
from sstep_verify.campaign.artefact.files import read_artefact
from sstep_verify.campaign.profile import with_oracle
from sstep_verify.campaign.read import read_definition
from sstep_verify.cli.options import ORACLES as NAMES
from sstep_verify.errors import InputError
from sstep_verify.oracle.choice import ORACLES

PROGRAM = Path(__file__).with_name("numpy_program.py")
LARGE = "breast_cancer_scale"
"""A data set that comes with the package, of 569 samples."""


POINTS = "".join(f"{k % 5 - 2} 1:{k % 3 - 1} 2:{k * k % 7 / 4} 3:{k / 8}\n" for k in range(9))
"""Few samples, whose kernel rows are soon evaluated."""


@pytest.fixture(name="here", autouse=True)
def _here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("points").write_text(POINTS)
    return tmp_path


SMALL = [
    "--profile", "smoke", "--on", "points", "--task", "krr", "--kernel", "rbf", "--s", "4", "--jobs", "1",
]  # fmt: skip


def check(*words: str, mistake: str = "") -> tuple[int, str, str]:
    """The reference under ``check``; with a mistake, a program that makes it."""
    if not mistake:
        return command("check", "reference", *SMALL, *words)
    line = shlex.join([sys.executable, str(PROGRAM), "{dir}", mistake])
    return command("check", "--exec", line, *SMALL, "--set", "factorisation=lu", *words)


def document(folder: str) -> dict:
    return json.loads((Path(folder) / "results.json").read_text("utf-8"))


def judged_by(results: dict) -> str:
    return results["campaign"]["parameters"]["oracle"]


def evaluated(verdict: dict) -> bool:
    return any(note["kind"] == "evaluated" for note in verdict["notes"])


def test_the_oracle_is_named_in_the_results_and_in_the_last_line():
    assert tuple(ORACLES) == NAMES
    code, out, err = check("--oracle", "mpmath", "--out", "report")
    assert code == 0, out + err
    results = document("report")
    assert judged_by(results) == "mpmath"
    assert "evaluated by mpmath, not enclosed" in results["summary"]["sentence"]
    assert results["summary"]["sentence"] in out
    assert results["summary"]["power"] == ""
    steps = next(one for one in results["verdicts"] if one["check"] == "step-replay")
    assert (steps["status"], evaluated(steps)) == ("PASS", True)
    assert "--oracle mpmath" in steps["replay"]
    assert check("--out", "usual")[0] == 0
    usual = document("usual")
    assert judged_by(usual) == "arb"
    assert not any(map(evaluated, usual["verdicts"]))
    statuses = [[(one["check"], one["status"]) for one in made["verdicts"]] for made in (results, usual)]
    assert statuses[0] == statuses[1]


@pytest.mark.nightly
@pytest.mark.parametrize("explained", [False, True])
def test_what_failed_is_judged_again_by_the_same_oracle(monkeypatch, request, explained):
    """To look for a cause takes most of the time."""
    if not explained:
        request.getfixturevalue("unexplained")
    code, out, err = check("--oracle", "mpmath", "--out", "report", mistake="m dropped")
    assert code == 1, out + err
    failed = next(one for one in document("report")["verdicts"] if one["status"] == "FAIL")
    kept = Path("report") / failed["replay"].split()[-1]
    assert read_artefact(kept).case.oracle == "mpmath"
    assert "--oracle mpmath" in failed["evidence"]["run_again"]

    def refuse(self, bits=256):
        raise AssertionError("a ball was made")

    monkeypatch.setattr(Balls, "__init__", refuse)
    code, out, err = command("explain", "--again", str(kept))
    assert code == 1, out + err
    assert "agrees in every number" in out


def test_verify_names_its_oracle(here):
    report = verify(
        ReferenceSolver(),
        "smoke",
        tasks=["krr"],
        kernels=["rbf"],
        s=[4],
        oracle="mpmath",
        out=here / "report",
    )
    assert report.passed
    assert judged_by(document("report")) == "mpmath"
    assert all("oracle='mpmath'" in one["replay"] for one in report.results.verdicts)
    with pytest.raises(InputError, match=r"oracle 'mpmat' is unknown \(did you mean 'mpmath'"):
        verify(ReferenceSolver(), "smoke", oracle="mpmat")
    with pytest.raises(InputError, match=r"m = 569: .*oracle mpmath \(at most 200\)"):
        verify(ReferenceSolver(), "smoke", tasks=["svm-l1"], data=LARGE, oracle="mpmath")


@pytest.mark.nightly
def test_run_takes_it_for_campaigns_with_verdicts():
    code, out, err = command(
        "run",
        "smoke",
        "--only",
        "rbf,sigma=0.2/krr",
        "--oracle",
        "mpmath",
        "--out",
        "report",
        "--jobs",
        "1",
    )
    assert code == 0, out + err
    results = document("report")
    assert judged_by(results) == "mpmath"
    assert all(
        one["replay"].startswith("sstep-verify run smoke --oracle mpmath --only")
        for one in results["verdicts"]
    )
    code, out, err = command("run", "embedded", "--only", LARGE, "--oracle", "mpmath")
    assert (code, out) == (2, "")
    assert "m = 569" in err
    assert "at most 200" in err
    code, _, err = command("run", "certified", "--oracle", "mpmath")
    assert code == 2
    assert "certificates rest on arb" in err
    definition = read_definition("smoke")
    assert with_oracle(definition, "arb") is definition
