"""The doctor: what it says of a sound environment, and of planted problems."""

import errno
import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from itertools import chain

import pytest
from click.testing import CliRunner

from sstep_verify import __version__, provenance
from sstep_verify.cli import mpi
from sstep_verify.cli.commands import doctor
from sstep_verify.cli.commands.doctor import Package, command, package
from sstep_verify.cli.mpi import Finding
from sstep_verify.errors import InputError
from sstep_verify.ranks import environment, pool

INDEPENDENT = """#!/bin/sh
# Starts processes that know nothing of each other, as the mpiexec of another MPI does.
if [ "$1" = --version ]; then echo HYDRA; exit 0; fi
shift; left=$1; shift
while [ "$left" -gt 0 ]; do "$@" & left=$((left - 1)); done
wait
"""


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    """An empty folder instead of the one next to this Python, outside any job, without started ranks."""
    for name in chain.from_iterable(environment.PLACES):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "scripts"
    folder.mkdir()
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(folder))
    monkeypatch.setattr(pool, "_pools", {})
    caches = (environment.launcher, environment.implementation)
    for cache in caches:
        cache.cache_clear()
    yield folder
    pool.close_all()
    monkeypatch.undo()
    for cache in caches:
        cache.cache_clear()


def program(folder, name: str, text: str, mode: int = 0o755) -> str:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def by_part(findings) -> dict[str, Finding]:
    return {finding.part: finding for finding in findings}


def mpi_at_hand():
    """Leave the launcher that belongs to mpi4py, or skip."""
    own = os.path.join(sysconfig.get_path("scripts"), "mpiexec")
    if not os.path.exists(own) or importlib.util.find_spec("mpi4py") is None:
        pytest.skip("no MPI in the environment of this Python: install the extra [mpich]")
    return own


@pytest.fixture
def sound(monkeypatch):
    """A launcher next to this Python that a shell finds first, and no data folder."""
    own = mpi_at_hand()
    monkeypatch.setenv("PATH", os.path.dirname(own) + os.pathsep + os.environ["PATH"])
    monkeypatch.delenv("SSTEP_VERIFY_DATA", raising=False)


def test_a_sound_environment_is_ok_and_every_line_has_its_three_parts(sound):
    result = CliRunner().invoke(command, [])
    assert result.exit_code == 0, result.output
    *lines, last, hint = result.output.splitlines()
    assert "paste" in hint
    assert lines[0].split()[:3] == ["ok", "sstep-verify", __version__]
    assert last.startswith(f"{len(lines)} parts: 0 wrong, ")
    assert {line.split()[0] for line in lines} <= {"ok", "missing"}
    assert all(" Do: " in line for line in lines if line.startswith("missing"))
    expected = "MPI job" if environment.promised_size() > 1 else "MPI trial"
    assert any(line.startswith("ok") and expected in line for line in lines)


@pytest.mark.parametrize("git", [None, {}, {"commit": "a" * 40, "modified": False}])
def test_an_installed_package_has_a_version_and_no_commit(git, monkeypatch):
    monkeypatch.setattr(provenance, "_git", lambda: git)
    found = doctor.installation().found
    assert found.startswith(__version__)
    assert ("(commit aaaaaaa)" in found) == bool(git)


def test_json_holds_the_same_findings(sound):
    result = CliRunner().invoke(command, ["--json"])
    document = json.loads(result.output)
    assert (result.exit_code, document["wrong"]) == (0, 0)
    lines = CliRunner().invoke(command, []).output.splitlines()
    assert [Finding(**found).line() for found in document["findings"]] == lines[:-2]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EFBIG, "File too large"), "ulimit -f"),
        (OSError(errno.ENOSPC, "No space left on device", "/a/file"), "/a/file"),
        (InputError("a reason"), "a reason"),
    ],
)
def test_an_error_of_a_look_is_the_finding_of_its_part_and_the_others_follow(
    sound, monkeypatch, error, said
):
    def failing(*given, **options):
        raise error

    for module, name in ((mpi, "_launcher"), (doctor, "blas"), (doctor, "installation")):
        monkeypatch.setattr(module, name, failing)
    findings = [doctor.looked("sstep-verify", doctor.installation), *mpi.mpi_findings()]
    found = by_part([*findings, *doctor.part_findings()])
    wrong = {part: one for part, one in found.items() if one.state == "wrong"}
    assert set(wrong) >= {"sstep-verify", "BLAS threads"}
    assert all(said in one.line() for one in wrong.values())
    assert "data sets" in found


@pytest.mark.parametrize(("state", "code"), [("ok", 0), ("missing", 0), ("wrong", 2)])
def test_only_what_is_wrong_makes_the_exit_code_2(monkeypatch, state, code):
    monkeypatch.setattr(doctor, "mpi_findings", lambda: [Finding("mpiexec", "ok", "1")])
    monkeypatch.setattr(doctor, "part_findings", lambda: [Finding("part", state, "2", "", "x")])
    result = CliRunner().invoke(command, [])
    assert result.exit_code == code
    assert result.output.splitlines()[2] == f"{state:8}{'part':18}2. Do: x"


