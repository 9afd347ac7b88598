"""``solve --bias``: samples that a plane through the origin cannot part are parted, on one rank or two."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from test_solve_command import solve

from sstep_verify.launch.environment import promised_size

pytestmark = pytest.mark.skipif(promised_size() > 1, reason="starts jobs of its own")

OPTIONS = (
    *("--task", "svm-l1", "--C", "10", "--tolerance", "1e-4", "--force"),
    *("--test", "more", "--predictions", "p"),
)


@pytest.fixture
def shifted(tmp_path):
    """Two classes on either side of a plane that is 1 away from the origin, with a gap of 0.6."""
    generator = np.random.default_rng(1)
    for name in ("points", "more"):
        rows = generator.uniform(0.3, 1, (60, 2)) * generator.choice([-1, 1], (60, 2))
        lines = [f"{int(np.sign(row[0])):+d} 1:{row[0] + 1:.4f} 2:{row[1]:.4f}" for row in rows]
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="ascii")
    return tmp_path


def _accuracy(done) -> float:
    assert done.returncode == 0, done.stderr
    return float(re.search(r"accuracy ([\d.]+)%", done.stdout)[1])


def test_an_intercept_is_found_and_the_checkpoint_is_of_this_bias(shifted):
    without = solve(shifted, "points", *OPTIONS, "--out", "r.npz")
    assert "constant feature" not in without.stdout
    done = solve(shifted, "points", *OPTIONS, "--out", "r.npz", "--bias", "1")
    assert "3 features" in done.stdout
    assert "a constant feature, 1, stands last in the data" in done.stdout
    assert _accuracy(without) < 80
    assert _accuracy(done) > 95
    with np.load(shifted / "r.npz", allow_pickle=False) as found:
        assert json.loads(str(found["options"]))["bias"] == "1"
    refused = solve(shifted, "points", *OPTIONS, "--out", "r.npz", "--bias", "2", "--resume")
    assert refused.returncode == 2
    assert "was made with bias = 1, but this run has bias = 2" in refused.stderr


def test_two_ranks_say_the_same(shifted):
    options = (*OPTIONS, "--out", "r.npz", "--bias", "1", "--exchange", "gram")
    values = []
    for ranks in (0, 2):
        assert _accuracy(solve(shifted, "points", *options, ranks=ranks)) > 95
        values.append(np.loadtxt(shifted / "p")[:, 0])
    np.testing.assert_array_equal(*values)


def test_the_rbf_kernel_is_refused(shifted):
    refused = solve(shifted, "points", *OPTIONS, "--out", "r.npz", "--kernel", "rbf", "--bias", "1")
    assert refused.returncode == 2
    assert "bias = 1 with the rbf kernel" in refused.stderr
