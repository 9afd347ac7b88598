"""Functions compiled to borrow the arrays of their arguments, and what is kept of compiled functions."""

from __future__ import annotations

import fcntl
import os
import resource
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from nobody import as_nobody
from numba.core.errors import NumbaError

from sstep_verify import compiled as inner

ADD = """
def made(pair, row, total):
    values = pair.one[row]
    for place in range(values.size):
        if values[place] > 4.0:
            return
        total[row] += values[place] * pair.other[place]
"""
ADD_ROWS = """
def made(pair, total):
    for row in range(pair.one.shape[0]):
        if total[row] == 0.0:
            add(pair, row, total)
"""
DOUBLED = """
def made(values):
    return 2.0 * values
"""
WITH_HELP = """
def made(values, out):
    for place in range(values.size):
        out[place] = values[place]
    help(out)
"""


class Pair(NamedTuple):
    """Two arrays."""

    one: np.ndarray
    other: np.ndarray


def made(text, **names):
    """A function of text: with no source file it is compiled again, where the cache knows one by its file."""
    exec(text, names)
    return names["made"]


@pytest.mark.parametrize("borrowing", [False, True])
def test_what_borrows_arrays_counts_no_references(borrowing):
    compile_it, total = inner.inlined if borrowing else inner.compiled, np.zeros(2)
    function = compile_it(made(ADD_ROWS, add=compile_it(made(ADD))))
    function(Pair(np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 4.0])), total)
    assert total.tolist() == [10.0, 11.0]
    (signature,) = function.signatures
    assert ("call void @NRT_decref" in function.inspect_llvm(signature)) != borrowing


def test_what_borrows_arrays_makes_none():
    assert inner.compiled(made(DOUBLED))(np.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(NumbaError):
        inner.inlined(made(DOUBLED))(np.ones(2))


@pytest.mark.nightly
def test_what_a_borrowing_function_calls_may_make_arrays():
    doubled = inner.compiled(made(DOUBLED))
    within = inner.compiled(made("def made(out):\n    out[:] = doubled(out)\n", doubled=doubled))
    out = np.zeros(2)
    inner.inlined(made(WITH_HELP, help=within))(np.array([1.0, 3.0]), out)
    assert out.tolist() == [2.0, 6.0]


def test_sums_in_any_order_take_no_value_to_be_finite():
    total = inner.compiled_sums(
        made("def made(values):\n    x = 0.0\n    for v in values:\n        x += v\n    return x\n")
    )
    numbers = np.arange(40.0)
    assert total(numbers) == 780.0
    for others, expected in (([np.inf], np.inf), ([np.nan], np.nan), ([np.inf, -np.inf], np.nan)):
        numbers[-len(others) :] = others
        np.testing.assert_equal(total(numbers), expected)


def test_without_the_interface_references_are_counted(monkeypatch):
    monkeypatch.setattr(inner, "BORROWS", False)
    total = np.zeros(2)
    function = inner.inlined(made(ADD_ROWS, add=inner.inlined(made(ADD))))
    function(Pair(np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 4.0])), total)
    assert total.tolist() == [10.0, 11.0]
    assert "_nrt" not in function.targetoptions


MODULE = "from sstep_verify.compiled import compiled\n"
FIRST = MODULE + "import numpy as np\n@compiled\ndef first(x):\n    return x + np.full(x, {}).sum()\n"
SECOND = MODULE + "from first import first\n@compiled\ndef second(x):\n    return first(x)\n"
THIRD = MODULE + (
    "from second import second\n"
    "@compiled\ndef outer(x):\n    return third(x)\n"
    "@compiled\ndef third(x):\n    return second(x)\n"
    "if __name__ == '__main__':\n    import sys\n    from third import outer as again\n"
    "    print(again(1), 'numba.np.npyimpl' in sys.modules)\n"
)


ABSENT = """
import runpy, sys, types
import numba
for name in ("numba.core.options", "numba.core.runtime._nrt_python"):
    sys.modules[name] = types.ModuleType(name)
del numba.core.dispatcher.Dispatcher.stats
from sstep_verify import compiled
assert not compiled.BORROWS and not compiled.RUNTIME
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a program under a numba that has none of its undocumented interfaces."""


