"""The timer behind the limits of tests."""

from __future__ import annotations

import threading
import time

from one_timer import OneTimer


def test_a_limit_that_is_over_is_called_once():
    called, timer = threading.Event(), OneTimer(pause=0.01)
    found = []

    def end(*values):
        found.append(values)
        called.set()

    timer.set(0.02, end, "item", 7)
    assert called.wait(10)
    time.sleep(0.05)
    assert found == [("item", 7)]


def test_only_the_limit_that_was_set_last_counts_and_none_after_it_is_cancelled():
    called, timer = threading.Event(), OneTimer(pause=0.01)
    found: list[str] = []
    timer.set(0.02, lambda: found.append("first"))
    timer.set(0.02, lambda: found.append("cancelled"))
    timer.cancel()
    time.sleep(0.1)
    assert found == []
    timer.set(0.02, called.set)
    assert called.wait(10)
