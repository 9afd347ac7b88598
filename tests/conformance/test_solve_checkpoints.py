"""``solve --resume`` goes on to the same bits, and from nothing but its own whole checkpoint; in this process."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from command import command
from solve_here import BRIEF, LINEAR, arrays, contents, done, refused
from solve_runs import SAMPLES, with_points

from sstep_verify.errors import InputError
from sstep_verify.ranks.environment import promised_size
from sstep_verify.solver.training import checkpoint as files
from sstep_verify.solver.training import pipeline

pytestmark = pytest.mark.skipif(promised_size() > 1, reason="runs the command in its own process")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return with_points(tmp_path, "F", "G", labels=(-1, 1))


def test_history_is_whole_and_bits_are_the_same_after_interruptions(monkeypatch):
    words = (
        "solve", "F", "--task", "svm-l2", "--kernel", "rbf,sigma=0.5", "--iterations", "1760", "--interval",
        "160", "--tolerance", "0", "--checkpoint-seconds", "0",
    )  # fmt: skip
    done(*words, "--out", "whole.npz")
    write = files.write_checkpoint

    def interrupted(path, checkpoint):
        write(path, checkpoint)
        if checkpoint.place.iteration in (160, 480, 1760):
            raise KeyboardInterrupt

    def resumed_in_between(path, checkpoint):
        write(path, checkpoint)
        if checkpoint.place.iteration in (480, 1760):
            raise KeyboardInterrupt

    for raising in (interrupted, resumed_in_between):
        monkeypatch.setattr(pipeline, "write_checkpoint", raising)
        code, _, err = command(*words, "--out", "r.npz", "--resume")
        assert code == 130
        assert err.count("interrupted") == 1
    monkeypatch.setattr(pipeline, "write_checkpoint", write)
    Path(".r.npz.0123abcd.partial").write_bytes(b"half")
    Path(".r.npz.checkpoint.0123abcd.partial").write_bytes(b"half")
    Path(".r.npz.lock").write_text("process 1 on nowhere\n")
    code, _, err = command(*words, "--out", "r.npz", "--resume")
    assert code == 0, err
    whole, resumed = arrays("whole.npz"), arrays("r.npz")
    assert resumed["measured_iterations"].tolist() == list(range(0, 1761, 160))
    assert whole.keys() == resumed.keys()
    for name in whole:
        assert whole[name].tobytes() == resumed[name].tobytes(), name
    assert [name for name in os.listdir() if name.startswith(".")] == []


@pytest.mark.parametrize("failing", [{1}, {2, 3}, {1, 2, 3, 4, 5}])
def test_a_checkpoint_that_cannot_be_written_ends_no_training(monkeypatch, failing):
    tried, write = [], files.write_checkpoint

    def full(path, checkpoint):
        tried.append(checkpoint.place.iteration)
        if len(tried) in failing:
            raise InputError(f"{path}: cannot be written: No space left on device")
        write(path, checkpoint)

    monkeypatch.setattr(pipeline, "write_checkpoint", full)
    words = (*LINEAR, "--iterations", "640", "--interval", "160", "--tolerance", "0", "--out", "r.npz")
    code, out, err = command(*words, "--checkpoint-seconds", "0")
    assert code == 0, err
    assert "after 640 iterations" in out
    # What was not written at the end of the last interval is tried once more at the end of all.
    assert tried == [160, 320, 480, 640, 640][: 5 if 4 in failing else 4]
    for place, iteration in enumerate(tried, 1):
        assert (f"no checkpoint of iteration {iteration}: " in err) == (place in failing)
    assert Path("r.npz.checkpoint").exists() == (len(failing) < 5)


def test_checkpoints_are_written_by_seconds(monkeypatch):
    tried, write = [], files.write_checkpoint

    def noted(path, checkpoint):
        tried.append(checkpoint.place.iteration)
        write(path, checkpoint)

    monkeypatch.setattr(pipeline, "write_checkpoint", noted)
    words = (*LINEAR, "--iterations", "640", "--interval", "160", "--tolerance", "0", "--force")
    for seconds, written in (("0", [160, 320, 480, 640]), ("600", [160, 640])):
        tried.clear()
        done(*words, "--out", "r.npz", "--checkpoint-seconds", seconds)
        assert tried == written


def test_tolerance_0_is_never_reached():
    """Targets of 0 are met by a = 0, with a residual of 0 from the start."""
    Path("Z").write_text("0 1:1\n0 1:2 2:1\n0 2:1\n")
    words = ("solve", "Z", "--task", "krr", "--iterations", "7", "--interval", "4", "--s", "1", "--force")
    out = done(*words, "--tolerance", "0", "--out", "r.npz")
    assert "cap reached" in out
    assert "after 7 iterations" in out
    assert str(arrays("r.npz")["stopped"]) == "iterations"
    assert "tolerance reached" in done(*words, "--tolerance", "1e-3", "--out", "r.npz")


def test_a_tolerance_that_was_not_asked_for_before_is_looked_for_from_there():
    """Measurements far below it were no looks, which are three at most."""
    words = ("solve", "F", "--task", "krr", "--interval", "160", "--out", "r.npz")
    assert "cap reached" in done(*words, "--tolerance", "0", "--iterations", "1600")
    assert (arrays("r.npz")["measured_relative"] <= 1e-3).sum() > 3
    out = done(*words, "--tolerance", "1e-3", "--iterations", "3200", "--resume")
    assert "tolerance reached" in out
    assert "after 1600 iterations" in out
    assert float(arrays("r.npz")["relative"]) <= 1e-3


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"alpha": np.full(SAMPLES, np.nan)}, "not finite at entry 0"),
        ({"alpha": np.zeros(SAMPLES - 1)}, r"of shape (39,)"),
        ({"alpha": np.full(SAMPLES, "a")}, "not 40 entries of float64"),
        ({"alpha": np.full(SAMPLES, 2.0)}, "outside the box 0..1"),
        ({"values": np.zeros((3, 4))}, "is not a whole checkpoint"),
        ({"iterations": np.array([0, 160, 300])}, "not the end of an interval"),
        ({"iterations": np.array([0, 160, 480])}, "it is to end at 320"),
    ],
)
def test_a_checkpoint_that_was_changed_is_not_a_result(changed, words):
    done(*LINEAR, *BRIEF, "--out", "r.npz")
    parts = arrays("r.npz.checkpoint") | changed
    del parts["sha256"]
    texts = {name: str(parts[name]) for name in ("format", "options", "data")}
    files.write_arrays(Path("r.npz.checkpoint"), **parts, sha256=files._digest(parts | texts))
    assert words in refused(*LINEAR, *BRIEF, "--out", "r.npz", "--resume")


def test_values_of_a_checkpoint_are_measured_again():
    words = (*LINEAR, "--iterations", "320", "--interval", "160", "--tolerance", "1e-9", "--out", "r.npz")
    assert "cap reached" in done(*words)
    honest = arrays("r.npz")
    parts = arrays("r.npz.checkpoint")
    parts["values"][-1] = 0.0
    texts = {name: str(parts[name]) for name in ("format", "options", "data")}
    del parts["sha256"]
    files.write_arrays(Path("r.npz.checkpoint"), **parts, sha256=files._digest(parts | texts))
    assert "cap reached" in done(*words, "--resume")
    for name in ("gap", "relative", "alpha", "measured_relative"):
        assert arrays("r.npz")[name].tobytes() == honest[name].tobytes()


def test_an_interrupted_run_goes_on_to_the_iterations_that_were_asked_for_before(monkeypatch):
    """Which are more than the default, 100 passes over the samples."""
    words = ("solve", "F", "--task", "svm-l1", "--tolerance", "0", "--checkpoint-seconds", "0", "--out")
    write, iterations = files.write_checkpoint, 100 * SAMPLES + 3 * 160

    def interrupted(path, checkpoint):
        write(path, checkpoint)
        if checkpoint.place.iteration > 100 * SAMPLES:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "write_checkpoint", interrupted)
        begun = command(*words, "r.npz", "--iterations", str(iterations), "--interval", "160")
    assert begun[0] == 130
    assert f"after {iterations} iterations" in done(*words, "r.npz", "--resume")
    done(*words, "s.npz", "--iterations", str(iterations), "--interval", "160")
    assert arrays("r.npz")["alpha"].tobytes() == arrays("s.npz")["alpha"].tobytes()


def test_more_iterations_go_on_although_the_cache_would_now_be_chosen_otherwise():
    words = (
        "solve", "F", "--task", "svm-l1", "--kernel", "rbf,sigma=0.1", "--tolerance", "0", "--out", "r.npz",
    )  # fmt: skip
    assert "all kernel rows kept" not in done(*words, "--iterations", "32", "--interval", "16")
    out = done(*words, "--iterations", "800", "--resume")
    assert "after 800 iterations" in out
    assert "exchange allreduce: as in the run that is gone on with" in out
    assert arrays("r.npz")["measured_iterations"].size == 51


def test_a_checkpoint_of_other_options_or_data_is_refused():
    first = ["--task", "svm-l2", "--s", "4", "--iterations", "3000", "--out", "r.npz", "--tolerance", "0"]
    done("solve", "F", *first)
    for changed, words in (
        (["F", *first, "--seed", "2"], "made with --seed = 0, but this run has --seed = 2"),
        (["F", *first, "--C", "3"], "loss = SquaredHinge(C=1.0), but this run has loss = SquaredHinge(C=3.0)"),
        (["G", *first], "was made from data with digest"),
        (["F", *first, "--iterations", "10"], "because it is to end at 10"),
    ):  # fmt: skip
        assert words in refused("solve", *changed, "--resume")
    assert "after 5000 iterations" in done("solve", "F", *first, "--iterations", "5000", "--resume")
    done("solve", "F", *first, "--iterations", "5000", "--out", "s.npz")
    assert arrays("r.npz")["alpha"].tobytes() == arrays("s.npz")["alpha"].tobytes()


def test_a_run_that_ended_within_its_first_interval_is_made_again_to_the_same_bits():
    words = (*LINEAR, "--interval", "160", "--tolerance", "0")
    done(*words, "--iterations", "100", "--out", "r.npz")
    assert files.read_checkpoint(Path("r.npz.checkpoint")).place.iteration == 0
    assert "--seed = 0" in refused(
        *words, "--iterations", "400", "--out", "r.npz", "--seed", "1", "--resume"
    )
    done(*words, "--iterations", "400", "--out", "r.npz", "--resume")
    done(*words, "--iterations", "400", "--out", "whole.npz")
    whole, resumed = arrays("whole.npz"), arrays("r.npz")
    for name in ("alpha", "iterations", "measured_iterations", "measured_relative", "gap"):
        assert whole[name].tobytes() == resumed[name].tobytes(), name


def test_a_result_is_not_replaced_by_one_of_fewer_iterations_of_the_same_run():
    words = (*LINEAR, "--interval", "160", "--out", "r.npz")
    done(*words, "--tolerance", "0", "--iterations", "400")
    before = contents()
    for fewer, iterations in ((["--tolerance", "0.9"], 320), (["--iterations", "330"], 330)):
        code, _, told = command(*words, *fewer, "--resume")
        assert code == 2
        assert "400 iterations" in told
        assert str(iterations) in told
        assert contents() == before
    assert "after 320 iterations" in done(*words, "--tolerance", "0.9", "--resume", "--force")
    assert "after 500 iterations" in done(*words, "--tolerance", "0", "--iterations", "500", "--resume")
