"""Checkpoints, and what training decides by itself."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstep_verify.errors import InputError
from sstep_verify.parallel.communicator import SelfCommunicator
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, RBFKernel, Ridge
from sstep_verify.solvers.production.checkpoint import (
    Checkpoint,
    read_checkpoint,
    refuse_other_run,
    write_arrays,
    write_checkpoint,
    write_whole,
)
from sstep_verify.solvers.production.monitor import LEAST_INTERVAL, SHARE, default_interval
from sstep_verify.solvers.production.options import Options
from sstep_verify.solvers.production.prediction import as_text, score
from sstep_verify.solvers.production.training import Plan, train
from sstep_verify.solvers.production.training_options import Settings, decide

KEPT = Checkpoint(
    np.array([0.1, -0.0, 5e-324]), 40, (1.5, 2.0, 0.5, np.nan, 3.0), {"s": 4, "kernel": "x"}, "ab" * 32
)


def test_a_checkpoint_comes_back_to_the_last_bit(tmp_path):
    path = tmp_path / "r.npz.checkpoint"
    for _ in range(2):
        write_checkpoint(path, KEPT)
    found = read_checkpoint(path)
    assert found.alpha.tobytes() == KEPT.alpha.tobytes()
    assert np.array(found.values).tobytes() == np.array(KEPT.values).tobytes()
    for name in ("iteration", "options", "data"):
        assert getattr(found, name) == getattr(KEPT, name)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_truncated_checkpoint_is_refused(tmp_path):
    path = tmp_path / "checkpoint"
    write_checkpoint(path, KEPT)
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"checkpoint: is no whole checkpoint .* without --resume"):
            read_checkpoint(path)


def test_a_damaged_checkpoint_is_refused(tmp_path):
    path = tmp_path / "checkpoint"
    write_checkpoint(path, KEPT)
    whole = bytearray(path.read_bytes())
    place = whole.index(KEPT.alpha.tobytes())
    whole[place] ^= 1
    path.write_bytes(bytes(whole))
    with pytest.raises(InputError, match="is no whole checkpoint"):
        read_checkpoint(path)


def test_files_of_others_are_refused(tmp_path):
    path = tmp_path / "other"
    objects = {"format": np.array([{"a": 1}], dtype=object)}
    for write in (
        lambda: path.write_text("hello", encoding="ascii"),
        lambda: write_arrays(path, alpha=np.zeros(3)),
        lambda: write_arrays(path, format="another", alpha=np.zeros(3)),
        lambda: path.open("wb").close(),
        lambda: np.savez(path.open("wb"), **objects),
    ):
        write()
        with pytest.raises(InputError, match="is no whole checkpoint"):
            read_checkpoint(path)
    with pytest.raises(InputError, match="is no whole checkpoint"):
        read_checkpoint(tmp_path)


def test_another_run_is_refused_with_both_values(tmp_path):
    refuse_other_run(tmp_path, KEPT, dict(KEPT.options), KEPT.data)
    with pytest.raises(InputError, match=r"made with s = 4, but this run has s = 8; resume with 4"):
        refuse_other_run(tmp_path, KEPT, {"s": 8, "kernel": "x"}, KEPT.data)
    with pytest.raises(InputError, match="kernel = x, but this run has kernel = not set"):
        refuse_other_run(tmp_path, KEPT, {"s": 4}, KEPT.data)
    with pytest.raises(InputError, match="digest abababababababab, but this run's have cdcdcdcdcdcdcdcd"):
        refuse_other_run(tmp_path, KEPT, dict(KEPT.options), "cd" * 32)


def test_a_file_that_cannot_be_written_leaves_what_was_there(tmp_path):
    path = tmp_path / "result"
    path.write_bytes(b"before")

    def full(handle):
        handle.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match=r"result cannot be written: No space left on device; name"):
        write_whole(path, full)
    assert path.read_bytes() == b"before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["result"]
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        write_checkpoint(tmp_path / "nowhere" / "result", KEPT)


@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 64), st.booleans())
def test_an_interval_forms_enough_rows_to_hide_its_measurement(samples, block, s, light):
    block = min(block, samples)
    interval = default_interval(samples, block, s, light)
    assert interval % s == 0
    assert interval >= LEAST_INTERVAL
    # A window of s blocks has at most s b draws: enough rows need at least as many iterations.
    assert interval * block >= (1 if light else SHARE) * samples


def settings_of(**changed) -> Settings:
    return dataclasses.replace(Settings(RBFKernel(0.5), Hinge(1.0), iterations=5000), **changed)


def test_exchange_and_cache_are_decided_and_explained():
    kept = decide(settings_of(), 100, 2)
    assert kept.options.keep_gram
    assert "all 100 kernel rows fit" in kept.reason
    assert kept.identity["cache"] == "all kernel rows"
    none = decide(settings_of(cache=0), 100, 2)
    assert not none.options.keep_gram
    some = decide(settings_of(cache=3000, exchange="allreduce"), 100, 2)
    assert (some.options.cache, some.options.keep_gram, some.reason) == (3000, False, "asked for")
    assert decide(settings_of(kernel=LinearKernel()), 100, 2).options.exchange == "gram"
    with pytest.raises(InputError, match="leaves no rank with whole kernel rows"):
        decide(settings_of(cache=3000, exchange="reduce-scatter"), 100, 2)
    assert all(one.options.columns == "local" for one in (kept, none, some))


def test_all_that_decides_the_bits_is_part_of_the_identity():
    base = settings_of(exchange="allreduce")
    others = [
        settings_of(exchange="allreduce", **changed)
        for changed in (
            {"kernel": RBFKernel(np.nextafter(0.5, 1))},
            {"loss": Hinge(2.0)},
            {"s": 8},
            {"seed": 1},
            {"interval": 1600},
            {"cache": 3000},
            {"separate_timers": True},
            {"loss": Ridge(1.0), "block": 2},
        )
    ]
    others.append(settings_of(exchange="reduce-scatter"))
    found = [decide(one, 100, 2).identity for one in (base, *others)] + [decide(base, 100, 3).identity]
    for one, other in itertools.combinations(found, 2):
        assert one != other
    assert (
        decide(settings_of(exchange="allreduce", iterations=7, tolerance=0.5), 100, 2).identity == found[0]
    )


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"s": 0}, "s = 0, but it must be >= 1"),
        ({"interval": 24, "s": 16}, "interval = 24 is no multiple of s = 16.*use 32"),
        ({"tolerance": -1.0}, "tolerance = -1.0"),
        ({"tolerance": float("nan")}, "tolerance = nan"),
        ({"block": 101}, "b = 101"),
        ({"exchange": "ring"}, "'ring' is unknown"),
    ],
)
def test_unusable_settings_are_refused(changed, words):
    with pytest.raises(InputError, match=words):
        decide(settings_of(**changed), 100, 2)


def test_a_dual_vector_that_overflows_ends_training_with_a_message():
    data = np.array([[1e200, 0.0], [1e200, 1.0], [1.0, 2.0]])
    problem = Problem("huge", data, np.array([1.0, -1.0, 1.0]), LinearKernel(), Hinge(1.0))
    stream, plan = IndexStream("cyclic", 3, 1, 9), Plan(1, 9, 3, 0.0)
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(InputError, match=r"huge / linear / svm-l1 C=1: at iteration \d .* overflow"),
    ):
        train(problem, stream, plan, Options(columns="local"), SelfCommunicator())


def test_predictions_as_text_and_their_score():
    labels, data = np.array([1.0, -1.0]), np.eye(2)
    svm = Problem("p", data, labels, LinearKernel(), Hinge(1.0))
    ridge = Problem("p", data, labels, LinearKernel(), Ridge(1.0))
    values = np.array([0.1, -3.0, 0.0])
    assert as_text(svm, values) == b"+1 0.1\n-1 -3.0\n-1 0.0\n"
    assert as_text(ridge, values) == b"0.1\n-3.0\n0.0\n"
    assert as_text(svm, values, (2.0, 7.0)) == b"7 0.1\n2 -3.0\n2 0.0\n"
    assert score(svm, values, np.array([7.0, 7.0, 2.0]), (2.0, 7.0)) == "accuracy 66.67% (2 of 3)"
    assert score(svm, values, np.array([2.0, 2.0, 2.0]), (2.0, 7.0)) == "accuracy 66.67% (2 of 3)"
    told = score(svm, values, np.array([2.0, 3.0, 2.0]), (2.0, 7.0))
    assert told == "accuracy unknown: targets hold 3, the training set 2 and 7"
    assert score(svm, values, np.array([1.0, 1.0, 1.0])) == "accuracy 33.33% (1 of 3)"
    assert score(svm, values, np.array([1.0, 2.0, 3.0])).startswith("accuracy unknown")
    assert score(ridge, values, values + 2.0) == "root mean square error 2"
