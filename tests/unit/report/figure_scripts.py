"""Scripts of docs/figures as modules."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

FIGURES = Path(__file__).parents[3] / "docs" / "figures"

in_a_clone = pytest.mark.skipif(not FIGURES.is_dir(), reason="docs/ is absent: this is no clone")


def loaded(name: str) -> ModuleType:
    """A script, which imports others from its own folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FIGURES)
        for own in (path.stem for path in FIGURES.glob("*.py")):
            patch.delitem(sys.modules, own, raising=False)
        return importlib.import_module(name)
