"""Shared fixtures: Hypothesis profiles, optional tools and data, seeds printed in the header."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from optional_parts import REQUIRED, absent

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("deterministic", derandomize=True, database=None, **_COMMON)
settings.register_profile("random", **_COMMON)
PROFILE = os.environ.get("SSTEP_VERIFY_HYPOTHESIS", "deterministic")
settings.load_profile(PROFILE)


@pytest.fixture(scope="session")
def octave() -> str:
    """Path of GNU Octave's command line program."""
    program = shutil.which("octave-cli")
    if program is None:
        absent("octave", "install GNU Octave (Debian: apt-get install octave)")
    return program


@pytest.fixture(scope="session")
def data_directory() -> Path:
    """Folder with the paper's data sets in LIBSVM format."""
    folder = os.environ.get("SSTEP_VERIFY_DATA", "")
    if not folder or not Path(folder).is_dir():
        absent("data", "set SSTEP_VERIFY_DATA to the folder that holds the LIBSVM files")
    return Path(folder)


MPI_TESTS = Path(__file__).parent / "parallel"
RANKS = (
    "launch", "planted_parallel", "solve_", "watchdog", "rank_coherence", "campaign_parallel", "c_examples",
)  # fmt: skip
"""Folder of the tests that start MPI jobs, and parts of the names of such test files elsewhere."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Tests of lost and hanging ranks go by the clock; where tests are spread, MPI jobs come one at a time."""
    for item in items:
        if item.path.name.endswith("_faults.py"):
            item.add_marker(pytest.mark.faults)
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        file = item.path
        ranks = file.parent == MPI_TESTS or any(part in file.name for part in RANKS)
        item.add_marker(pytest.mark.xdist_group("ranks" if ranks else str(file)))


def pytest_report_header(config):
    """Say which profile and which optional parts this run uses."""
    return [
        f"hypothesis profile: {PROFILE}"
        f"; SSTEP_VERIFY_DATA={os.environ.get('SSTEP_VERIFY_DATA', '')!r}"
        f"; SSTEP_VERIFY_REQUIRE={','.join(sorted(REQUIRED))!r}"
    ]
