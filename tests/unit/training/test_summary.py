"""What a summary says of a cold cache."""

from __future__ import annotations

from sstep_verify import compiled as inner
from sstep_verify.solver.training import pipeline


def test_compiling_is_timed_and_told_once(monkeypatch):
    space: dict = {}
    # Without a file there is no cache to take it from.
    exec("def double(x):\n    return 2 * x\n", space)
    before = inner.compile_seconds()
    assert inner.compiled(space["double"])(2.0) == 4.0
    assert inner.compile_seconds() > before
    monkeypatch.setattr(pipeline, "compile_seconds", lambda: 4.26)
    (line,) = pipeline._compiling()
    assert line.startswith("4.3 s of this run went into compiling inner loops")
    monkeypatch.setattr(pipeline, "compile_seconds", lambda: 0.0)
    assert not list(pipeline._compiling())
