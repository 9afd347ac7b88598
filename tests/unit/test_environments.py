"""The environments of tox: all are named in CONTRIBUTING.md, and few are run by hand."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST = 12
"""Environments that a person runs by hand."""

pytestmark = pytest.mark.skipif(
    not (ROOT / "CONTRIBUTING.md").is_file(), reason="CONTRIBUTING.md is absent: this is no clone"
)


def named(text):
    """Environments that the rows of a table name."""
    return {
        name for row in re.findall(r"^\| (`.*?`) \|", text, re.M) for name in re.findall(r"`(.+?)`", row)
    }


def test_every_environment_has_its_row_and_a_dozen_at_most_are_run_by_hand():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("Other environments")[2]
    automatic, by_hand = map(named, text.split("A person runs these by hand"))
    settings = configparser.ConfigParser(interpolation=None)
    settings.read(ROOT / "tox.ini", encoding="utf-8")
    found = {name.removeprefix("testenv:") for name in settings.sections() if name.startswith("testenv:")}
    usual = {name.strip() for name in settings["tox"]["env_list"].split(",")}
    assert by_hand
    assert len(by_hand) <= MOST
    assert by_hand <= found
    assert found - usual == (automatic | by_hand) - {"py", "py312", "py313", "py314"}
