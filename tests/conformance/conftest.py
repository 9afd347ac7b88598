"""What several conformance tests build once."""

from __future__ import annotations

from pathlib import Path

import pytest
from c_examples import built_solvers


@pytest.fixture(scope="session")
def solvers(tmp_path_factory) -> dict[str, Path]:
    """Both solvers, as their Makefile makes them; one with probes, some that are spoilt."""
    return built_solvers(tmp_path_factory.mktemp("examples"))


@pytest.fixture(scope="session")
def report(tmp_path_factory) -> Path:
    """Report of a campaign on a defective solver; its tests run on one worker."""
    from planted_report import planted_report

    return planted_report(tmp_path_factory.mktemp("planted"))
