"""What a program printed last before it failed is in every form of its report."""

from __future__ import annotations

import json
import sys

from command import command

PROGRAM = 'import sys; print("opening the file\\nno such kernel here", file=sys.stderr); sys.exit(3)'


def test_the_last_lines_of_a_program_are_in_every_form_of_its_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = json.dumps([sys.executable, "-S", "-c", PROGRAM, "{dir}"])
    (tmp_path / "p.toml").write_text(f'[program]\nname = "p"\ncommand = {words}\n', "utf-8")
    options = ("--profile", "smoke", "--task", "svm-l1", "--s", "4", "--jobs", "1", "--out", "report")
    options += ("--kernel", "rbf")
    code, out, err = command("check", "p.toml", *options)
    assert code == 1, out + err
    results = json.loads((tmp_path / "report" / "results.json").read_text("utf-8"))
    (verdict,) = [one for one in results["verdicts"] if one["raised"]]
    assert {tuple(one["said"]) for one in verdict["raised"]} == {
        ("opening the file", "no such kernel here")
    }
    (artefact,) = (one for one in (tmp_path / "report" / "artefacts").iterdir() if one.is_dir())
    _, explained, _ = command("explain", "contract", str(artefact), "--long")
    page, junit = ((tmp_path / "report" / name).read_text("utf-8") for name in ("index.html", "junit.xml"))
    for form in (explained, page, junit):
        assert "opening the file" in form
        assert "no such kernel here" in form
    assert "no such kernel here" in out + err
