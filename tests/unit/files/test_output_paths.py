"""Every path that cannot be written, or whose writing would lose something, is refused on one line."""

from __future__ import annotations

import os
import re
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstep_verify.errors import InputError
from sstep_verify.files import Output, check, folder_stem, shortened
from sstep_verify.files.paths import require_distinct


def refusal(function, *arguments) -> str:
    """The message of an input error: one line, not too long."""
    with pytest.raises(InputError) as caught:
        function(*arguments)
    message = str(caught.value)
    assert message.startswith("--out")
    assert message.isprintable()
    assert len(message) < 400
    return message


def test_a_new_file_and_a_new_folder_may_be_written(tmp_path):
    assert check(Output("--out", tmp_path / "r.npz")) == tmp_path.resolve() / "r.npz"
    assert check(Output("--out", tmp_path / "a" / "b", folder=True)) == tmp_path.resolve() / "a" / "b"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "the name is empty; name a file"),
        ("a\0b", "embedded null"),
        ("x" * 5000, "File name too long"),
        ("x" * 250, "the name has 250 bytes, but at most 237 leave room"),
        ("no/r", "no is no folder to write in"),
        ("r/", "names a folder"),
        ("..", "is a folder, but a file is to be written"),
    ],
)
def test_names_that_cannot_be_used(tmp_path, monkeypatch, name, words):
    monkeypatch.chdir(tmp_path)
    assert words in refusal(check, Output("--out", name))


def test_what_is_no_regular_file_is_refused_even_through_a_link(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with socket.socket(socket.AF_UNIX) as listener:
        folder = os.open(tmp_path, os.O_RDONLY)
        listener.bind(f"/proc/self/fd/{folder}/socket")
        os.close(folder)
    kinds = {
        "pipe": "a named pipe",
        "folder": "a folder",
        "socket": "a socket",
        "circle": "a link to itself",
    }
    for name, kind in kinds.items():
        (tmp_path / f"link to {name}").symlink_to(tmp_path / name)
        for path in (tmp_path / name, tmp_path / f"link to {name}"):
            found = refusal(check, Output("--out", path, replace=True))
            assert f"is {kind}, but a file is to be written" in found
    null = refusal(check, Output("--out", os.devnull, replace=True))
    assert "is a character device, but a file is to be written; name another file" in null
    (tmp_path / "file").write_text("")
    assert "is a file, but a folder" in refusal(
        check, Output("--out", tmp_path / "file", True, folder=True)
    )


def test_what_is_there_stays_without_leave(tmp_path):
    path = tmp_path / "r.npz"
    path.write_bytes(b"before")
    assert "is there already; name another, or pass --force" in refusal(check, Output("--out", path))
    assert refusal(check, Output("--out", path, otherwise="pass --resume")).endswith("; pass --resume")
    assert check(Output("--out", path, replace=True)) == path.resolve()


def test_an_input_is_known_under_every_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    data.write_text("1 1:1\n")
    (tmp_path / "soft").symlink_to("data")
    (tmp_path / "hard").hardlink_to(data)
    for name in ("data", "./data", f"../{tmp_path.name}/data", "soft", "hard", str(data)):
        output = Output("--out", name, replace=True)
        found = refusal(require_distinct, [output], [("DATA", "data"), ("--test", "none")])
        assert "is the same file as DATA" in found
        assert "which is read" in found
    folder = Output("--out", tmp_path.parent, replace=True, folder=True)
    assert "holds DATA" in refusal(require_distinct, [folder], [("DATA", "data")])


@pytest.mark.parametrize("other", ["r", "./r", "link", "r.checkpoint", ".r.lock"])
def test_two_outputs_in_one_file_are_refused(tmp_path, monkeypatch, other):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("r")
    first = [Output("--result", "r"), Output("the checkpoint", "r.checkpoint")]
    require_distinct([*first, Output("--out", "p")])
    assert "is the same file as" in refusal(require_distinct, [*first, Output("--out", other)])


def test_a_path_is_shown_on_one_line():
    assert shortened("a/b") == "a/b"
    assert shortened("a\nb") == "a\\nb"
    long = shortened("x" * 5000)
    assert len(long) < 200
    assert "..." in long


@given(st.text(max_size=70), st.text(max_size=70))
def test_names_that_differ_in_letters_outside_ascii_have_other_folders(first, second):
    """So do names of which a part is cut off; other names keep the folder that they had."""
    names = [one.replace("/", "").replace(".", "") for one in (first, second)]
    found = [folder_stem(one, "solver") for one in names]
    for name, folder in zip(names, found, strict=True):
        assert re.fullmatch(r"[A-Za-z0-9._-]{1,48}", folder)
        if name.isascii() and name.isalnum() and len(name) <= 48:
            assert folder == name
    if names[0] != names[1] and not all(one.isascii() and len(one) <= 48 for one in names):
        assert found[0] != found[1]


@pytest.mark.parametrize(
    "names", [("größe", "grüße"), ("löser.toml", "lüser.toml"), ("解", "算"), ("\u00e9", "e\u0301")]
)
def test_two_solvers_of_other_letters_share_no_folder(names):
    assert len({folder_stem(name, "solver") for name in names}) == 2
