"""What the checks catch, and what is predicted: studies of a clone, which no installed package has."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The clone."""


def search_path(*first: Path) -> str:
    """PYTHONPATH of a process that runs a study, with folders that come before all others."""
    return os.pathsep.join(filter(None, [*map(str, first), os.environ.get("PYTHONPATH", ""), str(ROOT)]))
