"""``solve --s auto``, ``--s FILE``, ``--block auto`` and stagnation, in this process."""

from __future__ import annotations

import numpy as np
import pytest
from command import command
from solve_here import arrays, done, refused
from solve_runs import with_points

from sstep_verify.errors import TOO_SMALL_TOLERANCE
from sstep_verify.ranks.environment import promised_size
from sstep_verify.solver.training import checkpoint as files
from sstep_verify.solver.training import decisions, pipeline

pytestmark = pytest.mark.skipif(promised_size() > 1, reason="runs the command in its own process")

AUTO = (
    "solve",
    "F",
    "--task",
    "svm-l2",
    "--kernel",
    "rbf,sigma=0.5",
    "--cache",
    "0",
    "--s",
    "auto",
)
LONG = ("--iterations", "6000", "--interval", "600", "--tolerance", "0")


EACH = ("--checkpoint-seconds", "0")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The files of points, and one rank that tunes s as several do."""
    monkeypatch.setattr(decisions, "COUNTED", 0)
    monkeypatch.chdir(tmp_path)
    return with_points(tmp_path, "F", "G", labels=(-1, 1))


def test_the_summary_says_what_was_tried_and_the_result_how_it_was_made():
    out = done(*AUTO, *LONG, "--out", "r.npz")
    assert "s tried with allreduce, us an iteration when last tried: " in out
    assert "s at most 128" in out  # 600 / 4 iterations of an interval, a power of two
    assert "explored because training began" in out
    found = arrays("r.npz")
    assert found["sequence"][-1, 0] == 6000
    assert found["sequence"][:, 1].max() <= 128
    assert found["measured_iterations"].tolist() == list(range(0, 6001, 600))


def test_a_killed_run_goes_on_and_what_was_made_is_made_again_to_the_last_bit(monkeypatch):
    write = files.write_checkpoint

    def interrupted(path, checkpoint):
        write(path, checkpoint)
        if checkpoint.place.iteration in (1200, 3000):
            raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "write_checkpoint", interrupted)
    for _ in range(2):
        code, _, err = command(*AUTO, *LONG, *EACH, "--out", "r.npz", "--resume")
        assert code == 130, err
    before = arrays("r.npz.checkpoint")["sequence"]
    monkeypatch.setattr(pipeline, "write_checkpoint", write)
    done(*AUTO, *LONG, *EACH, "--out", "r.npz", "--resume")
    resumed = arrays("r.npz")
    assert resumed["sequence"][: len(before) - 1].tolist() == before[:-1].tolist()
    done(*AUTO, *LONG, *EACH, "--out", "again.npz", "--s", "r.npz")
    again = arrays("again.npz")
    for name in ("alpha", "measured_relative", "gap", "options"):
        assert again[name].tobytes() == resumed[name].tobytes(), name
    # A killed run, resumed with the sequence of the whole.
    monkeypatch.setattr(pipeline, "write_checkpoint", interrupted)
    assert command(*AUTO, *LONG, *EACH, "--out", "s.npz", "--s", "r.npz")[0] == 130
    monkeypatch.setattr(pipeline, "write_checkpoint", write)
    done(*AUTO, *LONG, *EACH, "--out", "s.npz", "--s", "r.npz", "--resume")
    assert arrays("s.npz")["alpha"].tobytes() == resumed["alpha"].tobytes()


def test_an_s_that_is_not_found_yet_is_none_that_is_best_so_far():
    told = done(*AUTO, "--iterations", "48", "--tolerance", "0", "--out", "r.npz")
    assert "s not found yet, exploring from: 16 with allreduce; explored because training began" in told


def test_no_s_beyond_the_largest_asked_for():
    done(*AUTO, *LONG, "--s", "auto:5", "--out", "r.npz")
    assert set(arrays("r.npz")["sequence"][:, 1].tolist()) <= {1, 2, 4}


def test_what_does_not_go_together_is_refused():
    fixed = ("solve", "F", "--task", "svm-l1", "--out", "r.npz")
    for steps in ("x", "F:", "0", "auto:0", "16:4", ""):
        code, out, err = command(*fixed, "--s", steps)
        assert (code, out, "'--s'" in err) == (2, "", True), steps
    assert "a K-SVM steps one coordinate at a time" in refused(*fixed, "--block", "2")
    assert "no sequence of s of sstep-verify solve (it is no .npz" in refused(
        *AUTO, "--out", "r.npz", "--s", "F"
    )
    done(*fixed, "--iterations", "32", "--interval", "16")
    assert "its s was not tuned" in refused(*AUTO, "--out", "t.npz", "--s", "r.npz")
    done(*AUTO, *LONG, "--out", "t.npz")
    linear = (
        "solve",
        "F",
        "--task",
        "svm-l2",
        "--exchange",
        "reduce-scatter",
        "--s",
        "auto",
        "--out",
        "u.npz",
    )
    assert "this run has at most" in refused(*linear, "--s", "t.npz")
    assert "made with --s = auto, but this run has --s = 12" in refused(
        *AUTO[:-1], "12", *LONG, "--out", "t.npz", "--resume"
    )


def test_one_rank_tunes_nothing(monkeypatch):
    monkeypatch.setattr(decisions, "COUNTED", 1)
    told = done(*AUTO, *LONG, "--out", "r.npz").splitlines()
    assert any(line.startswith("s 8: ") for line in told)  # Divides both 64 and the interval.
    found = arrays("r.npz")
    assert "sequence" not in found
    done(*AUTO[:-2], *LONG, "--out", "s.npz")  # The default.
    assert arrays("s.npz")["alpha"].tobytes() == found["alpha"].tobytes()


def test_a_block_is_chosen_from_the_sizes():
    krr = ("solve", "F", "--task", "krr", "--lambda", "0.5", "--block", "auto", "--iterations", "64")
    done(*krr, "--interval", "16", "--out", "r.npz")
    assert '"block": 8' in str(arrays("r.npz")["options"])
    out = done(*krr, "--s", "auto", "--out", "s.npz")
    assert "block 8" in out
    done(
        "solve",
        "F",
        "--task",
        "svm-l1",
        "--block",
        "auto",
        "--iterations",
        "16",
        "--interval",
        "16",
        "--out",
        "t.npz",
    )
    assert '"block": 1' in str(arrays("t.npz")["options"])


def test_training_that_float64_takes_no_further_ends_and_says_why():
    words = (
        "solve",
        "F",
        "--task",
        "krr",
        "--lambda",
        "1",
        "--block",
        "4",
        "--interval",
        "64",
        "--s",
        "16",
    )
    words = (*words, "--tolerance", "1e-18", "--out", "r.npz")
    code, out, _ = command(*words, "--iterations", "1000000")
    assert code == TOO_SMALL_TOLERANCE
    assert "tolerance 1e-18 is below what float64 can show here: relative residual at most " in out
    found = arrays("r.npz")
    assert str(found["stopped"]) == "stagnation"
    assert found["iterations"] < 20_000
    # Resumed, it is where it was.
    assert command(*words, "--iterations", "1000000", "--resume")[0] == TOO_SMALL_TOLERANCE
    assert np.array_equal(arrays("r.npz")["alpha"], found["alpha"])
    assert arrays("r.npz")["iterations"] == found["iterations"]


def test_more_iterations_go_on_with_the_exchanges_that_were_tried():
    linear = (
        "solve",
        "F",
        "--task",
        "svm-l1",
        "--s",
        "auto",
        "--tolerance",
        "0",
        "--interval",
        "300",
        "--out",
        "r.npz",
    )
    done(*linear, "--iterations", "1500")
    assert '"exchange": "gram or allreduce"' in str(arrays("r.npz")["options"])
    before = arrays("r.npz")["sequence"]
    done(*linear, "--iterations", "3000", "--resume")
    after = arrays("r.npz")
    assert after["sequence"][: len(before) - 1].tolist() == before[:-1].tolist()
    done(*linear, "--iterations", "3000", "--s", "r.npz", "--force")
    assert arrays("r.npz")["alpha"].tobytes() == after["alpha"].tobytes()
