"""The number line of docs/how-bounds-work.md, drawn again; the page's own code runs with the documents."""

from __future__ import annotations

from figure_scripts import in_a_clone, loaded

pytestmark = in_a_clone


def test_the_number_line_is_that_of_the_bound():
    line = loaded("number_line")
    assert float(line.bound()) == 3.36
    assert line.FIGURE.read_text("utf-8") == line.drawing()
