"""The site of the pages: what `docs/conf.py` adds to a page that Sphinx wrote."""

from types import SimpleNamespace

import conf

PAGE = """
<aside class="sidebar-drawer"><p class="caption" role="heading"><span>Start</span></p></aside>
<article><p>Plain.</p><p><img src="wide.svg"></p><pre><span></span>code</pre>
<div class="table-wrapper docutils container"><table><thead><tr><th class="head"><p></p></th>
<th class="head"><p>s</p></th></tr></thead></table></div><div id="search-results"></div></article>
<aside class="toc-drawer no-toc"></aside>
"""


def test_pages_get_what_keyboards_and_screen_readers_need_once(tmp_path):
    page = tmp_path / "docs" / "page.html"
    page.parent.mkdir()
    page.write_text(PAGE, "utf-8")
    for _ in range(2):
        conf._complete(SimpleNamespace(outdir=str(tmp_path)), None)
        text = page.read_text("utf-8")
        assert text.count(' tabindex="0"') == 3
        assert text.count(' aria-level="2"') == 1
        assert text.count(' aria-label="') == 2
        assert text.count("<td></td>") == 1
        assert text.count("<h1>") == 1
        assert "<p>Plain.</p>" in text
        assert '<th class="head"><p>s</p></th>' in text


def test_a_build_that_failed_is_left_as_it_is(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(PAGE, "utf-8")
    conf._complete(SimpleNamespace(outdir=str(tmp_path)), RuntimeError())
    assert page.read_text("utf-8") == PAGE
