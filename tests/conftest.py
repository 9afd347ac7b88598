"""Shared fixtures: Hypothesis profiles, optional tools and data, seeds printed in the header."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
from collections import defaultdict
from pathlib import Path

import pytest
from compiled_first import compile_part
from daily import THINNED, by_day
from hypothesis import HealthCheck, settings
from optional_parts import REQUIRED, absent

from sstep_verify import floating_point

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("deterministic", derandomize=True, database=None, **_COMMON)
settings.register_profile("random", **_COMMON)
PROFILE = os.environ.get("SSTEP_VERIFY_HYPOTHESIS", "deterministic")
settings.load_profile(PROFILE)


# Looking for garbage as often as Python does by itself takes a seventh of the time.
gc.set_threshold(20_000, 20, 20)

# A warning of ours that a setting of pytest has as an error ends a test, also inside of a judgement.
floating_point.SHOWN_AS = "error"


def pytest_addoption(parser):
    """Let the settings of the plugin of time limits stand where it is not installed, and do nothing there."""
    for name in ("timeout", "timeout_method"):
        with contextlib.suppress(ValueError):  # The plugin has said the same already.
            parser.addini(name, "see pytest-timeout")


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


PROGRAM_TESTS = "conformance"
"""Folder of the tests that start programs."""

MPI_TESTS = ("parallel", "faults")
RANKS = (
    "launch", "planted_parallel", "solve_bias", "solve_command", "solve_errors", "solve_killed",
    "rank_coherence", "campaign_parallel", "c_examples",
)  # fmt: skip
"""Folders of the tests that start MPI jobs, and parts of the names of such test files elsewhere."""

TOGETHER = {
    **dict.fromkeys(("test_explain.py", "test_replay.py"), "planted report"),
}
"""Files elsewhere that share a fixture of the session, which takes seconds to build."""

LONG = ("test_own_state.py", "test_compiled.py", "test_without_docstrings.py", "test_without_studies.py")
"""Files elsewhere whose few tests start programs."""


def group_of(nodeid: str) -> str:
    """Tests of a group run in one process, one after the other: those of a file, of several that share what is
    costly to build, and all that start MPI jobs.
    """
    file = Path(nodeid.partition("::")[0])
    ranks = file.parent.name in MPI_TESTS or any(part in file.name for part in RANKS)
    return "ranks" if ranks else TOGETHER.get(file.name, str(file))


def starts_programs(group: str) -> bool:
    """Whether many tests of a group start programs."""
    file = Path(group)
    return group in ("ranks", *TOGETHER.values()) or file.name in LONG or file.parent.name == PROGRAM_TESTS


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Spread groups of tests over the workers.

    Marks ``xdist_group`` would say the same, but since pytest 9.2 pytest-xdist 3.8 spreads marked tests one
    by one, and says nothing: https://github.com/pytest-dev/pytest-xdist/issues/1386.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group_of(nodeid)

        def _assign_work_unit(self, node):
            """Groups of the most tests come first, but before them those that start programs.

            Their tests are few and long, and would leave one worker at work when the others are done.
            """
            for group in self.workqueue:
                if starts_programs(group):
                    self.workqueue.move_to_end(group, last=False)
                    break
            super()._assign_work_unit(node)

    return Groups(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave a part of the values of each test in some folders to the nights."""
    values = defaultdict(list)
    for item in items:
        test, several, _ = item.nodeid.partition("[")
        folder = Path(test.partition("::")[0]).parent.as_posix()
        thinned = any(f"{folder}/".startswith(f"tests/{one}/") for one in THINNED)
        if several and thinned and item.get_closest_marker("nightly") is None:
            values[test].append(item)
    for same in values.values():
        tried = by_day(item.nodeid for item in same)
        for item in same:
            if item.nodeid not in tried:
                item.add_marker(pytest.mark.nightly)


def pytest_sessionstart(session):
    """Workers share out what is to be compiled."""
    worker = getattr(session.config, "workerinput", {}).get("workerid", "")
    if worker:
        compile_part(int(worker.removeprefix("gw")))


def pytest_collection_finish(session):
    """Thousands of tests stay until the end: they are looked through for garbage once."""
    gc.collect()
    gc.freeze()


def pytest_report_header(config):
    """Say which profile and which optional parts this run uses."""
    return [
        f"hypothesis profile: {PROFILE}"
        f"; SSTEP_VERIFY_DATA={os.environ.get('SSTEP_VERIFY_DATA', '')!r}"
        f"; SSTEP_VERIFY_REQUIRE={','.join(sorted(REQUIRED))!r}"
    ]


@pytest.fixture(autouse=True)
def no_seed_drawn(monkeypatch):
    """Runs that are given no seed draw no further s: tests are the same whenever they are run."""
    monkeypatch.setattr("sstep_verify.campaign.profile.SEED", None)


@pytest.fixture
def unexplained(monkeypatch):
    """Failures whose causes nobody looks for, which takes most of their time."""
    monkeypatch.setattr("sstep_verify.diagnosis.candidates.Suspects.alone", lambda suspects: [])
