"""The pytest plugin, installed next to another project's tests, changes nothing until it is asked to."""

from __future__ import annotations

import subprocess

import pytest
from launched import PYTEST, run_marked

from sstep_verify.ranks.environment import launcher

pytest.importorskip("mpi4py", reason="mpi4py is absent: install the extra [mpi]")
pytestmark = pytest.mark.pool_only

MINUTE = 60.0
MPIEXEC = [str(launcher()), "-n", "2"]
INSTALLED = """
def test_installed(pytestconfig):
    assert pytestconfig.pluginmanager.hasplugin("sstep_verify")
"""


@pytest.mark.nightly
def test_tests_that_communicate_on_all_ranks_run_as_without_the_plugin(tmp_path):
    (tmp_path / "test_mpi.py").write_text(
        INSTALLED
        + "def test_sum():\n    from mpi4py import MPI\n    assert MPI.COMM_WORLD.allreduce(1) == 2\n"
    )
    code, output, left = run_marked([*MPIEXEC, *PYTEST, "test_mpi.py"], tmp_path, MINUTE)
    assert (code, left) == (0, []), output
    assert output.count("2 passed") == 2, "both ranks run the tests"


def test_nothing_is_imported_and_no_marker_is_declared_unasked(tmp_path):
    (tmp_path / "test_nothing.py").write_text(
        INSTALLED + "import sys\n"
        "def test_nothing(pytestconfig):\n"
        "    assert not {'mpi4py', 'numpy', 'sstep_verify.ranks'} & sys.modules.keys()\n"
        "    assert not any('pool_only' in line for line in pytestconfig.getini('markers'))\n"
    )
    words = [*PYTEST, "-p", "no:timeout", "test_nothing.py"]
    code, output, _ = run_marked(words, tmp_path, MINUTE, PMI_SIZE="2")
    assert code == 0, output


def test_asked_to_by_the_setting_rank_0_runs_the_tests_alone(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nsstep_verify_ranks = true\n")
    (tmp_path / "test_served.py").write_text(
        "import launch_faults as faults\n"
        "from sstep_verify.ranks import run\n"
        "def test_served():\n    assert run(2, faults.rounds) == [8.0, 8.0]\n"
    )
    code, output, left = run_marked([*MPIEXEC, *PYTEST, "test_served.py"], tmp_path, MINUTE)
    assert (code, left) == (0, []), output
    assert output.count("1 passed") == 1


def test_help_lists_the_option_and_the_setting(tmp_path):
    text = subprocess.run(
        [*PYTEST, "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    ).stdout
    assert "--sstep-verify-ranks" in text
    assert "sstep_verify_ranks (bool):" in text
