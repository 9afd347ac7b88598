"""What a run has finished: never mixed with that of another solver, and nothing is written or copied by its words."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from command import command

from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.partial import Partial
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.run import run_campaign

_SPEC = importlib.util.spec_from_file_location("nasty", Path(__file__).parents[1] / "hostile" / "nasty.py")
nasty = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(nasty)

CAMPAIGN = """[campaign]
name = "parts"
title = "Parts"
description = "Two problems."
[[family]]
data = ["{data}"]
task = ["svm-l1"]
kernel = [{{ name = "{kernel}" }}]
parameter = [2.0, 3.0]
s = [4]
iterations = 12
tolerance = 1e-12
solver = "{solver}"
checks = ["contract", "step-replay"]
"""

MODULE = """
import numpy as np
from sstep_verify import CallableSolver, Declaration
from parts_package.steps import curvature

def run(problem, blocks, s, a0, log):
    from parts_late import correction
    signed = problem.data * problem.targets[:, None]
    Q = signed @ signed.T
    alpha = a0.copy()
    for begin in range(0, len(blocks), s):
        window = blocks[begin : begin + s, 0]
        gradient = Q[window] @ alpha - 1
        for t, i in enumerate(window):
            new = min(max(alpha[i] - gradient[t] / curvature(Q, i), 0), problem.loss.C)
            gradient[t + 1 :] += correction * Q[window[t + 1 :], i] * (new - alpha[i])
            alpha[i] = log[begin + t, 0] = new
    return alpha

