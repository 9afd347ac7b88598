"""``solve`` and ``oracle`` lose no file, hang on nothing, and claim nothing that is not so; in this process."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from command import command
from solve_here import BRIEF, LINEAR, arrays, done, refused
from solve_runs import with_points

from sstep_verify.files import Output, claim
from sstep_verify.ranks.environment import promised_size

pytestmark = pytest.mark.skipif(promised_size() > 1, reason="runs the command in its own process")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return with_points(tmp_path, "F", "G", labels=(-1, 1))


@pytest.mark.parametrize(
    "outputs",
    [
        ("--out", "r.npz", "--predictions", "r.npz"),
        ("--out", "r.npz", "--predictions", "./r.npz"),
        ("--out", "r.npz", "--predictions", "link"),
        ("--out", "r.npz", "--predictions", "r.npz.checkpoint"),
        ("--out", "r.npz", "--predictions", "F"),
        ("--out", "r.npz", "--predictions", "hard"),
        ("--out", "r.npz", "--predictions", "G"),
        ("--out", "F", "--predictions", "p"),
        ("--out", "hard", "--predictions", "p"),
        ("--out", "G", "--predictions", "p"),
    ],
)
def test_two_names_for_one_file_are_refused_even_with_force(outputs):
    Path("link").symlink_to("r.npz")
    Path("hard").hardlink_to("F")
    message = refused(*LINEAR, *BRIEF, "--test", "G", *outputs, "--force")
    assert "is the same file as" in message


def test_data_found_in_a_folder_by_name_are_no_output(folder):
    Path("sets").mkdir()
    shutil.copy("F", "sets/duke")
    words = ("solve", "duke", "--data", "sets", "--task", "svm-l1", "--out", "sets/duke", "--force")
    assert "is the same file as DATA" in refused(*words)
    oracle = ("oracle", "duke", "--data", "sets", "--task", "svm-l1", "--out", "sets/duke", "--force")
    assert "is the same file as DATA" in refused(*oracle)


@pytest.mark.parametrize("program", [LINEAR, ("oracle", "F", "--task", "svm-l1", "--no-cache")])
@pytest.mark.parametrize("place", ["", "x" * 5000, "x" * 250, "pipe", os.devnull, ".", "no/r", "F"])
def test_a_place_that_cannot_be_written_is_refused_before_any_work(program, place):
    os.mkfifo("pipe")
    code, out, err = command(*program, "--out", place, "--force")
    assert (code, out) == (2, ""), err
    assert "Traceback" not in err
    assert len(err) < 700


def test_nul_in_a_name():
    assert "holds a NUL" in refused(*LINEAR, "--out", "a\0b.npz")


def test_one_run_at_a_time_writes_a_result():
    with claim([Output("--out", "r.npz")]):
        message = refused(*LINEAR, *BRIEF, "--out", "r.npz")
    assert f"another run (process {os.getpid()} on " in message
    done(*LINEAR, *BRIEF, "--out", "r.npz")


@pytest.mark.parametrize(
    ("option", "now"),
    [
        ("--sigma", "rbf,sigma"),
        ("--gamma", "rbf,sigma"),
        ("--degree", "polynomial,degree"),
        ("--offset", "polynomial,offset"),
    ],
)
def test_a_former_option_is_answered_with_its_successor(option, now):
    code, out, err = command("solve", "F", "--task", "svm-l1", option, "3", "--out", "r.npz")
    assert (code, out) == (2, "")
    assert f"no such option {option}; it is a word now: --kernel {now}=NUMBER" in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--task", "svm-l1", "--kernel", "linear,sigma=3"), "linear has no 'sigma', it has no number; drop it, or give --kernel rbf"),
        (("--task", "svm-l1", "--kernel", "rdf"), "--kernel rdf: 'rdf' is unknown (did you mean 'rbf'?)"),
        (("--task", "svm-l1", "--kernel", "rbf,sigma=1,sigma=1"), "sigma is there twice"),
        (("--task", "svm-l1", "--kernel", "rbf,sigma"), "sigma is '', which is no number"),
        (("--task", "svm-l1", "--kernel", "rbf,width=2"), "rbf has no 'width', it has sigma; drop it"),
        (("--task", "svm-l1", "--kernel", "rbf,sigma=-3"), "sigma = -3.0"),
        (("--task", "svm-l1", "--kernel", "rbf,degree=3"), "rbf has no 'degree', it has sigma; drop it, or give --kernel polynomial"),
        (("--task", "svm-l1", "--lambda", "1"), "--lambda 1.0: --task svm-l1 does not use it"),
        (("--task", "krr", "--C", "1"), "--C 1.0: --task krr does not use it; drop it, or give --task svm-l1 or svm-l2"),
        (("--task", "krr", "--kernel", "polynomial,degree=2147483648"), "degree = 2147483648"),
        (("--task", "krr", "--kernel", "polynomial,degree=1180591620717411303424"), "degree = 1180591620717411303424"),
    ],
)  # fmt: skip
def test_options_that_are_not_used_or_lead_nowhere(options, words):
    assert words in refused("solve", "F", "--out", "r.npz", *options)
    assert words in refused("oracle", "F", "--no-cache", *options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--task", "svm-l2", "--C", "5e-324"), "C = 4.94066e-324, but it must lie between"),
        (("--task", "svm-l2", "--C", "1e-308"), "C = 1e-308, but it must lie between"),
        (("--task", "krr", "--lambda", "1e300"), "lambda = 1e+300, but it must lie between"),
    ],
)  # fmt: skip
def test_parameters_next_to_which_products_underflow_or_overflow(options, words):
    assert words in refused("solve", "F", "--out", "r.npz", *options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--s", "9223372036854775808"), "s = 9223372036854775808, but it must lie between 1 and 2^53"),
        (("--s", "1180591620717411303424"), "s = 1180591620717411303424"),
        (("--iterations", "18446744073709551616"), "iterations = 18446744073709551616"),
        (("--seed", "340282366920938463463374607431768211456"), "seed ="),
        (("--cache", "9223372036854775808"), "cache ="),
    ],
)  # fmt: skip
def test_whole_numbers_beyond_all_use(options, words):
    assert words in refused(*LINEAR, "--out", "r.npz", *options)


def test_the_largest_window_is_the_whole_run():
    done(*LINEAR, "--iterations", "48", "--s", str(2**53), "--out", "a.npz")
    done(*LINEAR, "--iterations", "48", "--s", "48", "--out", "b.npz")
    np.testing.assert_array_equal(arrays("a.npz")["alpha"], arrays("b.npz")["alpha"])


def test_a_pipe_or_nothing_as_input():
    os.mkfifo("pipe")
    for words in (("pipe",), ("F", "--test", "pipe", "--predictions", "p")):
        assert "is not a regular file" in refused("solve", *words, "--task", "svm-l1", "--out", "r.npz")
    assert "neither a known name" in command("solve", "x" * 5000, "--task", "svm-l1", "--out", "r.npz")[2]
    Path("r.npz.checkpoint").unlink(missing_ok=True)
    os.mkfifo("r.npz.checkpoint")
    assert "is a named pipe" in refused(*LINEAR, "--out", "r.npz", "--resume")


def test_a_small_penalty_is_trained_and_not_claimed():
    out = done("solve", "F", "--task", "svm-l2", "--C", "1e-200", "--iterations", "1008", "--out", "r.npz")
    found = arrays("r.npz")
    assert int(found["iterations"]) > 0
    np.testing.assert_allclose(found["alpha"], 2e-200, rtol=1e-12)
    assert 0 < found["dual"] < np.inf
    assert "tolerance reached" in out


@pytest.mark.parametrize("kernel", ["linear", "rbf,sigma=0.3", "polynomial,degree=2"])
def test_a_test_file_may_have_more_features(kernel):
    """As a training file gives it that has those features too, all of them 0."""
    lines = Path("F").read_text("ascii").splitlines()
    Path("broad").write_text("\n".join([lines[0] + " 9:0", *lines[1:]]) + "\n", encoding="ascii")
    Path("T").write_text("1 1:1 9:2\n-1 4:1 5:1 9:-1\n1 2:0.5\n", encoding="ascii")
    for data in ("F", "broad"):
        words = ("solve", data, "--task", "svm-l1", "--kernel", kernel, *BRIEF)
        out = done(*words, "--out", f"{data}.npz", "--test", "T", "--predictions", f"{data}.txt")
        assert "accuracy" in out
    narrow, wide = (np.loadtxt(f"{name}.txt")[:, 1] for name in ("F", "broad"))
    np.testing.assert_allclose(narrow, wide, rtol=1e-12)


@pytest.mark.parametrize(
    "option", [["--out", "kept"], ["--out", "r.npz", "--predictions", "kept", "--test", "points"]]
)
def test_resume_replaces_nothing_that_no_earlier_run_left(folder, option):
    (folder / "kept").write_text("mine\n")
    assert "kept: is there already" in refused(*LINEAR, *BRIEF, *option, "--resume")
    assert (folder / "kept").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["solve", "F", "--task", "svm-l1", "--out", "there"], "--out there: is there already; name another, or pass --force"),
        (["solve", "F", "--task", "svm-l1", "--out", "no/r"], "/no is no folder to write in"),
        (["solve", "F", "--task", "svm-l1", "--kernel", "rbf,sigma=-1", "--out", "r"], "sigma = -1.0"),
        (["solve", "F", "--task", "krr", "--block", "41", "--out", "r"], "b = 41"),
        (["solve", "F", "--task", "svm-l1", "--test", "G", "--out", "r"], "--test and --predictions go together"),
    ],
)  # fmt: skip
def test_a_mistake_ends_with_code_2_and_one_message(options, words):
    Path("there").write_bytes(b"before")
    assert refused(*options).count(words) == 1
