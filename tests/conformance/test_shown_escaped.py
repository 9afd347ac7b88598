"""Whatever a message quotes, no control character reaches the terminal, and a NUL is an error in one line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from command import command

from sstep_verify.cli.main import COMMANDS, PERF

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


NAMES = sorted({*COMMANDS, *(f"perf {name}" for name in PERF)} - {"perf"})


@pytest.mark.parametrize("name", NAMES)
def test_what_an_argument_holds_is_shown(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = np.random.Generator(np.random.PCG64(NAMES.index(name)))
    word = drawn(draw)
    for words in ((name, word), (name, f"--{word}"), (word,), (name, "x", "y", "--out", word, word)):
        if words == ("perf calibrate", word):
            continue  # A file may have such a name.
        code, out, err = command(*words[0].split(), *words[1:])
        assert code == 2, (words, err)
        assert raw(out, err) == set(), words
    code, out, err = command(*name.split(), f"a\0{word}")
    assert (code, out, raw(err)) == (2, "", set())
    assert "holds a NUL" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["run", "check", "solve", "oracle", "report"])
def test_the_name_of_a_file_is_shown(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    word = "w\x1b[31m\a\u202e.toml"
    Path(word).write_text("\x1b[1m no file of ours\n")
    code, out, err = command(name, word)
    assert code == 2
    assert raw(out, err) == set()


def test_the_words_of_a_program_are_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("says.py").write_text(
        f"import sys; sys.stderr.buffer.write({SPOILT!r}.encode('utf-8', 'replace')); sys.exit(3)"
    )
    line = f"{sys.executable} -I -S says.py {{dir}}"
    code, out, err = command(
        "check",
        "--exec",
        line,
        "--profile",
        "smoke",
        "--task",
        "krr",
        "--kernel",
        "rbf",
        "--s",
        "7",
        "--out",
        "rep",
    )
    assert code == 1, err
    assert "exit code 3" in out
    assert raw(out, err) == set()


@pytest.mark.parametrize("place", ["subject", "provenance", ""])
@pytest.mark.parametrize("half", ["\ud800", "x\udc12y"])
def test_a_certificate_with_a_string_that_is_no_unicode_is_refused_before_a_word_of_it(
    tmp_path, monkeypatch, place, half
):
    from sstep_verify.oracle.certificate.file import document_digest

    monkeypatch.chdir(tmp_path)
    Path("d.svm").write_text("1 1:1 2:0.5\n-1 1:0.25 2:2\n1 1:3\n", "ascii")
    words = ("--task", "svm-l1", "--digits", "6", "--no-cache", "--out", "c.json")
    assert command("oracle", "d.svm", *words)[0] == 0
    document = json.loads(Path("c.json").read_text("utf-8"))
    within = document[place] if place else document
    within[next(name for name in within if isinstance(within[name], str))] = half
    document["digest"] = document_digest(document)
    Path("c.json").write_text(json.dumps(document), "ascii")
    code, out, err = command("oracle", "--verify", "c.json")
    assert (code, out) == (1, "")
    assert "surrogate pair" in err
    assert "cut short" not in err
