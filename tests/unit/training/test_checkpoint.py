"""A checkpoint comes back to the last bit; one that is not as it was written is refused, and named."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import zipfile
from contextlib import nullcontext

import numpy as np
import pytest
from broken_headers import HEADERS, with_header

from sstep_verify.errors import InputError
from sstep_verify.problems import Hinge, LinearKernel, Problem, Ridge, SquaredHinge
from sstep_verify.solver.settings import EXCHANGES, Settings
from sstep_verify.solver.training.checkpoint import (
    FORMAT,
    OPTIONS,
    UNSAID,
    Checkpoint,
    _digest,
    iterations_of,
    read_checkpoint,
    refuse_impossible,
    refuse_other_run,
    write_arrays,
    write_checkpoint,
)
from sstep_verify.solver.training.decisions import (
    CAP,
    INTERVALS,
    LENGTHENING,
    MACHINE,
    SINCE,
    TOLERANCE,
    identity_of,
)
from sstep_verify.solver.training.intervals import Place
from sstep_verify.solver.training.monitor import Measured, Values
from sstep_verify.solver.training.schedule import Segment

HISTORY = (
    Measured(0, Values(2.0, 2.0, 0.0, np.nan, np.inf)),
    Measured(40, Values(1.5, 2.0, 0.5, np.nan, 3.0)),
)
SEQUENCE = (Segment(32, 8, "gram"), Segment(38, 2, "allreduce"), Segment(40, 4, "allreduce"))
PLACE = Place(40, np.array([0.1, -0.0, 5e-324]), HISTORY, SEQUENCE)
KEPT = Checkpoint(PLACE, {"s": 4, "kernel": "x"}, "ab" * 32)


def parts() -> dict:
    """What is in the file of `KEPT`."""
    return {
        "format": FORMAT,
        "alpha": KEPT.place.alpha,
        "iterations": np.array([0, 40]),
        "values": np.array([tuple(found.values) for found in HISTORY]),
        "sequence": np.array([[32, 8, 2], [38, 2, 0], [40, 4, 0]]),
        "options": '{"s": 4, "kernel": "x"}',
        "data": KEPT.data,
    }


def test_it_comes_back_to_the_last_bit(tmp_path):
    path = tmp_path / "r.npz.checkpoint"
    for _ in range(2):
        write_checkpoint(path, KEPT)
    found = read_checkpoint(path)
    assert found.place.alpha.tobytes() == KEPT.place.alpha.tobytes()
    assert found.place.iteration == 40
    assert str(found.place.history) == str(HISTORY)  # As text, in which NaN equals NaN.
    assert found.place.sequence == SEQUENCE
    assert (found.options, found.data) == (KEPT.options, KEPT.data)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_one_cut_short_or_damaged_is_refused(tmp_path):
    path = tmp_path / "checkpoint"
    write_checkpoint(path, KEPT)
    whole = path.read_bytes()
    for length in range(0, len(whole), 31):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"checkpoint: is not a whole checkpoint .* without --resume"):
            read_checkpoint(path)
    damaged = bytearray(whole)
    damaged[whole.index(KEPT.place.alpha.tobytes())] ^= 1
    path.write_bytes(bytes(damaged))
    with pytest.raises(InputError, match="is not a whole checkpoint"):
        read_checkpoint(path)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"format": "sstep-verify solve checkpoint 1"}, "its format is"),
        ({"format": np.array([1.0])}, "format is not a text"),
        ({"alpha": np.array([0.1, 0.2, np.array(0.3)], dtype=object)}, "it holds|pickle"),
        ({"sequence": np.array([[40, 4]])}, "no sequence of s"),
        ({"sequence": np.array([[40.0, 4.0, 0.0]])}, "no sequence of s"),
        ({"sequence": np.array([[32, 8, 0], [32, 4, 0], [40, 1, 0]])}, "do not rise"),
        ({"sequence": np.array([[40, 0, 0]])}, "an s below 1"),
        ({"sequence": np.array([[40, 4, len(EXCHANGES)]])}, "unknown exchange"),
        ({"sequence": np.array([[36, 4, 0]])}, "its sequence ends at 36, not at 40"),
        ({"iterations": np.array([[0, 40]])}, "iterations are not a list"),
        ({"iterations": np.array([0.0, 40.0])}, "iterations are not a list"),
        ({"iterations": np.array([0, 40, 80])}, "its values are"),
        ({"iterations": np.array([40, 40])}, "iterations do not rise"),
        ({"iterations": np.array([-40, 40])}, "iterations do not rise"),
        ({"iterations": np.zeros(0, int), "values": np.zeros((0, 5))}, "iterations do not rise"),
        ({"values": np.zeros(5)}, "its values are"),
        ({"values": np.array([["a"] * 5] * 2)}, "not float64"),
        ({"options": "[]"}, "options are not an object"),
        ({"options": "[" * 100_000}, "is not a whole checkpoint"),
        ({"options": "{"}, "is not a whole checkpoint"),
        ({"more": "x"}, "it holds"),
    ],
)  # fmt: skip
def test_other_forms_are_refused_even_with_their_digest_made_again(tmp_path, changed, words):
    path = tmp_path / "checkpoint"
    made = parts() | changed
    digest = _digest({name: value for name, value in made.items() if name != "more"})
    with open(path, "wb") as file:
        np.savez(file, **made, sha256=digest)
    with pytest.raises(InputError, match=words) as caught:
        read_checkpoint(path)
    assert "\n" not in str(caught.value)


def test_changed_content_and_files_of_others_are_refused(tmp_path):
    path = tmp_path / "checkpoint"
    stated = _digest(parts())
    writers = [
        lambda: write_arrays(path, **(parts() | {"values": np.zeros((2, 5))}), sha256=stated),
        lambda: write_arrays(path, **(parts() | {"alpha": KEPT.place.alpha + 1}), sha256=stated),
        lambda: np.savez_compressed(path.open("wb"), **parts(), sha256=stated),
        lambda: np.save(path.open("wb"), KEPT.place.alpha),
        lambda: write_arrays(path, alpha=np.zeros(3)),
        lambda: np.savez(path.open("wb")),
        lambda: path.write_text("hello", encoding="ascii"),
        lambda: path.write_bytes(b""),
    ]
    for write in writers:
        write()
        with pytest.raises(InputError, match="is not a whole checkpoint"):
            read_checkpoint(path)
    with pytest.raises(InputError, match="is not a whole checkpoint"):
        read_checkpoint(tmp_path)


def test_an_array_that_claims_more_than_the_file_holds_is_refused(tmp_path):
    path = tmp_path / "checkpoint"
    write_checkpoint(path, KEPT)
    whole = path.read_bytes()
    assert whole.count(b"'shape': (3,), }") == 1
    path.write_bytes(whole.replace(b"'shape': (3,), }" + b" " * 12, b"'shape': (1099511627776,), }"))
    assert os.path.getsize(path) == len(whole)
    with pytest.raises(InputError, match="is not a whole checkpoint"):
        read_checkpoint(path)


@pytest.mark.parametrize("kind", HEADERS)
def test_an_array_whose_header_is_damaged_is_refused(tmp_path, kind):
    path = tmp_path / "checkpoint"
    with zipfile.ZipFile(path, "w") as archive:
        for name in (*parts(), "sha256"):
            archive.writestr(f"{name}.npy", with_header(HEADERS[kind]))
    with pytest.raises(InputError, match="is not a whole checkpoint"):
        read_checkpoint(path)


def test_another_run_is_refused_with_both_values(tmp_path):
    refuse_other_run(tmp_path, KEPT, dict(KEPT.options), KEPT.data)
    with pytest.raises(
        InputError, match=r"made with --s = 4, but this run has --s = 8; give the --s of that run"
    ):
        refuse_other_run(tmp_path, KEPT, {"s": 8, "kernel": "x"}, KEPT.data)
    with pytest.raises(
        InputError, match="kernel = x, but this run has kernel = not set; give --kernel of that"
    ):
        refuse_other_run(tmp_path, KEPT, {"s": 4}, KEPT.data)
    lengthening = dataclasses.replace(KEPT, options={**KEPT.options, "interval": 8, INTERVALS: LENGTHENING})
    for given in (8, 12):  # No --interval makes intervals that lengthen.
        with pytest.raises(InputError, match="leave out --interval, or another --out"):
            refuse_other_run(tmp_path, lengthening, {**KEPT.options, "interval": given}, KEPT.data)
    with pytest.raises(InputError, match="digest abababababababab, but this run's have cdcdcdcdcdcdcdcd"):
        refuse_other_run(tmp_path, KEPT, dict(KEPT.options), "cd" * 32)


IDENTITY = {
    **identity_of(
        Settings(loss=Ridge(1.0), block=2, s="auto", largest_s=8, stream="epochs", bias=0.5), 3, "here"
    ),
    TOLERANCE: 1e-6, SINCE: 0, CAP: 500,
}  # fmt: skip


@pytest.mark.parametrize("name", IDENTITY)
def test_any_other_option_that_decides_bits_makes_another_run(tmp_path, name):
    kept = dataclasses.replace(KEPT, options=IDENTITY)
    refuse_other_run(tmp_path, kept, IDENTITY, KEPT.data)
    word = f"--{name}" if name in OPTIONS else name
    told = f"made with {word} = {IDENTITY[name]}, but this run has {word} = "
    for options in ({**IDENTITY, name: "other"}, {key: IDENTITY[key] for key in IDENTITY if key != name}):
        decides = name not in (MACHINE, TOLERANCE, SINCE, CAP)
        with pytest.raises(InputError, match=re.escape(told)) if decides else nullcontext():
            refuse_other_run(tmp_path, kept, options, KEPT.data)


@pytest.mark.parametrize("name", ["stream", "bias"])
def test_an_option_that_an_identity_does_not_name_is_reported_as_the_default_that_it_is(tmp_path, name):
    kept = dataclasses.replace(KEPT, options={key: IDENTITY[key] for key in IDENTITY if key != name})
    with pytest.raises(InputError) as refused:
        refuse_other_run(tmp_path, kept, IDENTITY, KEPT.data)
    assert f"made with --{name} = {UNSAID[name]}, but" in str(refused.value)
    assert f"leave out --{name}, or another --out" in str(refused.value)


def test_only_a_result_of_the_same_run_counts_its_iterations(tmp_path):
    path = tmp_path / "r.npz"
    assert iterations_of(path, IDENTITY, "data") == 0
    write_arrays(path, options=json.dumps(IDENTITY), data_digest="data", iterations=7)
    assert iterations_of(path, {**IDENTITY, TOLERANCE: 1.0, CAP: 9, MACHINE: "there"}, "data") == 7
    assert iterations_of(path, {**IDENTITY, "seed": 9}, "data") == 0
    assert iterations_of(path, IDENTITY, "other data") == 0
    path.write_text("no archive")
    assert iterations_of(path, IDENTITY, "data") == 0


@pytest.mark.parametrize(
    ("loss", "alpha", "words"),
    [
        (Hinge(1.0), [0.0, np.nan, 1.0], "not finite at entry 1"),
        (Ridge(1.0), [0.0, np.inf, 1.0], "not finite at entry 1"),
        (Hinge(1.0), [0.0, 1.0], r"of shape \(2,\), not 3 entries"),
        (Hinge(1.0), [[0.0], [0.0], [1.0]], r"of shape \(3, 1\), not 3 entries"),
        (Ridge(1.0), ["a", "b", "c"], "not 3 entries of float64"),
        (Ridge(1.0), np.zeros(3, np.float32), "float32 of shape"),
        (Hinge(1.0), [0.0, 1.0, 1.0 + 2**-52], "1.0000000000000002 at entry 2, outside the box 0..1"),
        (SquaredHinge(1.0), [0.0, -5e-324, 1e300], "-5e-324 at entry 1, outside the box 0..inf"),
    ],
)
def test_a_vector_that_no_run_can_have_reached_is_refused(tmp_path, loss, alpha, words):
    problem = Problem("p", np.eye(3), np.array([1.0, -1.0, 1.0]), LinearKernel(), loss)
    found = dataclasses.replace(KEPT, place=Place(40, np.array(alpha), HISTORY))
    with pytest.raises(InputError, match=words):
        refuse_impossible(tmp_path, found, problem)
    refuse_impossible(tmp_path, KEPT, problem)