class Files:
    """Three files in a folder, each of which calls functions of the one before, and a cache next to them."""

    def __init__(self, folder):
        self.folder = folder
        for name, text in (("first", FIRST.format(1)), ("second", SECOND), ("third", THIRD)):
            (folder / f"{name}.py").write_text(text)

    def said(self, *before: str, file_size: int | None = None) -> str:
        """What the third prints: its result, and whether all was made ready to compile.

        No file that it writes may have more bytes than `file_size`.
        """
        paths = [str(self.folder), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)), "NUMBA_CACHE_DIR": str(self.folder / "kept"),
            # Python 3.11 keeps what it could write of a module's code, and cannot import that.
            "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        command = [sys.executable, *before, str(self.folder / "third.py")]

        def limit() -> None:
            if file_size is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))

        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, preexec_fn=limit
        )
        return ended.stdout

    def kept(self) -> dict[str, int]:
        """What is kept of the third, and when it was written."""
        return {path.name: path.stat().st_mtime_ns for path in (self.folder / "kept").rglob("third.*")}


@pytest.fixture
def files(tmp_path):
    """`Files` in a folder of their own."""
    return Files(tmp_path)


@pytest.mark.nightly
def test_what_calls_a_function_of_another_file_is_compiled_again_with_it(files):
    """Numba itself looks at the file of the caller alone; and what is kept needs nothing that only compiles."""
    assert files.said() == "2 True\n"
    before = files.kept()
    assert before
    assert files.said() == "2 False\n"
    assert files.kept() == before
    (files.folder / "first.py").write_text(FIRST.format(5))
    assert files.said() == "6 True\n"


@pytest.mark.nightly
def test_without_the_interfaces_what_calls_another_file_is_never_kept(files):
    assert files.said("-c", ABSENT) == "2 True\n"
    assert not files.kept()


CUT, EMPTY, CHANGED, OTHER = "cut", "empty", "changed", "other"


def damaged(content: bytes, kind: str) -> bytes:
    """What is left of a file: a part, nothing, all with one bit changed, or something else."""
    if kind == CHANGED:
        place = len(content) * 2 // 3
        return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
    return {CUT: content[:60], EMPTY: b"", OTHER: np.random.Generator(np.random.PCG64(3)).bytes(500)}[kind]


@pytest.mark.nightly
@pytest.mark.parametrize("ending", ["nbc", "nbi"])
def test_a_damaged_file_of_the_cache_is_removed_and_its_function_compiled_again(files, ending):
    files.said()
    kept = sorted((files.folder / "kept").rglob(f"*.{ending}"))
    for path, kind in zip(kept, (CHANGED, CUT, EMPTY, OTHER), strict=True):
        path.write_bytes(damaged(path.read_bytes(), kind))
    assert files.said() == "2 True\n"
    assert files.said() == "2 False\n"


