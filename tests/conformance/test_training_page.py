"""The page on training: its first command ends as the page prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command import command

from sstep_verify.ranks.environment import promised_size

PAGE = Path(__file__).parents[2] / "docs" / "training.md"
LAST = re.compile(r"relative gap at most (\S+), gap at most (\S+), after (\d+) iterations")

pytestmark = [
    pytest.mark.skipif(promised_size() > 1, reason="starts a run of its own"),
    pytest.mark.skipif(not PAGE.is_file(), reason="docs/ is absent: this is no clone"),
]


def test_the_first_command_ends_as_the_page_prints(tmp_path, monkeypatch):
    pytest.importorskip("sklearn", reason="scikit-learn is absent: install the extra data")
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text("utf-8")
    first = re.search(r"^sstep-verify (solve .*)$", text, re.MULTILINE)
    stated, *_ = LAST.findall(text)
    code, out, err = command(*shlex.split(first[1]))
    assert code == 0, err
    (found,) = LAST.findall(out + err)
    # With another BLAS the gaps have other last digits; where they are measured does not depend on it.
    assert found[2] == stated[2]
    assert [float(one) for one in found[:2]] == pytest.approx([float(one) for one in stated[:2]], rel=0.05)
    assert (tmp_path / "model.npz").is_file()
