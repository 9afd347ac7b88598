"""What a summary says of a cold cache."""

from __future__ import annotations

import itertools

from sstep_verify import compiled as inner
from sstep_verify.solver.training import pipeline


def test_compiling_counts_processor_time_once_however_deep(monkeypatch):
    # The clock of the processor goes on by 1 s at each look; a loop is compiled for the one that calls it.
    clock = itertools.count()
    monkeypatch.setattr(inner.time, "process_time", lambda: float(next(clock)))
    listener = inner._Compiling()
    for call in (listener.on_start, listener.on_start, listener.on_end, listener.on_end):
        call(None)
    assert listener.seconds == 1.0


def test_compiling_is_timed_and_reported_once(monkeypatch):
    space: dict = {}
    # Without a file there is no cache to take it from.
    exec("def double(x):\n    return 2 * x\n", space)
    before = inner.compile_seconds()
    assert inner.compiled(space["double"])(2.0) == 4.0
    assert inner.compile_seconds() > before
    monkeypatch.setattr(pipeline, "compile_seconds", lambda: 4.26)
    (line,) = pipeline._compiling()
    assert "4.3 s of processor time on rank 0" in line
    monkeypatch.setattr(pipeline, "compile_seconds", lambda: 0.0)
    assert not list(pipeline._compiling())
