"""The decision tree of docs/read-a-failure.md: drawn again, in words on the page, of signs that are printed."""

from __future__ import annotations

import re

import pytest
from figure_scripts import FIGURES, in_a_clone, loaded

pytestmark = in_a_clone


@pytest.fixture(scope="module")
def tree():
    return loaded("failure_tree")


def test_the_tree_is_that_of_its_program(tree):
    assert tree.FIGURE.read_text("utf-8") == tree.drawing()


def test_the_page_has_the_same_tree_in_words(tree):
    page = (FIGURES.parent / "read-a-failure.md").read_text("utf-8")
    assert f"![{tree.alternative()}](figures/failure_tree.svg)" in page


def test_each_sign_is_one_that_the_page_shows(tree):
    """Its outputs are those of its commands: tests/conformance/test_read_a_failure.py."""
    page = (FIGURES.parent / "read-a-failure.md").read_text("utf-8")
    printed = "".join(re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    table = "".join(re.findall(r"^\|.*$", page, re.MULTILINE))
    assert [one.sign for one in tree.QUESTIONS if one.sign not in printed + table] == []
