"""The site of the pages: ``python -m tox -e site``, or ``sphinx-build -W --keep-going -n -c docs . OUT``.

Its source is the whole tree, so that one link serves a forge and the site. A link to a page of the site is
checked with its heading. A file that is linked is copied next to the pages. A folder is replaced by the
file that describes it, and the README by the first page of the site.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
MENU = {
    "Start": (
        "install",
        "why",
        "first-verdict",
        "tutorial",
        "read-a-failure",
        "gallery",
        "how-bounds-work",
    ),
    "Do": (
        "exchange",
        "adapters",
        "final-vector",
        "own",
        "ci",
        "report-again",
        "training",
        "safe-s",
        "latency",
    ),
    "Look up": (
        "spec",
        "checks",
        "verdicts",
        "commands",
        "campaigns",
        "api",
        "run-folder",
        "program-file",
        "described-programs",
        "campaign-file",
        "solve",
        "vectors",
        "compatibility",
        "glossary",
        "/reference/NOTATION",
    ),
    "Evidence": (
        "paper",
        "power",
        "false-alarms",
        "stability",
        "costs",
        "model",
        "/reference/ERRATA",
        "/reports/README",
    ),
    "Develop": ("architecture", "/CONTRIBUTING", "/CHANGELOG"),
}
project = html_title = "sstep_verify"
author = copyright = "The sstep_verify developers"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    *(f"{page[1:]}.md" for pages in MENU.values() for page in pages if page.startswith("/")),
    *("reports/*/**.md", "examples/**/README.md"),  # to which pages lead, and not the menu
]
exclude_patterns = [".*", "**/.*", "build", "dist", "sstep-verify-out"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # tables of reports begin at a lower heading
html_theme = "furo"
html_static_path = html_css_files = ["site.css"]
html_show_sphinx = html_show_sourcelink = html_copy_source = False
ACCESSIBLE = {
    r'<(p class="caption" role="heading")>': r'<\1 aria-level="2">',
    r'<(aside class="sidebar-drawer")>': r'<\1 aria-label="Pages">',
    r'<(aside class="toc-drawer[^"]*")>': r'<\1 aria-label="On this page">',
    r'<(pre|p|div class="table-wrapper[^"]*")>(?=<span>|<img |\s*<table)': r'<\1 tabindex="0">',
    r'<th class="head"><p></p></th>': "<td></td>",
    r'(?<!</h1>)(<div id="search-results">)': r"<h1>Search</h1>\1",
}
"""By what it matches, text of a page that readers without a mouse or a screen need, and the theme lacks."""


def setup(app):
    """Change the text of pages as it is read; the files stay as they are."""
    app.connect("source-read", _read)
    app.connect("build-finished", _complete)


def _read(app, name: str, source: list[str]) -> None:
    source[0] = re.sub(r"\]\(([^)#\s:]+)(#[^)\s]*)?\)", lambda match: _link(name, match), source[0])
    if name == root_doc:
        for title, pages in MENU.items():
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n" + "\n".join(pages) + "\n```\n"
    if name.startswith(("reports/", "examples/")) and f"/{name}" not in sum(MENU.values(), ()):
        title = "" if source[0].startswith("# ") else f"# {Path(name).stem}\n\n"
        source[0] = f"---\norphan: true\n---\n{title}{source[0]}"


def _complete(app, failed: Exception | None) -> None:
    """Complete the pages by `ACCESSIBLE`: a second pass finds nothing to do."""
    for page in () if failed else Path(app.outdir).rglob("*.html"):
        text = written = page.read_text("utf-8")
        for pattern, whole in ACCESSIBLE.items():
            text = re.sub(pattern, whole, text)
        if text != written:
            page.write_text(text, "utf-8")


def _link(name: str, match: re.Match[str]) -> str:
    target = ((ROOT / name).parent / match[1]).resolve()
    if target == ROOT / "README.md":
        return f"](/{root_doc}.md)"
    if not target.is_dir():
        return match[0]
    files = [*target.glob("README.md"), *target.glob("__init__.py"), *sorted(target.glob("*.*"))]
    return f"]({match[1].rstrip('/')}/{files[0].name})"
