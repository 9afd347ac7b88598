"""Standard streams that are closed, that nobody reads, or that lie on a full disk."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from daily import crossed

from sstep_verify.cli.main import PIPE_CLOSED

COMMAND = f"{sys.executable} -m sstep_verify"
TEXT = "1 1:1 2:1\n-1 1:-1 2:0.5\n1 1:0.5 2:2\n-1 1:-2 2:-1\n"


def shell(line: str, **given: object) -> subprocess.CompletedProcess[str]:
    """A line as a shell runs it."""
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, **given)


@pytest.mark.parametrize(
    ("words", "closed"),
    crossed(["--version", "explain", "doctor --help"], [">&-", "2>&-", "<&-", "<&- >&- 2>&-"], of=3),
)
def test_a_command_ends_as_ever_where_a_stream_is_closed(words, closed):
    ended = shell(f"{COMMAND} {words} {closed}")
    assert ended.returncode == 0
    assert ended.stderr == ""
    assert bool(ended.stdout) == (">&- " not in f" {closed} ".replace("2>&-", ""))


@pytest.mark.parametrize(
    "closed", ["<&- >&- 2>&-", *(pytest.param(one, marks=pytest.mark.nightly) for one in (">&-", "2>&-"))]
)
def test_what_is_closed_costs_no_result_and_names_no_file(tmp_path, closed):
    """A file that is opened must not get the number of a closed stream, to which something prints."""
    (tmp_path / "data").write_text(TEXT)
    for place, streams in enumerate(("", closed)):
        ended = shell(f"{COMMAND} solve data --task svm-l1 --out {place}.txt {streams}", cwd=tmp_path)
        assert (ended.returncode, ended.stderr) == (0, "")
    assert len({(tmp_path / f"{place}.txt").read_bytes() for place in range(2)}) == 1


@pytest.mark.parametrize("words", ["--version", "explain"])
def test_a_reader_that_has_enough_ends_the_command_in_silence(words):
    ended = shell(f"{COMMAND} {words} | true; echo ${{PIPESTATUS[0]}}")
    assert (ended.stdout, ended.stderr) == (f"{PIPE_CLOSED}\n", "")


def test_errors_that_nobody_reads_end_nothing(tmp_path):
    (tmp_path / "data").write_text(TEXT)
    line = f"{{ {COMMAND} solve data --task svm-l1 --out r.npz >out; echo $? >code; }} 2>&1 | true"
    assert shell(line, cwd=tmp_path).returncode == 0
    assert (tmp_path / "code").read_text() == "0\n"
    assert (tmp_path / "r.npz").exists()


@pytest.mark.nightly
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_an_output_that_cannot_be_written_is_reported():
    ended = shell(f"{COMMAND} explain >/dev/full")
    assert ended.returncode == 4
    assert ended.stderr.startswith("error: standard output: No space left on device")
    assert ended.stderr.count("\n") == 1
