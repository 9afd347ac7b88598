"""The tutorial's commands, run as they stand there, say what it says they do."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from c_examples import EXAMPLES, needed, wrapper

from sstep_verify.ranks.environment import launch_variables

pytestmark = [pytest.mark.pool_only, pytest.mark.nightly]

PAGE = EXAMPLES.parent / "docs" / "tutorial.md"


def blocks() -> list[tuple[str, str]]:
    """Fenced blocks of the page in order: language and text."""
    return re.findall(r"^```(sh|text)\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_the_tutorial_verifies_a_program_that_knows_nothing_of_us(tmp_path):
    bash, _ = needed("bash"), needed("make")
    tools = f"{Path(wrapper()).parent}{os.pathsep}{Path(sys.executable).parent}"
    variables = launch_variables() | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    shutil.copytree(
        EXAMPLES / "c_mpi_solver",
        tmp_path / "examples" / "c_mpi_solver",
        ignore=shutil.ignore_patterns("*_solver"),
    )
    said = ""
    for kind, text in blocks():
        if kind == "text":
            assert text.strip() in said, f"{text!r} is not in:\n{said}"
            continue
        made = subprocess.run(
            [bash, "-euo", "pipefail", "-c", text], cwd=tmp_path, env=variables, timeout=280, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert made.returncode == 0, made.stdout
        said = made.stdout
    found = json.loads((tmp_path / "plain" / "results.json").read_text("utf-8"))["verdicts"]
    assert {one["check"] for one in found} == {
        "contract", "trajectory", "sstep-equals-classical", "determinism", "message-count",
    }  # fmt: skip
    assert all(one["status"] == "PASS" for one in found)
    assert all(0 < one["ratio"] < 1 for one in found if one["check"] == "trajectory")
    counted = [one for one in found if one["check"] == "message-count" and one["s"] == 7]
    assert counted
    assert all(one["evidence"]["counted"] == {"collectives": 4} for one in counted), counted
