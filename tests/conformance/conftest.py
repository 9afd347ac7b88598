"""What several conformance tests build once."""

from __future__ import annotations

from pathlib import Path

import pytest
from c_examples import built_solvers


@pytest.fixture(scope="session")
def solvers(tmp_path_factory) -> dict[str, Path]:
    """Both solvers, as their Makefile makes them; one with probes, some that are spoilt."""
    return built_solvers(tmp_path_factory.mktemp("examples"))
