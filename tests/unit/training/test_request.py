"""A request is checked once, before anything is read: a limit is stated with its reason."""

from __future__ import annotations

import pytest

from sstep_verify.errors import InputError
from sstep_verify.problems import Hinge, LinearKernel, RBFKernel, Ridge, SquaredHinge
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training.files import output_files


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"s": 0}, "s = 0, but it must lie between 1 and"),
        ({"s": 2**63}, "s = 9223372036854775808, but it must lie between 1 and 2.53"),
        ({"s": 2**70}, "s = 1180591620717411303424"),
        ({"iterations": 2**64}, "iterations = 18446744073709551616"),
        ({"iterations": -1}, "iterations = -1"),
        ({"interval": 2**63}, "interval ="),
        ({"cache": 2**63}, "cache ="),
        ({"seed": 2**128}, "seed ="),
        ({"block": 2**63, "loss": Ridge(1.0)}, "block ="),
        ({"block": 2}, "block = 2: a K-SVM steps one coordinate at a time"),
        ({"tolerance": -1.0}, "tolerance = -1.0"),
        ({"tolerance": float("nan")}, "tolerance = nan"),
        ({"exchange": "ring"}, "'ring' is unknown"),
        ({"stream": "cyclic"}, "'cyclic' is unknown; known: uniform, epochs"),
        ({"kernel": RBFKernel(1.0), "bias": 1.0}, "bias = 1 with the rbf kernel"),
        ({"loss": SquaredHinge(5e-324)}, "C = 4.94066e-324, but it must lie between 1e-292 and"),
        ({"loss": Hinge(1e-308)}, "C = 1e-308"),
        ({"loss": Hinge(1e300)}, "C = 1e.300"),
        ({"loss": Ridge(1e-320)}, "lambda = 9.99989e-321"),
        ({"test": "more"}, "--test and --predictions go together"),
        ({"predictions": "p"}, "--test and --predictions go together"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(changed, words):
    with pytest.raises(InputError, match=words) as caught:
        Settings(**{"data": "d", "out": "r", "kernel": LinearKernel(), "loss": Hinge(1.0), **changed})
    assert "\n" not in str(caught.value)


def test_all_files_that_are_written_are_named():
    files = output_files(Settings(data="d", out="r.npz", test="t", predictions="p", force=True))
    assert [str(output.path) for output in files] == ["r.npz.checkpoint", "r.npz", "p"]
    assert all(output.replace for output in files)
    assert [output.option for output in output_files(Settings(data="d", loss=Ridge(1.0)))] == ["--out"]
