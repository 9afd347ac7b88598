"""The page on a first verdict: its solver passes and fails as the page prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from c_examples import EXAMPLES, needed

from sstep_verify.ranks.environment import launch_variables

pytestmark = [pytest.mark.pool_only, pytest.mark.nightly]

PAGE = EXAMPLES.parent / "docs" / "first-verdict.md"


def test_the_first_verdict_is_the_one_that_is_printed(tmp_path):
    bash = needed("bash")
    tools = os.path.dirname(sys.executable)
    variables = launch_variables() | {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": os.environ.get("PYTHONPATH", "")
    }  # fmt: skip
    found = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    kinds = {kind: [text for one, text in found if one == kind] for kind, _ in found}
    (source,), (command,) = kinds["python"], kinds["sh"]
    passes, *fails = kinds["text"]

    def run(text: str, folder: str) -> tuple[int, str]:
        (tmp_path / "mine.py").write_text(text)
        made = subprocess.run(
            [bash, "-euo", "pipefail", "-c", command.replace("--out report", f"--out {folder}")],
            cwd=tmp_path, env=variables, timeout=200, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        return made.returncode, made.stdout

    code, said = run(source, "report")
    assert code == 0, said
    assert passes in said
    code, said = run(source.replace("+= Q[", "+= 0.5 * Q["), "broken")
    assert code == 1, said
    for text in fails:
        assert text in said
