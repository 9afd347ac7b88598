"""The page of the paper's claims: every numbered item and erratum has a row, links and commands exist, timings are as stated."""

import os
import re
import shlex
import shutil
import subprocess
from itertools import chain
from pathlib import Path

import click
import make_paper
import pytest
from model_fit import TIMINGS_FILE, published_timings

from sstep_verify.cli.main import cli

ROOT = Path(__file__).parents[2]
TIMERS = ("panel", "allreduce", "steps")


GIVEN = make_paper.given()
CLAIMS = [claim for section in GIVEN["section"] for claim in section["claim"]]
ROWS = [row for claim in CLAIMS for row in make_paper.rows_of(claim)]


def test_the_page_is_what_the_claims_say():
    assert (ROOT / "docs" / "paper.md").read_text("utf-8") == make_paper.page()


def test_every_numbered_item_of_the_paper_has_a_claim():
    assert set(chain.from_iterable(claim.get("items", ()) for claim in CLAIMS)) == set(GIVEN["items"])


def test_every_erratum_has_a_claim_and_every_claim_with_that_verdict_an_erratum():
    text = (ROOT / "reference" / "ERRATA.md").read_text("utf-8")
    numbers = {int(number) for number in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    assert {number for row in ROWS for number in row.errata} == numbers
    assert [row.says for row in ROWS if row.verdict == "erratum" and not row.errata] == []


def test_every_claim_of_the_report_stands_once():
    selected = [
        row
        for claim in CLAIMS
        for row in make_paper.predicted()
        if "rows" in claim and claim["rows"].items() <= row.items()
    ]
    assert sorted(map(str, selected)) == sorted(map(str, make_paper.predicted()))


def test_verdicts_are_known_and_no_verdict_is_without_what_shows_it():
    assert {row.verdict for row in ROWS} == set(make_paper.VERDICTS)
    for row in ROWS:
        if row.verdict in ("supported", "not supported"):
            assert row.shown, row.says
            assert row.evidence, row.says


@pytest.mark.parametrize("command", sorted({row.shown for row in ROWS if row.shown}))
def test_commands_exist(command):
    words = shlex.split(command)
    if words[:3] == ["python", "-m", "pytest"]:
        for target in words[3:]:
            path, _, function = target.partition("::")
            assert f"def {function}" in (ROOT / path).read_text("utf-8")
        return
    names = words[1:] if words[0] == "sstep-verify" else words[3:]
    assert words[0] == "sstep-verify" or words[:3] == ["python", "-m", "sstep_verify"]
    found = cli
    while isinstance(found, click.Group):
        found = found.get_command(click.Context(found), names.pop(0))
        assert found is not None
    options = {option for parameter in found.params for option in parameter.opts}
    assert {word for word in names if word.startswith("--")} <= options
    if found.name == "run":
        folders = (ROOT / "sstep_verify" / "campaign" / "campaigns", ROOT / "studies" / "campaigns")
        assert any((folder / f"{names[0]}.toml").exists() for folder in folders)
        assert (words[0] == "sstep-verify") is (folders[0] / f"{names[0]}.toml").exists()


@pytest.mark.nightly
def test_timings_are_as_stated():
    stated = [(claim, one) for claim in CLAIMS for one in claim.get("timers", ())]
    assert stated
    assert [one for claim, one in stated if f"{one['us']} us" not in timed_words(claim)] == []
    folder = os.environ.get("SSTEP_VERIFY_DATA", "")
    if not folder or not (Path(folder) / TIMINGS_FILE).exists():
        pytest.skip(f"no {TIMINGS_FILE} in SSTEP_VERIFY_DATA: published timings are not copied here")
    timings = published_timings(folder)
    for _, one in stated:
        same = (
            (timings.dataset == one["data"]) & (timings.method == one["method"]) & (timings.s == one["s"])
        )
        same &= (timings.kernel == "rbf") & (timings.block == one["block"]) & (timings.ranks == one["P"])
        (found,) = timings[same]
        place = one["timer"]
        value = found.total if place == "total" else found.phases[TIMERS.index(place)]
        digits = len(one["us"].partition(".")[2])
        assert f"{value:,.{digits}f}" == one["us"], one


def timed_words(claim):
    """What a claim says of timings, with the unit behind every number of a pair."""
    return re.sub(r"(\d) (of|to|and) (?=[\d,.]+ us)", r"\1 us \2 ", claim["here"])


PRINTED = re.compile(r"\\(?:[&%$#_{}]|[a-zA-Z]+\*?(?:\[[^]]*\])?)|[{}]|[^\\]", re.DOTALL)


def test_the_latex_document_is_ascii_balanced_and_has_every_row():
    document = make_paper.latex_document()
    assert document.isascii()
    depth, special = 0, set()
    for token in PRINTED.findall(document.replace(r"\\", "")):
        depth += (token == "{") - (token == "}")
        assert depth >= 0
        special |= {token} & set("%$#_^~")
    assert depth == 0
    assert not special
    rows = [
        line for line in document.splitlines() if line.endswith(r" \\") and r"\textbf{Where}" not in line
    ]
    assert len(rows) == len(ROWS)
    columns = len(make_paper.COLUMNS)
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {columns - 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50 % of a_i & {x}", r"50 \% of a\_i \& \{x\}"),
        ("2^20 < ~1", r"2\textasciicircum{}20 \textless{} \textasciitilde{}1"),
        ("**no**: `run x`", r"\textbf{no}: \texttt{run x}"),
        ("`a_b`", r"\texttt{a\_\allowbreak{}b}"),
    ],
)
def test_cells_are_escaped_for_latex(text, expected):
    assert make_paper.latex(text) == expected


def test_the_latex_document_compiles(tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is absent: the LaTeX document is not compiled")
    (tmp_path / "claims.tex").write_text(make_paper.latex_document(), "ascii")
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "claims.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:]