solver = CallableSolver(run, Declaration("mine", log=True))
"""

FILES = {
    "parts_mine.py": MODULE,
    "parts_late.py": "correction = 1.5\n",  # A mistake, so that there are artefacts.
    "parts_package/__init__.py": "",
    "parts_package/steps.py": "from . import deeper\ndef curvature(Q, i):\n    return deeper.diagonal(Q)[i]\n",
    "parts_package/deeper.py": "def diagonal(Q):\n    return Q.diagonal()\n",
    "unrelated.py": "",
    "program.py": Path(__file__).with_name("plain_program.py").read_text("utf-8"),
    "theirs.toml": f'[program]\nname = "theirs"\ncommand = ["{sys.executable}", "-I", "-S", "program.py", "{{dir}}"]\n'
    'writes = "log"\n[declaration]\nproducts = "any"\n',
}
FILES["solver.toml"] = CAMPAIGN.format(data="points.svm", kernel="linear", solver="parts_mine:solver")
FILES["program.toml"] = CAMPAIGN.format(data="points.svm", kernel="rbf", solver="theirs.toml").replace(
    '"rbf"', '"rbf", sigma = 0.5'
)
RESUME = {
    name: ("run", f"{name}.toml", "--jobs", "1", "--resume", "--out", name)
    for name in ("solver", "program")
}


@pytest.fixture(scope="module", name="base")
def _base(tmp_path_factory) -> Path:
    """A folder with what runs of both campaigns have finished, whose reports were not written."""
    folder = tmp_path_factory.mktemp("parts")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    draw = np.random.Generator(np.random.PCG64(20))
    rows = draw.standard_normal((12, 3)).tolist()
    lines = [
        f"{(-1) ** k} " + " ".join(f"{j}:{x!r}" for j, x in enumerate(row, 1)) for k, row in enumerate(rows)
    ]
    (folder / "points.svm").write_text("\n".join(lines) + "\n", "ascii")
    before = os.getcwd()
    os.chdir(folder)
    try:
        for name, code in (("solver", 1), ("program", 0)):
            partial = Partial(Path(f"{name}.partial"))
            plan = Plan(read_definition(f"{name}.toml"), partial=partial, artefacts=partial.artefacts)
            assert run_campaign(plan).summary.exit_code == code
            partial.close()
    finally:
        os.chdir(before)
    return folder


@pytest.fixture(name="folder")
def _folder(base, monkeypatch) -> Path:
    """The same again: what a test changes is put back, for a solver is imported from this one place."""
    kept = base.with_name(f"{base.name}-kept")
    shutil.copytree(base, kept)
    monkeypatch.chdir(base)
    yield base
    for entry in base.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    shutil.copytree(kept, base, dirs_exist_ok=True)
    shutil.rmtree(kept)


@pytest.mark.parametrize(
    ("name", "file", "told"),
    [
        pytest.param("solver", "parts_mine.py", "code of parts_mine:solver", marks=pytest.mark.nightly),
        pytest.param("solver", "parts_late.py", "code of parts_mine:solver", marks=pytest.mark.nightly),
        ("solver", "parts_package/deeper.py", "code of parts_mine:solver"),
        pytest.param("program", "program.py", "program program.py", marks=pytest.mark.nightly),
        ("program", "theirs.toml", "program file theirs.toml"),
    ],
)
def test_what_another_solver_finished_is_refused(folder, name, file, told):
    path = folder / file
    before = path.read_text("utf-8")
    path.write_text(before.replace('"any"', '"rows"') if file == "theirs.toml" else f"{before}\n# edited\n")
    kept = sorted((folder / f"{name}.partial").rglob("*"))
    code, _, err = command(*RESUME[name])
    assert code == 2
    assert f"other {told}: " in err
    assert "--force" in err
    assert sorted((folder / f"{name}.partial").rglob("*")) == kept
    path.write_text(before, "utf-8")
    (folder / "unrelated.py").write_text("changed = True\n", "ascii")
    code, _, err = command(*RESUME[name])
    assert code == (name == "solver")
    assert "2 of 2 problems are taken" in err


def _outside(folder: Path) -> dict[str, bytes]:
    """All files but those of the run and its report."""
    return {
        str(path): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not {folder / "solver", folder / "solver.partial"} & {*path.parents}
    }


def _sealed(path: Path, document: dict) -> None:
    """Write an outcome as one that was kept so."""
    text = json.dumps(document["outcome"])
    document |= {"sha256": hashlib.sha256(text.encode()).hexdigest(), "outcome": json.loads(text)}
    path.write_text(json.dumps(document), "utf-8")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("field", "name"), [("runs", "../../evil"), ("replay", "deep/../../evil"), ("reason", "../../evil")]
)
def test_a_run_writes_nothing_outside_by_a_name_in_what_was_finished(folder, field, name):
    (folder / "evil").mkdir()
    (folder / "evil" / "payload.txt").write_text("x")
    path = next((folder / "solver.partial").glob("[0-9a-f]*.json"))
    document = json.loads(path.read_text("utf-8"))
    words = f"sstep-verify explain --again artefacts/{name}"
    if field == "runs":
        document["outcome"]["runs"] = words
    elif field == "replay":
        document["outcome"]["verdicts"][0]["replay"] = words
    else:
        document["outcome"]["case"]["reason"] = words
    _sealed(path, document)
    before = _outside(folder)
    code, _, err = command(*RESUME["solver"])
    assert code == 1
    told = "names an artefact by what is no name of one" in err and "run again" in err
    assert told == (field != "reason"), "a reason names nothing"
    assert _outside(folder) == before
    assert not list(folder.glob(".solver*"))


def test_an_artefact_that_is_or_holds_a_link_is_copied_by_nobody(folder):
    assert command(*RESUME["solver"])[0] == 1
    artefact = next((folder / "solver" / "artefacts").iterdir())
    assert (artefact / "SHA256SUMS").is_file()
    (folder / "secret").write_text("secret")
    ways = (
        lambda: (artefact / "stream.npy").symlink_to(folder / "secret"),
        lambda: os.mkfifo(artefact / "stream.npy"),
        lambda: (artefact / "stream.npy").mkdir(),
        lambda: (artefact.with_name("linked")).symlink_to(folder),
    )
    for way in ways:
        way()
        code, _, err = command("report", "solver/results.json", "--out", "again")
        assert code == 2
        assert "artefact" in err
        assert not (folder / "again").exists()
        for path in (artefact / "stream.npy", artefact.with_name("linked")):
            if os.path.lexists(path):
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    assert command("report", "solver/results.json", "--out", "again")[0] == 0
    assert sorted(p.name for p in (folder / "again/artefacts").rglob("*")) == sorted(
        p.name for p in (folder / "solver/artefacts").rglob("*")
    )


@pytest.mark.nightly
def test_what_another_installation_finished_or_was_changed_is_refused(folder):
    paths, tried = list((folder / "program.partial").glob("[0-9a-f]*.json")), 0
    shutil.copytree(folder / "program.partial", folder / "before")
    wholes = [json.loads(path.read_text("utf-8")) for path in paths]
    for name in wholes[0]["identity"]:
        for path, whole in zip(paths, wholes, strict=True):
            changed = {**whole, "identity": {**whole["identity"], name: {"version": "0.0.7"}}}
            path.write_text(json.dumps(changed), "utf-8")
        code, _, err = command(*RESUME["program"])
        if not name.startswith("content"):
            assert (code, f"other {name}" in err) == (2, True), name
    draw = np.random.Generator(np.random.PCG64(27))
    for _ in range(6):
        shutil.rmtree(folder / "program.partial", ignore_errors=True)
        shutil.copytree(folder / "before", folder / "program.partial")
        document = json.loads(json.dumps(wholes[0]))
        place = nasty.spoil_document(draw, document)
        try:
            paths[0].write_text(json.dumps(document), "utf-8", "replace")
        except RecursionError:
            continue
        code, out, err = command(*RESUME["program"])
        assert "Traceback" not in out + err, place
        assert code in (0, 2), place
        tried += 1
    assert tried > 3
