"""The documents: their Python runs, links lead to files, commands exist, the page of the interface builds."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

import sstep_verify
from sstep_verify.adapters.program import read_program
from sstep_verify.campaign.read import parse_definition, units_of
from sstep_verify.cli.main import cli

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("reference/*.md"))
)
WITH_PYTHON = [name for name in DOCUMENTS if "```python\n" in (ROOT / name).read_text("utf-8")]


@pytest.mark.parametrize("name", WITH_PYTHON)
def test_the_python_of_a_document_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / name).read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    namespace: dict[str, object] = {"__name__": "document"}
    for place, block in enumerate(blocks, 1):
        exec(compile(block, f"{name}, block {place}", "exec"), namespace)
    said = [line for block in blocks for line in re.findall("^# prints: (.*)$", block, re.MULTILINE)]
    assert capsys.readouterr().out.splitlines() == said


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_to_files_of_the_tree(name):
    text = re.sub(r"^```.*?^```$", "", (ROOT / name).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    targets = [link for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in link]
    assert [link for link in targets if not ((ROOT / name).parent / link).exists()] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_to_headings_that_are_there(name):
    text = re.sub(r"^```.*?^```$", "", (ROOT / name).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    broken = [
        (target, heading)
        for target, heading in re.findall(r"\]\(([^)#\s:]*(?:\.md)?)#([^)\s]+)\)", text)
        if not target.endswith(".html")
        and heading not in headings_of((ROOT / name).parent / target if target else ROOT / name)
    ]
    assert broken == []


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if re.match("docs/(?!index)", name)])
def test_a_page_ends_with_what_is_next(name):
    *_, last = (ROOT / name).read_text("utf-8").rstrip().split("\n\n")
    assert re.match(r"\*\*Next:\*\* .*\]\([^)]+\.md", last, re.DOTALL)


def headings_of(page: Path) -> list[str]:
    """Headings of a page, as a forge writes them into addresses."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]


def test_program_files_in_documents_are_read(tmp_path):
    files = [
        block
        for name in DOCUMENTS
        for block in re.findall(
            r"^```toml\n(.*?)^```$", (ROOT / name).read_text("utf-8"), re.MULTILINE | re.DOTALL
        )
        if "[program]" in block
    ]
    files += [path.read_text("utf-8") for path in sorted(ROOT.glob("examples/adapters/*/*.toml"))]
    assert len(files) >= 5
    for text in files:
        (tmp_path / "p.toml").write_text(text, "utf-8")
        read_program(tmp_path / "p.toml")


def test_campaign_files_in_documents_are_read():
    files = [
        block
        for name in DOCUMENTS
        for block in re.findall(
            r"^```toml\n(.*?)^```$", (ROOT / name).read_text("utf-8"), re.MULTILINE | re.DOTALL
        )
        if "[campaign]" in block
    ]
    assert files
    for text in files:
        assert units_of(parse_definition(text, "document"))


def test_the_page_of_the_interface_holds_every_public_name():
    pytest.importorskip("griffe", reason="griffelib is absent: install the dependency group docs")
    import make_api

    page = make_api.page()
    headings = set(re.findall(r"^#+ (.+)$", page, re.MULTILINE))
    assert set(sstep_verify.__all__) - {"__version__"} <= headings
    for name in ("verify", "parametrize_with_checks"):
        shown = re.search(rf"```text\n{name}(\(.*?\n\))", page, re.DOTALL)
        assert shown is not None
        names = re.findall(r"^    (\*|\w+)", shown[1], re.MULTILINE)
        assert names[names.index("profile") + 1] == "*", "what follows is by keyword only"


def test_the_version_stands_in_one_place():
    (cited,) = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert cited == sstep_verify.__version__
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] in ("Unreleased", sstep_verify.__version__)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands_in_documents_exist(name):
    for words in commands_in((ROOT / name).read_text("utf-8")):
        command, names = cli, list(words)
        while isinstance(command, click.Group):
            command = command.get_command(click.Context(command), names.pop(0))
            assert command is not None, words
        options = {option for parameter in command.params for option in parameter.opts}
        given = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert given <= options, words


def commands_in(text: str) -> list[list[str]]:
    """Words of every command ``sstep-verify ...`` in the blocks of a shell."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    found = [
        re.search(r"(?:^|mpiexec -n \d+ )sstep-verify (.+)", line.partition(" #")[0]) for line in lines
    ]
    return [shlex.split(match[1]) for match in found if match]
