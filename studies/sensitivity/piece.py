"""What one process works on at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Piece:
    """What one process works on at a time: items by name, rough cost in seconds."""

    items: Mapping[str, Any]
    cost: float = 1.0
