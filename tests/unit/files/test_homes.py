"""The user's cache, where there is a home and where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from sstep_verify.files.homes import user_cache


@pytest.mark.parametrize(
    ("home", "named", "found"),
    [
        ("/home/me", None, "/home/me/.cache"),
        ("/home/me", "/cache", "/cache"),
        ("/home/me", "cache", "/home/me/.cache"),
        ("/home/me", "~/cache", "/home/me/.cache"),
        (None, "/cache", "/cache"),
        (None, None, None),
        (None, "cache", None),
        ("", None, None),
        ("~", None, None),
        ("home", None, None),
    ],
)
def test_only_a_path_from_the_root_is_one(monkeypatch, home, named, found):
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    for name, value in (("HOME", home), ("XDG_CACHE_HOME", named)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    assert user_cache() == (found and Path(found))
