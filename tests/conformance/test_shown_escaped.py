"""Whatever a message quotes, no control character reaches the terminal, and a NUL is an error in one line."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from command import command

from sstep_verify.cli.main import COMMANDS

SPOILT = "\a\b\x1b\x1b[31m\x1b]0;x\x07\x9b\x7f\r\u202e\u2066\u200f\u2028\ufeff\ud800"
"""Bell, escape sequences, delete, carriage return, right-to-left marks, a line separator, half a surrogate pair."""


def raw(*texts: str) -> set[str]:
    """Characters that a terminal may obey."""
    return {one for text in texts for one in text if not one.isprintable() and one not in "\n\t"}


def drawn(draw: np.random.Generator) -> str:
    letters = [*SPOILT, *"ab.", "C=1", "é"]
    return (
        "".join(letters[place] for place in draw.integers(len(letters), size=6)) + SPOILT[draw.integers(5)]
    )


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_what_an_argument_holds_is_shown(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = np.random.Generator(np.random.PCG64(sorted(COMMANDS).index(name)))
    for _ in range(2):
        word = drawn(draw)
        for words in ((name, word), (name, f"--{word}"), (word,), (name, "x", "y", "--out", word, word)):
            if words[0] in ("calibrate", "vectors") and words[1:] == (word,):
                continue  # A folder may have such a name.
            code, out, err = command(*words)
            assert code == 2, (words, err)
            assert raw(out, err) == set(), words
        code, out, err = command(name, f"a\0{word}")
        assert (code, out, raw(err)) == (2, "", set())
        assert "holds a NUL" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["run", "check", "solve", "oracle", "merge", "report", "statement"])
def test_the_name_of_a_file_is_shown(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    word = "w\x1b[31m\a\u202e.toml"
    Path(word).write_text("\x1b[1m no file of ours\n")
    code, out, err = command(name, word, *(["--out", "x"] if name == "merge" else []))
    assert code == 2
    assert raw(out, err) == set()


def test_the_words_of_a_program_are_shown(tmp_path, monkeypatch):
    pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")
    monkeypatch.chdir(tmp_path)
    Path("says.py").write_text(
        f"import sys; sys.stderr.buffer.write({SPOILT!r}.encode('utf-8', 'replace')); sys.exit(3)"
    )
    line = f"{sys.executable} -I -S says.py {{dir}}"
    code, out, err = command(
        "check", "--exec", line, "--profile", "smoke", "--task", "krr", "--s", "7", "--out", "rep"
    )
    assert code == 1, err
    assert "exit code 3" in out
    assert raw(out, err) == set()