def test_no_mpiexec_is_missing_with_the_command_that_installs_it(scripts, monkeypatch):
    monkeypatch.setenv("PATH", str(scripts))
    pytest.importorskip("mpi4py")
    found = by_part(mpi.mpi_findings())
    assert found["mpiexec"].state == "missing"
    assert found["mpiexec"].advice == "python -m pip install '.[mpich]' (in the clone)"
    assert "MPI trial" not in found


def test_no_mpi4py_is_missing(monkeypatch):
    monkeypatch.setattr(mpi.importlib.util, "find_spec", lambda name: None)
    (found,) = mpi.mpi_findings()
    assert (found.part, found.state) == ("mpi4py", "missing")
    assert "pip install" in found.advice


def test_an_mpiexec_that_cannot_be_run_is_wrong(scripts):
    pytest.importorskip("mpi4py")
    program(scripts, "mpiexec", "no program", 0o644)
    found = by_part(mpi.mpi_findings())["mpiexec"]
    assert found.state == "wrong"
    assert "cannot be run" in found.found


def test_an_mpiexec_of_another_mpi_is_wrong(scripts):
    pytest.importorskip("mpi4py")
    program(scripts, "mpiexec", INDEPENDENT)
    found = by_part(mpi.mpi_findings())
    assert found["mpiexec"].state == "ok"
    assert found["MPI trial"].state == "wrong"
    assert "each sees a world of 1" in found["MPI trial"].found


def test_another_mpiexec_that_a_shell_finds_first_is_wrong(tmp_path, monkeypatch):
    if environment.promised_size() > 1:
        pytest.skip("inside a job no other launcher is tried")
    own = mpi_at_hand()
    first = program(tmp_path / "first", "mpiexec", INDEPENDENT)
    monkeypatch.setenv("PATH", str(tmp_path / "first") + os.pathsep + os.environ["PATH"])
    found = by_part(mpi.mpi_findings())
    assert found["MPI trial"].state == "ok"
    assert found["mpiexec on PATH"].state == "wrong"
    assert first in found["mpiexec on PATH"].found
    assert "world of 1" in found["mpiexec on PATH"].found
    assert own in found["mpiexec on PATH"].advice


def test_another_mpiexec_that_works_is_ok(tmp_path, monkeypatch):
    if environment.promised_size() > 1:
        pytest.skip("inside a job no other launcher is tried")
    own = mpi_at_hand()
    program(tmp_path / "first", "mpiexec", f'#!/bin/sh\nexec {own} "$@"\n')
    monkeypatch.setenv("PATH", str(tmp_path / "first") + os.pathsep + os.environ["PATH"])
    assert by_part(mpi.mpi_findings())["mpiexec on PATH"].state == "ok"


