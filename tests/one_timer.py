"""A timer that many tests use one after the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class _Limit:
    ends: float
    call: Callable[..., Any]
    values: tuple[Any, ...]


class OneTimer:
    """Calls a function when a limit of time is over, unless another was set or it was cancelled.

    One thread serves all limits. It looks once every `pause` seconds, so that a call is late by as much at most.
    """

    def __init__(self, pause: float = 1.0) -> None:
        self._pause, self._limit, self._thread = pause, None, None

    def set(self, seconds: float, call: Callable[..., Any], *values: Any) -> None:
        """Begin to wait, in the place of what was waited for."""
        self._limit = _Limit(time.monotonic() + seconds, call, values)
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="limits of tests", daemon=True)
            self._thread.start()

    def cancel(self) -> None:
        """Wait for nothing."""
        self._limit = None

    def _watch(self) -> None:
        while True:
            time.sleep(self._pause)
            limit = self._limit
            if limit is not None and time.monotonic() >= limit.ends:
                self._limit = None
                limit.call(*limit.values)
