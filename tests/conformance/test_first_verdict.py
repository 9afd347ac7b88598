"""The page on a first verdict: its solvers pass and fail as the pages print."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from c_examples import EXAMPLES, needed

from sstep_verify.ranks.environment import launch_variables

pytestmark = [pytest.mark.pool_only, pytest.mark.nightly]

DOCS = EXAMPLES.parent / "docs"
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def run(tmp_path):
    """Exit code and output of a command with a solver in a file."""
    bash = needed("bash")
    tools = os.path.dirname(sys.executable)
    variables = launch_variables() | {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": os.environ.get("PYTHONPATH", "")
    }  # fmt: skip

    def run(source: str, command: str) -> tuple[int, str]:
        name = source.split("\n", 1)[0].removeprefix("# ")
        (tmp_path / name).write_text(source)
        made = subprocess.run(
            [bash, "-euo", "pipefail", "-c", command],
            cwd=tmp_path, env=variables, timeout=200, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        return made.returncode, made.stdout

    return run


def shown(page: str) -> dict[str, list[str]]:
    """The fenced blocks of a page by their kinds."""
    found = FENCED.findall((DOCS / page).read_text("utf-8"))
    return {kind: [text for one, text in found if one == kind] for kind, _ in found}


def test_the_first_verdict_is_the_one_that_is_printed(run):
    kinds = shown("first-verdict.md")
    source, command = kinds["python"][0], kinds["sh"][0]
    passes, *fails, _ = kinds["text"]
    code, said = run(source, command)
    assert code == 0, said
    assert passes in said
    code, said = run(
        source.replace("+= Q[", "+= 0.5 * Q["), command.replace("--out report", "--out broken")
    )
    assert code == 1, said
    for text in fails:
        assert text in said


def test_the_krr_solver_passes_and_fails_without_its_correction_as_printed(run):
    kinds = shown("first-verdict.md")
    source, command = kinds["python"][1], kinds["sh"][1]
    code, said = run(source, command)
    assert code == 0, said
    assert kinds["text"][-1].rstrip() in said
    correction = "residual[later] -= M[np.ix_(window[later], block)] @ increment"
    assert correction in source
    code, said = run(source.replace(correction, "pass"), command.replace("--out ridge", "--out broken"))
    assert code == 1, said
    (reason,) = (text for text in shown("read-a-failure.md")["text"] if "residual" in text)
    assert reason.rstrip() in said
