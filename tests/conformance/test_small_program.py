"""The C program on the page on checking a program: it compiles, passes as it is, and fails without its correction."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from c_examples import EXAMPLES, needed

from sstep_verify.ranks.environment import launch_variables

pytestmark = [pytest.mark.pool_only, pytest.mark.nightly]

PAGE = EXAMPLES.parent / "docs" / "exchange.md"


def blocks(kind: str) -> list[str]:
    """Fenced blocks of one language, in order."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_the_small_program_passes_and_fails_as_the_page_says(tmp_path):
    bash, _ = needed("bash"), needed("cc")
    tools = os.path.dirname(sys.executable)
    variables = launch_variables() | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    (tmp_path / "examples").symlink_to(EXAMPLES)
    (source,), commands, said = blocks("c"), blocks("sh")[0], blocks("text")[0]

    def run(text: str) -> subprocess.CompletedProcess:
        (tmp_path / "small.c").write_text(text)
        return subprocess.run(
            [bash, "-euo", "pipefail", "-c", commands.replace("-O2", "-O2 -Wall -Wextra -Werror")],
            cwd=tmp_path, env=variables, timeout=200, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip

    passed = run(source)
    assert passed.returncode == 0, passed.stdout
    assert said.strip() in passed.stdout
    (line,) = re.findall(r"^.*gradient\[r\] \+=.*\n", source, re.MULTILINE)
    failed = run(source.replace(line, ""))
    assert failed.returncode == 1, failed.stdout
    assert "(first at s = 7)" in failed.stdout
    assert "(correction-dropped)" in failed.stdout
