"""``solve --bias``: samples that a plane through the origin cannot part are parted, on one rank or two."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from solve_here import arrays, done, refused
from solve_runs import solve

from sstep_verify.ranks.environment import promised_size

pytestmark = pytest.mark.skipif(promised_size() > 1, reason="starts jobs of its own")

OPTIONS = (
    *("--task", "svm-l1", "--C", "10", "--tolerance", "1e-4", "--force"),
    *("--test", "more", "--predictions", "p"),
)


@pytest.fixture(autouse=True)
def shifted(tmp_path, monkeypatch):
    """Two classes on either side of a plane that is 1 away from the origin, with a gap of 0.6."""
    generator = np.random.default_rng(1)
    for name in ("points", "more"):
        rows = generator.uniform(0.3, 1, (60, 2)) * generator.choice([-1, 1], (60, 2))
        lines = [f"{int(np.sign(row[0])):+d} 1:{row[0] + 1:.4f} 2:{row[1]:.4f}" for row in rows]
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="ascii")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _accuracy(said: str) -> float:
    return float(re.search(r"accuracy ([\d.]+)%", said)[1])


def test_an_intercept_is_found_and_the_checkpoint_is_of_this_bias():
    without = done("solve", "points", *OPTIONS, "--out", "r.npz")
    assert "constant feature" not in without
    said = done("solve", "points", *OPTIONS, "--out", "r.npz", "--bias", "1")
    assert "3 features" in said
    assert "a constant feature, 1, stands last in the data" in said
    assert _accuracy(without) < 80
    assert _accuracy(said) > 95
    assert json.loads(str(arrays("r.npz")["options"]))["bias"] == "1"
    message = refused("solve", "points", *OPTIONS, "--out", "r.npz", "--bias", "2", "--resume")
    assert "was made with --bias = 1, but this run has --bias = 2" in message


@pytest.mark.nightly
def test_two_ranks_say_the_same(shifted):
    options = ("points", *OPTIONS, "--out", "r.npz", "--bias", "1", "--exchange", "gram")
    assert _accuracy(done("solve", *options)) > 95
    alone = np.loadtxt("p")[:, 0]
    both = solve(shifted, *options, ranks=2)
    assert both.returncode == 0, both.stderr
    assert _accuracy(both.stdout) > 95
    np.testing.assert_array_equal(np.loadtxt("p")[:, 0], alone)


def test_the_rbf_kernel_is_refused():
    message = refused("solve", "points", *OPTIONS, "--out", "r.npz", "--kernel", "rbf", "--bias", "1")
    assert "bias = 1 with the rbf kernel" in message
