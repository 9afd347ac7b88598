"""Shared by tests of vectors that are refused: some that are right, and a copy to be changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sstep_verify.vectors.layout import write_vectors


@pytest.fixture(scope="module")
def pristine(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("vectors") / "pristine"
    write_vectors(folder, 6)
    return folder


@pytest.fixture
def vectors(pristine, tmp_path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "vectors"))