def test_of_two_processes_one_waits_until_the_other_has_kept_its_function(tmp_path):
    done: list[str] = []
    cache = SimpleNamespace(
        cache_path=str(tmp_path),
        load_overload=lambda *_: done.append("loaded"),
        save_overload=lambda *_: done.append("saved"),
    )
    inner._guard_kept(SimpleNamespace(_cache=cache, py_func=made(DOUBLED)))
    other = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    threads = [
        threading.Thread(target=call, args=(None, None))
        for call in (cache.load_overload, cache.save_overload)
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    assert not done
    os.close(other)
    for thread in threads:
        thread.join(60)
    assert sorted(done) == ["loaded", "saved"]


def test_a_function_that_is_kept_while_another_is_loaded_needs_no_second_lock(tmp_path):
    done: list[str] = []

    def load(*_):
        another.save_overload(None, None)
        done.append("loaded")

    def guarded(**of_cache):
        cache = SimpleNamespace(cache_path=str(tmp_path), **of_cache)
        inner._guard_kept(SimpleNamespace(_cache=cache, py_func=made(DOUBLED)))
        return cache

    another = guarded(load_overload=print, save_overload=lambda *_: done.append("saved"))
    begin = time.monotonic()
    guarded(load_overload=load, save_overload=print).load_overload(None, None)
    assert done == ["saved", "loaded"]
    assert time.monotonic() - begin < inner.LONGEST_WAIT


def test_a_process_goes_on_if_the_one_that_holds_the_lock_was_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(inner, "LONGEST_WAIT", 0.1)
    done: list[str] = []
    cache = SimpleNamespace(
        cache_path=str(tmp_path), load_overload=print, save_overload=lambda *_: done.append("saved")
    )
    inner._guard_kept(SimpleNamespace(_cache=cache, py_func=made(DOUBLED)))
    other = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    cache.save_overload(None, None)
    os.close(other)
    assert done == ["saved"]


@pytest.mark.nightly
def test_what_a_full_disk_cannot_keep_is_compiled_in_every_process(files):
    assert files.said(file_size=40) == "2 True\n"
    assert not files.kept()
    assert files.said() == "2 True\n"
    assert files.kept()


UNKEPT = """
import warnings
from third import outer
from sstep_verify import compiled
print(outer(1), bool(compiled.unkept()))
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("error" if {errors} else "always")
    compiled.warn_if_unkept()
    compiled.warn_if_unkept()
print([one.category.__name__ for one in found])
"""


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("home", "errors"),
    [
        ("read-only", True),
        *((home, False) for home in ("none", "read-only")),
    ],
)
def test_where_nothing_can_be_kept_it_is_said_once(files, home, errors):
    """Neither the folder of the source nor a home can be written, or this user has no home at all."""
    program = UNKEPT.format(errors=errors)
    variables = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    variables["PYTHONPATH"] = os.pathsep.join([str(files.folder), variables.get("PYTHONPATH", "")])
    (files.folder / "home").mkdir()
    if home == "read-only":
        variables["HOME"] = str(files.folder / "home")
    (files.folder / "work").mkdir()
    for path in (files.folder / "home", files.folder):
        path.chmod(0o555)
    try:
        ended = as_nobody(
            [sys.executable, "-B", "-c", program], env=variables, cwd=files.folder / "work", text=True
        )
    finally:
        files.folder.chmod(0o755)
    # Neither a folder that is named "~" nor any other.
    assert not list((files.folder / "work").iterdir())
    assert ended.stdout.splitlines() == ["2 True", "[]" if errors else "['UncachedWarning']"]


KIND = "from typing import NamedTuple\nclass Kind(NamedTuple):\n    x: float\n"
TAKE = MODULE + "@compiled\ndef take(kind):\n    return kind.x\n"


@pytest.mark.nightly
def test_what_is_kept_of_classes_that_are_elsewhere_now_is_compiled_again(tmp_path):
    paths = [str(tmp_path), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)), "NUMBA_CACHE_DIR": str(tmp_path / "kept"),
    }  # fmt: skip
    (tmp_path / "take.py").write_text(TAKE)
    (tmp_path / "before.py").write_text(KIND)
    for name in ("before", "after"):
        if name == "after":
            (tmp_path / "before.py").rename(tmp_path / "after.py")
        program = f"from {name} import Kind\nfrom take import take\nprint(take(Kind(3.0)))"
        command = [sys.executable, "-c", program]
        said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        assert said == "3.0\n"
    assert list((tmp_path / "kept").rglob("take.*.nbi"))


def test_what_the_compiler_is_asked_to_leave_alone_is_not_called_compiled():
    program = (
        "from sstep_verify.compiled import AVAILABLE, compiled; print(AVAILABLE, compiled(abs) is abs)"
    )
    for said, expected in (("0", "True"), ("1", "False True")):
        variables = {**os.environ, "NUMBA_DISABLE_JIT": said}
        if said == "0":
            words = [sys.executable, "-c", program.split(", compiled")[0] + "; print(AVAILABLE)"]
        else:
            words = [sys.executable, "-c", program]
        found = subprocess.run(words, env=variables, capture_output=True, text=True, check=True)
        assert found.stdout.strip() == expected
