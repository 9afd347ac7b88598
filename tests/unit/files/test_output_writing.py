"""A reader finds all of a file or folder, or what was there before."""

from __future__ import annotations

import contextlib
import os

import pytest

from sstep_verify.errors import InputError
from sstep_verify.files import whole_folder, write_text, write_whole
from sstep_verify.files.writing import flocked


def content(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_file_that_cannot_be_written_leaves_what_was_there(tmp_path, error):
    path = tmp_path / "result"
    path.write_bytes(b"before")

    def failing(handle):
        handle.write(b"half")
        raise error

    with pytest.raises(InputError if isinstance(error, OSError) else KeyboardInterrupt) as caught:
        write_whole(path, failing)
    assert content(tmp_path) == {"result": b"before"}
    if isinstance(error, OSError):
        assert str(caught.value).endswith(
            "result: cannot be written: No space left on device; "
            "make room there, or name a place on another disk"
        )


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "far" / "file")
    for text in ("one", "ä\n"):
        write_text(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink()
        assert content(tmp_path / "far") == {"file": text.encode()}


def test_a_folder_takes_the_place_of_another_as_a_whole(tmp_path):
    target = tmp_path / "deep" / "report"
    for text in ("one", "two"):
        with whole_folder(target) as made:
            (made / text).write_text(text)
            assert not (target / text).exists()
        assert content(target) == {text: text.encode()}
    with contextlib.suppress(RuntimeError), whole_folder(target) as made:
        (made / "half").write_text("half")
        raise RuntimeError
    assert content(target) == {"two": b"two"}
    assert [entry.name for entry in target.parent.iterdir()] == ["report"]


def test_a_folder_that_cannot_be_put_in_place_leaves_what_was_there(tmp_path, monkeypatch):
    target, rename = tmp_path / "report", os.rename
    target.mkdir()
    (target / "old").write_text("old")

    def failing(source, destination):
        if str(source).endswith("partial"):
            raise OSError(5, "Input/output error")
        rename(source, destination)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(InputError, match="cannot be written: Input/output error"), whole_folder(target):
        pass
    assert content(target) == {"old": b"old"}
    assert len(list(tmp_path.iterdir())) == 1


def test_what_a_killed_writer_of_a_folder_left_goes_and_what_lives_stays(tmp_path):
    dead, alive = tmp_path / ".report.0123abcd.partial", tmp_path / ".report.4567abcd.partial"
    for folder in (dead, alive):
        folder.mkdir()
        (folder / "results.json").write_text("{}")
    with flocked(alive), whole_folder(tmp_path / "report") as partial:
        assert not dead.exists()
        (partial / "results.json").write_text("new")
    assert sorted(path.name for path in tmp_path.iterdir()) == [alive.name, "report"]
