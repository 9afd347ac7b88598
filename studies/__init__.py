"""What the checks catch, and what is predicted: studies of a clone, which no installed package has."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")

ROOT = Path(__file__).parents[1]
"""The clone."""


def search_path(*first: Path) -> str:
    """PYTHONPATH of a process that runs a study, with folders that come before all others."""
    return os.pathsep.join(filter(None, [*map(str, first), os.environ.get("PYTHONPATH", ""), str(ROOT)]))


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Items by key, both in the order in which they are first met."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
