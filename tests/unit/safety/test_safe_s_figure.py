"""The figure of safe-s: each of its curves goes through its own numbers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from report.drawn import height_scale, read

from sstep_verify.report.chart import page_colour
from sstep_verify.safety.report import figure

NAMES = ("bound", "classical", "attainable", "measured")


@pytest.mark.parametrize("seed", range(4))
def test_every_curve_shows_its_own_numbers(seed):
    drawn = np.random.Generator(np.random.PCG64(seed))
    points = [
        SimpleNamespace(s=s, **dict(zip(NAMES, 10.0 ** drawn.uniform(-14, -6, 4), strict=True)))
        for s in (1, 4, 32, 256)
    ]
    curve = SimpleNamespace(precision="float64", largest=32, points=points)
    shown = read(figure(SimpleNamespace(problem="p", most=256), curve).partition("\n")[2])
    height = height_scale(shown)
    for place, name in enumerate(NAMES):
        *marks, _ = shown.marks[page_colour(place)]  # The last one is the legend's.
        values = [getattr(point, name) for point in points]
        assert np.log10([height(y) for _, y in marks]) == pytest.approx(np.log10(values), abs=0.05)
