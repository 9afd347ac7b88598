"""One boundary turns what users, files and machines do wrong into one line; a defect of ours stays one."""

from __future__ import annotations

import json
import sys
import tomllib
import zipfile

import click
import pytest

from sstep_verify.cli import main as boundary
from sstep_verify.errors import InputError, MissingExtraError, OracleDisagreementError
from sstep_verify.solver.packet import IncoherenceError


def ended(monkeypatch, capsys, error: BaseException) -> tuple[int, str]:
    """Exit code and standard error of a command that raises."""

    def failing(**options):
        raise error

    monkeypatch.setattr(boundary.cli, "main", failing)
    with pytest.raises(SystemExit) as caught:
        boundary.main()
    return caught.value.code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (InputError("r: is a pipe; name another"), 2, "error: r: is a pipe; name another"),
        (MissingExtraError("no 'x'"), 2, "error: no 'x'"),
        (IncoherenceError(3, ("a", "b"), ("kind",) * 2), 4, "the ranks hold different dual vectors"),
        (OracleDisagreementError("two"), 4, "error: two"),
        (FileNotFoundError(2, "No such file or directory", "x" * 5000), 2, "No such file or directory; check"),
        (OSError("Too many open files"), 2, "Too many open files; check"),
        (MemoryError("Unable to allocate 8.00 TiB"), 2, "memory does not suffice (Unable to allocate 8.00 TiB)"),
        (MemoryError(), 2, "memory does not suffice (MemoryError); take fewer"),
        (OverflowError("int too large to convert to float"), 2, "a number is too large (int too large"),
        (EOFError("No data left in file"), 2, "malformed or cut short (No data left"),
        (RecursionError("maximum recursion depth exceeded"), 2, "malformed or cut short"),
        (json.JSONDecodeError("Expecting value", "a\nb", 2), 2, "Expecting value"),
        (tomllib.TOMLDecodeError("Invalid\nvalue"), 2, "Invalid value"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), 2, "invalid start byte"),
        (zipfile.BadZipFile("File is not a zip file"), 2, "File is not a zip file"),
        (click.Abort(), 130, "aborted"),
        (KeyboardInterrupt(), 130, "aborted"),
    ],
)  # fmt: skip
def test_one_line_and_the_way_out(monkeypatch, capsys, error, code, words):
    found, text = ended(monkeypatch, capsys, error)
    assert found == code
    assert words in text
    assert text.count("\n") == 1
    assert len(text) < 400


@pytest.mark.parametrize(
    "error", [RuntimeError("lost"), ValueError("shapes"), KeyError("x"), AssertionError()]
)
def test_a_defect_of_ours_is_told_with_its_traceback(monkeypatch, capsys, error):
    code, text = ended(monkeypatch, capsys, error)
    assert code == 4
    assert "Traceback" in text
    assert text.endswith("internal error: this is a defect of sstep_verify, not of the solver tested\n")


def test_the_end_of_a_file_is_no_interrupt(monkeypatch, capsys):
    """Click takes one for the end of its input, at which it aborts."""

    @click.command()
    def reads():
        raise EOFError("Ran out of input")

    monkeypatch.setattr(boundary, "cli", reads)
    monkeypatch.setattr(sys, "argv", ["sstep-verify"])
    with pytest.raises(SystemExit) as caught:
        boundary.main()
    assert caught.value.code == 2
    assert "Ran out of input" in capsys.readouterr().err


def test_a_reader_that_has_enough_ends_the_program_in_silence(monkeypatch, tmp_path):
    with open(tmp_path / "out", "w", encoding="ascii") as out:
        monkeypatch.setattr(sys, "stdout", out)

        def failing(**options):
            raise BrokenPipeError(32, "Broken pipe")

        monkeypatch.setattr(boundary.cli, "main", failing)
        with pytest.raises(SystemExit) as caught:
            boundary.main()
    assert caught.value.code == boundary.PIPE_CLOSED
