"""One boundary turns what users, files and machines do wrong into one line; a defect of ours stays one."""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import click
import pytest
from daily import crossed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sstep_verify.cli import main as boundary
from sstep_verify.errors import InputError, MissingExtraError, OracleDisagreementError
from sstep_verify.solver.packet import IncoherenceError


def ended(monkeypatch, capsys, error: BaseException) -> tuple[int, str]:
    """Exit code and standard error of a command that raises."""

    def failing(**options):
        raise error

    monkeypatch.setattr(boundary.cli, "main", failing)
    with pytest.raises(SystemExit) as caught:
        boundary.main()
    return caught.value.code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (InputError("r: is a pipe; name another"), 2, "error: r: is a pipe; name another"),
        (MissingExtraError("no 'x'"), 2, "error: no 'x'"),
        (IncoherenceError(3, ("a", "b"), ("kind",) * 2), 4, "the ranks hold different dual vectors"),
        (OracleDisagreementError("two"), 4, "error: two"),
        (FileNotFoundError(2, "No such file or directory", "x" * 5000), 2, "No such file or directory; check"),
        (FileNotFoundError(2, "No usable temporary directory found in ['/tmp']"), 4, "TMPDIR"),
        (OSError("Too many open files"), 2, "Too many open files; check"),
        (MemoryError("Unable to allocate 8.00 TiB"), 2, "memory does not suffice (Unable to allocate 8.00 TiB)"),
        (MemoryError(), 2, "memory does not suffice (MemoryError); take fewer"),
        (OverflowError("int too large to convert to float"), 2, "a number is too large (int too large"),
        (EOFError("No data left in file"), 2, "malformed or cut short (No data left"),
        (RecursionError("maximum recursion depth exceeded"), 2, "malformed or cut short"),
        (json.JSONDecodeError("Expecting value", "a\nb", 2), 2, "Expecting value"),
        (tomllib.TOMLDecodeError("Invalid\nvalue"), 2, "Invalid value"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), 2, "invalid start byte"),
        (zipfile.BadZipFile("File is not a zip file"), 2, "File is not a zip file"),
        (click.Abort(), 130, "interrupted"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)  # fmt: skip
def test_one_line_and_the_way_out(monkeypatch, capsys, error, code, words):
    found, text = ended(monkeypatch, capsys, error)
    assert found == code
    assert words in text
    assert text.count("\n") == 1
    assert len(text) < 400


@pytest.mark.parametrize(("limit", "words"), [(0, "ulimit -f"), (resource.RLIM_INFINITY, "make room")])
def test_no_temporary_folder_is_the_fault_of_a_limit_where_there_is_one(monkeypatch, limit, words):
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limit, resource.RLIM_INFINITY))
    line, code = boundary.told(FileNotFoundError(2, "No usable temporary directory found in ['/tmp']"))
    assert code == 4
    assert words in line


@pytest.mark.parametrize(
    "error", [RuntimeError("lost"), ValueError("shapes"), KeyError("x"), AssertionError()]
)
def test_a_defect_of_ours_is_reported_with_its_traceback(monkeypatch, capsys, error):
    code, text = ended(monkeypatch, capsys, error)
    assert code == 4
    assert "Traceback" in text
    assert text.endswith("internal error: this is a defect of sstep_verify, not of the solver tested\n")


def test_the_end_of_a_file_is_no_interrupt(monkeypatch, capsys):
    """Click takes one for the end of its input, at which it aborts."""

    @click.command()
    def reads():
        raise EOFError("Ran out of input")

    monkeypatch.setattr(boundary, "cli", reads)
    monkeypatch.setattr(sys, "argv", ["sstep-verify"])
    with pytest.raises(SystemExit) as caught:
        boundary.main()
    assert caught.value.code == 2
    assert "Ran out of input" in capsys.readouterr().err


def test_an_interrupt_of_which_more_was_said_is_reported_once(monkeypatch, capsys):
    """Training says from which iteration it can go on (`cli.work.Progress`)."""
    assert ended(monkeypatch, capsys, KeyboardInterrupt("interrupted: --resume goes on")) == (130, "")


@pytest.mark.parametrize("terminal", [False, True])
def test_only_the_sign_of_a_terminal_is_given_a_line_of_its_own(monkeypatch, capsys, terminal):
    @click.command()
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(boundary.cli, "get_command", lambda *given: interrupted)
    monkeypatch.setattr(sys, "argv", ["sstep-verify", "solve"])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with pytest.raises(SystemExit) as caught:
        boundary.main()
    assert caught.value.code == 130
    assert capsys.readouterr().err == "\n" * terminal + "interrupted\n"


ROOT = Path(__file__).parents[3]

BY_SCRIPT = "from importlib.metadata import EntryPoint; EntryPoint('sstep-verify', {!r}, 'console_scripts').load()()"
"""What the script of an installed command does."""

