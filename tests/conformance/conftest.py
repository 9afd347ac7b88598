"""What several conformance tests build once."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from c_examples import built_solvers
from command import spread_here
from printing import built


@pytest.fixture(autouse=True)
def one_process(request, monkeypatch):
    """Commands take this process alone, for somebody's solver too, unless a test asks for more.

    Each further one takes longer to start than its share of the runs.
    """
    monkeypatch.setattr("sstep_verify.cli.campaign.processors", lambda: 1)
    if "process_of_its_own" not in request.fixturenames:
        monkeypatch.setattr("sstep_verify.campaign.run.spread", spread_here)


@pytest.fixture
def process_of_its_own():
    """Somebody's solver runs in a process of its own, as ever."""


@pytest.fixture
def signals_as_usual():
    """A shell has what it runs in the background ignore SIGINT, nohup SIGHUP, and so would what we start."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def solvers(tmp_path_factory) -> dict[str, Path]:
    """Both solvers, as their Makefile makes them; one with its kernel rows, some that are spoilt."""
    return built_solvers(tmp_path_factory.mktemp("examples"))


@pytest.fixture(scope="session")
def printing(tmp_path_factory) -> Path:
    """The program that prints its result."""
    return built(tmp_path_factory.mktemp("printing"))


@pytest.fixture(scope="session")
def report(tmp_path_factory) -> Path:
    """Report of a campaign on a defective solver; its tests run on one worker."""
    from planted_report import planted_report

    return planted_report(tmp_path_factory.mktemp("planted"))
