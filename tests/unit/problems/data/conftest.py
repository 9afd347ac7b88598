"""Shared by all tests of data sets: nothing from outside, and a registry of one small set."""

import pytest
from toy_set import LABELS, VALUES, register

from sstep_verify.problems.data import datasets, registry
from sstep_verify.problems.data.registry import Pinned, values_digest


@pytest.fixture(autouse=True)
def no_outside(monkeypatch, tmp_path):
    """No variable of the caller, no cache of the caller, no network but the loop-back address."""
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv(datasets.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(registry, "SITE", "http://127.0.0.1:9/")  # discard port: nothing answers
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def toy(monkeypatch) -> Pinned:
    """A small registered data set; the registry holds nothing else."""
    entry = Pinned(
        name="toy",
        task="classification",
        samples=3,
        features=3,
        nonzeros=7,
        digest=values_digest(VALUES, LABELS),
        page="binary/toy.bz2",
        classes=(2, 1),
        sha256={},
    )
    return register(monkeypatch, entry)
