"""The commands `predict` and `calibrate`."""

import json

import pytest
from click.testing import CliRunner
from msgspec.structs import asdict

from sstep_verify.cli.commands import predict
from sstep_verify.costs.prediction import read, write
from sstep_verify.errors import InputError
from sstep_verify.timing import calibrate as measuring

SIZES = ["--shape", "400,600"]


def told(*arguments):
    result = CliRunner().invoke(predict.predict, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def refused(message, *arguments):
    with pytest.raises(InputError, match=message):
        CliRunner().invoke(predict.predict, arguments, catch_exceptions=False)


def test_table_has_phases_the_best_s_and_the_stated_error():
    lines = told(*SIZES, "--np", "2,64", "--s", "1,8").splitlines()
    assert lines[0] == "drawn: 400 x 600, 240000 nonzeros"
    assert lines[2].split() == [
        "P", "s", "panel", "reduction", "function", "gradient", "recurrence", "window", "total",
    ]  # fmt: skip
    assert [line.split()[:2] for line in lines[3:-1]] == [["2", "1"], ["2", "8"], ["64", "1"], ["64", "8"]]
    assert lines[-1] == f"predictions are off by {read('perlmutter').error}"
    assert sum("best" in line for line in lines) == 2


def test_json_is_the_same():
    found = json.loads(told(*SIZES, "--np", "64", "--s", "4,1", "--program", "published", "--json"))
    rows = found["microseconds"]
    assert [row["s"] for row in rows] == [1, 4]
    assert found["best s"] == {"64": min(rows, key=lambda row: row["total"])["s"]}
    assert found["error"]


def test_counts_of_columns_decide(tmp_path):
    even, heavy = tmp_path / "even", tmp_path / "heavy"
    even.write_text("10\n" * 100)
    heavy.write_text("500\n" * 1 + "5\n" * 99 + "\n")
    totals = []
    for path in (even, heavy):
        given = ["--shape", "500", "--counts", str(path), "--np", "16", "--s", "1", "--json"]
        totals.append(json.loads(told(*given))["microseconds"][0]["panel"])
    assert totals[1] > 10 * totals[0]


def test_data_set_by_its_file(tmp_path):
    path = tmp_path / "small"
    path.write_text("+1 1:0.5 3:1\n-1 1:2\n")
    assert told(str(path), "--np", "1").startswith("small: 2 x 3, 3 nonzeros")


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("give DATA, or", ()),
        ("give DATA, or", ("--shape", "3")),
        ("give DATA, or", ("--shape", "3,4", "--counts", "x")),
        ("DATA and --shape", ("x", "--shape", "3")),
        (
            "gram carries weights, so it is for --kernel linear",
            (*SIZES, "--exchange", "gram", "--kernel", "rbf"),
        ),
        ("one coordinate", (*SIZES, "--block", "2")),
        ("no machine file", (*SIZES, "--machine", "nowhere")),
        ("nonzeros of 400 x 600 entries; give 1 to 240000", ("--shape", "400,600,1e9")),
        (
            "distinct coordinates, of which drawn has 3;",
            ("--shape", "3,2", "--task", "krr", "--block", "4"),
        ),
    ],
)
def test_refusals(message, arguments):
    refused(message, *arguments)


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("'1,x' is no list of whole numbers", (*SIZES, "--s", "1,x")),
        ("0 is below 1", (*SIZES, "--np", "0")),
        ("'1,2,3,4' is no shape", ("--shape", "1,2,3,4")),
        ("'4,inf' is no shape", ("--shape", "4,inf")),
    ],
)
def test_lists_that_are_none(message, arguments):
    result = CliRunner().invoke(predict.predict, arguments)
    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.parametrize("text", ["", "3\nx\n", "9\n", "-1\n3\n"])
def test_refused_counts(tmp_path, text):
    path = tmp_path / "counts"
    path.write_text(text)
    refused("counts", "--shape", "5", "--counts", str(path))


def test_calibrate_writes_a_machine_that_predict_reads(tmp_path, monkeypatch):
    # The clock is not asked: what a window takes is made up, of the counts.
    def made(comm, case, seconds):
        phases = dict.fromkeys(("panel", "kernel function", "gradient", "recurrence"), 3.0 * case.s)
        return measuring.Window(12.5 * case.s, phases)

    monkeypatch.setattr(measuring, "timed", made)
    path = tmp_path / "here.toml"
    arguments = [str(path), "--np", "none"]
    result = CliRunner().invoke(predict.calibrate, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "4 runs of this solver that were not used, P = 1" in result.output
    machine = read(str(path))
    assert machine.name == "here"
    assert machine.window == pytest.approx(9.5)
    assert [round(row[0]) for row in machine.dense] == [1, 4, 16, 62, 226]
    assert told(*SIZES, "--machine", str(path), "--np", "1").count("best") == 1
    with pytest.raises(InputError, match="perf calibrate --np 2"):
        told(*SIZES, "--machine", str(path), "--np", "2")
    with pytest.raises(InputError, match="--force"):
        CliRunner().invoke(predict.calibrate, arguments, catch_exceptions=False)


def test_a_timed_run_is_a_run_of_the_solver():
    case = measuring.Case(30, 5, 1.0, "rbf", 0, 4)
    found = measuring.timed(None, case, 1e-4)
    assert found.phases["panel"] > 0
    assert found.whole >= sum(found.phases.values()) * 0.5


def test_collectives_of_one_size_are_as_many_as_stated(monkeypatch):
    per_rank = [[[1.0] * len(measuring.WORDS), [2.0] * len(measuring.WORDS)], [[3.0] * 6, [1.0] * 6]]
    monkeypatch.setattr(measuring, "run", lambda ranks, function, seconds: per_rank)
    reduced, scattered = measuring.collective_table(2, 0.1)
    assert reduced[0] == [2.0, 16.0, 3.0]  # The slowest rank counts.
    assert scattered[-1] == [2.0, 8.0 * measuring.WORDS[-1], 2.0]


def test_shipped_file_is_written_as_it_is_read(tmp_path):
    path = tmp_path / "again.toml"
    write(read("perlmutter"), path)
    assert asdict(read(str(path))) == asdict(read("perlmutter"))