WAYS = {
    "module": "import runpy; runpy.run_module('sstep_verify', run_name='__main__', alter_sys=True)",
    "script": BY_SCRIPT.format(
        tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]["sstep-verify"]
    ),
}

INTERRUPTED = """
import importlib.abc, os, signal, sys
sys.argv = ["sstep-verify", "solve", "nothing", "--task", "svm-l1", "--out", "r.npz"]
signal.signal(signal.SIGINT, {before})

class Interrupting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
{way}
"""
"""A command that is interrupted while it imports a module for the first time."""


def interrupted_at(module, way, tmp_path, before="signal.default_int_handler"):
    text = INTERRUPTED.format(module=module, way=WAYS[way], before=before)
    return subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("module", "way"),
    crossed(["sstep_verify.cli.main", "click", "sstep_verify.ranks.environment", "numpy"], WAYS, of=2),
)
def test_an_interrupt_while_modules_are_imported_is_one_line(module, way, tmp_path):
    found = interrupted_at(module, way, tmp_path)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "interrupted\n")


def test_a_working_folder_that_is_gone_is_named(tmp_path, monkeypatch, capsys):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(FileNotFoundError) as caught:
        os.getcwd()
    code, text = ended(monkeypatch, capsys, caught.value)
    assert (code, "working folder" in text) == (2, True)


def test_little_is_loaded_before_an_interrupt_is_answered():
    text = f"import sys; sys.path.append({str(ROOT)!r}); import sstep_verify.__main__; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", text], capture_output=True, text=True, check=True
    )
    assert not {"typing", "importlib", "contextlib", "re"} & set(loaded.stdout.split())


def test_a_command_that_ignores_interrupts_ignores_them_from_the_start(tmp_path):
    found = interrupted_at("click", "module", tmp_path, before="signal.SIG_IGN")
    assert (found.returncode, "interrupted" in found.stderr) == (2, False)


def test_a_reader_that_has_enough_ends_the_program_in_silence(monkeypatch, tmp_path):
    with open(tmp_path / "out", "w", encoding="ascii") as out:
        monkeypatch.setattr(sys, "stdout", out)

        def failing(**options):
            raise BrokenPipeError(32, "Broken pipe")

        monkeypatch.setattr(boundary.cli, "main", failing)
        with pytest.raises(SystemExit) as caught:
            boundary.main()
    assert caught.value.code == boundary.PIPE_CLOSED


@given(
    line=st.sampled_from(
        ["int('abc')", "raise ValueError('no')", "import no_such", "[][1]", "raise RuntimeError"]
    ),
    inner=st.booleans(),
    variable=st.sampled_from(["", "DRAWN_OTHER_THREADS", "SOURCE_DATE_EPOCH"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_package_that_cannot_be_loaded_is_named_and_no_defect_of_ours(tmp_path, line, inner, variable):
    """As by a variable or a settings file that it reads: numba with NUMBA_NUM_THREADS=0."""
    package = tmp_path / "drawn_other"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text("from drawn_other import fails\n" if inner else line)
    (package / "fails.py").write_text(f"def work():\n    {line}\nwork()\n")
    importlib.invalidate_caches()
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(tmp_path))
        if variable:
            patched.setenv(variable, "x")
        patched.setitem(globals(), "__name__", "sstep_verify.somewhere")
        try:
            importlib.import_module("drawn_other")
            raise AssertionError("it was loaded")
        except Exception as error:
            words, code = boundary.told(error)
    for name in [name for name in sys.modules if name.startswith("drawn_other")]:
        del sys.modules[name]
    assert code == 2
    assert words.startswith("error: the package drawn_other cannot be loaded (")
    assert (variable in words) if variable else "set here" not in words


@given(st.sampled_from([ValueError, TypeError, KeyError, ZeroDivisionError]))
def test_an_error_met_within_a_function_of_a_package_is_ours(kind):
    def fails(_):
        raise kind("no")

    with pytest.raises(kind) as met:
        json.loads("[1]", parse_int=fails)
    assert boundary.told(met.value) == ("", 4)


@pytest.mark.parametrize(
    ("words", "code"),
    [pytest.param(["explain", "box"], 0, marks=pytest.mark.nightly), (["explain", "no such check"], 2)],
)
def test_a_prompt_asked_for_by_the_environment_changes_no_exit_code(words, code):
    """Of Python itself with -i there is one, as asked."""
    ended = subprocess.run(
        [sys.executable, "-m", "sstep_verify", *words], env=os.environ | {"PYTHONINSPECT": "1"},
        input="print('at a prompt')\n", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == code
    assert "at a prompt" not in ended.stdout
    assert "Traceback" not in ended.stderr
    assert ended.stderr.startswith("note: PYTHONINSPECT")