@pytest.mark.nightly
@pytest.mark.parametrize(("rank", "code"), [("0", 2), ("1", 0)])
def test_inside_a_job_of_another_mpi_rank_0_says_so(rank, code):
    mpi_at_hand()
    names = ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK")
    if environment.implementation() == "Open MPI":
        names = ("PMI_SIZE", "PMI_RANK")
    usual = environment.launch_variables()
    answer = subprocess.run(
        [sys.executable, "-m", "sstep_verify", "doctor", "--json"],
        env={**usual, **dict(zip(names, ("2", rank), strict=True))},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == code, answer.stderr
    if rank == "0":
        found = json.loads(answer.stdout)["findings"][1]
        assert (found["part"], found["state"]) == ("MPI job", "wrong")
        assert "but mpi4py uses" in found["found"]
    else:
        assert answer.stdout == ""


def failing(module):
    raise ValueError(f"{module.__name__} is broken")


def test_a_package_is_ok_missing_or_wrong(monkeypatch):
    usual = importlib.util.find_spec
    hidden = lambda name: None if name == "click" else usual(name)  # noqa: E731
    assert package(Package("click", "click", "extra", "nothing")).state == "ok"
    broken = package(Package("click", "click", "extra", "nothing works", failing))
    assert broken.state == "wrong"
    assert "ValueError: click is broken; nothing works" in broken.line()
    assert "--force-reinstall click" in broken.advice
    monkeypatch.setattr(importlib.util, "find_spec", hidden)
    optional = package(Package("click", "click", "extra", "nothing works"))
    assert (optional.state, optional.meaning) == ("missing", "nothing works")
    assert optional.advice == "python -m pip install '.[extra]' (in the clone)"
    assert package(Package("click", "click", "", "nothing works")).state == "wrong"


def test_whether_compiled_loops_are_kept_is_reported(monkeypatch):
    found = doctor.kept_loops()
    assert (found.state, "kept in" in found.found) == ("ok", True)
    monkeypatch.setattr("sstep_verify.compiled.kept_in", lambda: "")
    monkeypatch.setattr("sstep_verify.compiled.unkept", lambda: "read-only")
    found = doctor.kept_loops()
    assert (found.state, found.found) == ("missing", "not kept: read-only")
    assert "NUMBA_CACHE_DIR" in found.advice


def test_compiled_loops_that_are_switched_off_are_wrong(monkeypatch):
    import numba

    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    found = package(doctor.PACKAGES[0])
    assert (found.state, found.advice) == ("wrong", "unset NUMBA_DISABLE_JIT")


def test_packages_named_here_are_in_the_extras_named_here():
    from importlib import metadata

    for wanted in doctor.PACKAGES:
        named = [text for text in metadata.requires("sstep-verify") if text.startswith(wanted.distribution)]
        marks = [f"extra == '{wanted.extra}'" in text.replace('"', "'") for text in named]
        assert any(marks) if wanted.extra else any("extra" not in text for text in named), wanted


@pytest.mark.parametrize(
    ("name", "extra"), [("piqp", "peers"), ("osqp", "peers"), ("scikit-learn", "data")]
)
def test_a_referee_that_is_absent_is_reported_with_the_extra_that_brings_it(monkeypatch, name, extra):
    (wanted,) = [part for part in doctor.PACKAGES if part.distribution == name]
    monkeypatch.setattr(importlib.util, "find_spec", lambda module: None)
    line = package(wanted).line()
    assert line.startswith("missing")
    assert "do not compare optima" in line
    assert line.endswith(f"Do: python -m pip install '.[{extra}]' (in the clone)")


def test_threads_of_no_known_blas_cannot_be_limited(monkeypatch):
    import threadpoolctl

    monkeypatch.setattr(threadpoolctl, "threadpool_info", lambda: [{"user_api": "openmp"}])
    found = doctor.blas()
    assert found.state == "missing"
    assert found.advice == "export OMP_NUM_THREADS=1"


@pytest.mark.parametrize(("threads", "advised"), [(1, False), (8, True)])
def test_threads_of_blas_are_reported_and_advised_on(monkeypatch, threads, advised):
    import threadpoolctl

    item = {"user_api": "blas", "internal_api": "openblas", "version": "0.3", "num_threads": threads}
    monkeypatch.setattr(threadpoolctl, "threadpool_info", lambda: [item])
    found = doctor.blas()
    assert (found.state, found.found) == ("ok", f"openblas 0.3, {threads} thread{'s' * advised}")
    assert bool(found.advice) == advised


@pytest.mark.parametrize("threads", [(1, 8), (8, 1), (1, 1)])
def test_threads_of_any_of_several_blas_are_advised_on(monkeypatch, threads):
    import threadpoolctl

    items = [{"user_api": "blas", "internal_api": "openblas", "num_threads": count} for count in threads]
    monkeypatch.setattr(threadpoolctl, "threadpool_info", lambda: items)
    assert bool(doctor.blas().advice) == (max(threads) > 1)


def test_octave_is_ok_missing_or_wrong(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = doctor.octave()
    assert (found.state, found.advice) == ("missing", "apt-get install octave")
    program(tmp_path, "octave-cli", "#!/bin/sh\necho library lost >&2\nexit 1\n")
    found = doctor.octave()
    assert found.state == "wrong"
    assert "library lost" in found.found
    program(tmp_path, "octave-cli", "#!/bin/sh\necho GNU Octave, version 1.2\n")
    assert doctor.octave() == Finding("Octave", "ok", "GNU Octave, version 1.2")


def test_without_a_data_folder_sets_are_downloaded(monkeypatch):
    monkeypatch.delenv("SSTEP_VERIFY_DATA", raising=False)
    (found,) = doctor.data_sets()
    assert found.state == "missing"
    assert "SSTEP_VERIFY_DATA" in found.advice


def test_a_data_folder_that_is_none_is_wrong(tmp_path, monkeypatch):
    monkeypatch.setenv("SSTEP_VERIFY_DATA", str(tmp_path / "absent"))
    (found,) = doctor.data_sets()
    assert found.state == "wrong"
    assert "$SSTEP_VERIFY_DATA" in found.found


def test_files_that_are_not_what_they_are_named_are_wrong(data_directory, tmp_path, monkeypatch):
    monkeypatch.setenv("SSTEP_VERIFY_DATA", str(tmp_path))
    shutil.copy(data_directory / "bodyfat", tmp_path / "bodyfat")
    (tmp_path / "diabetes").write_bytes((data_directory / "diabetes").read_bytes() + b"1 1:1\n")
    (tmp_path / "abalone").write_bytes(b"1 1:what\n")
    *faults, summary = doctor.data_sets()
    assert [fault.state for fault in faults] == ["wrong", "wrong"]
    assert "expected (768, 8), found (769, 8)" in faults[0].found
    assert "line 1: value 'what'" in faults[1].found
    assert summary.state == "ok"
    assert "as pinned: bodyfat" in summary.found
    assert "colon-cancer" in summary.meaning
