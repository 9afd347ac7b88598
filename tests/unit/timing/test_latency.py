"""The study of latency: its prediction on made-up seconds, its reports, and a real one whose times have lower bounds."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ElementTree
from collections import Counter

import pytest
from click.testing import CliRunner
from report.drawn import height_scale, read

from sstep_verify.cli import main, work
from sstep_verify.cli.commands import latency
from sstep_verify.cli.commands.latency import command
from sstep_verify.errors import InputError, MissingExtraError
from sstep_verify.ranks.interposer import build_interposer
from sstep_verify.report.chart import page_colour
from sstep_verify.timing.latency import Latency, study
from sstep_verify.timing.measure import (
    Cell,
    Delay,
    Plan,
    Sample,
    levels,
    quartiles,
)  # fmt: skip

NONE, LATE, LATER = Delay(), Delay(100.0), Delay(1000.0, 2.0)
WORK, WINDOW = 10e-6, 20e-6
"""Seconds of an iteration, and of a window, of the made-up solver."""

REAL = 30e-6
"""Seconds that a made-up collective takes longer than asked."""


class MadeUp:
    """A solver that takes exactly what the prediction says, and another amount per byte if told so."""

    name = "made up"

    def __init__(self, extra: float = 0.0):
        self._extra, self._turns = extra, 0

    def sample(self, s, ranks, delay, seconds):
        """Seconds that vary from repeat to repeat, with a median that is known."""
        late = 0.0 if delay == NONE else delay.microseconds * 1e-6 * levels(ranks) + REAL + self._extra
        seconds = WORK + (WINDOW + late + delay.transfer(ranks, 44.0 * s)) / s
        return Sample(seconds, 1.0 / s, 44.0)

    def collective(self, ranks, delay, seconds):
        """One alone; the last of three is disturbed."""
        self._turns += 1
        free = 2e-6 if delay == NONE else 2e-6 + delay.microseconds * 1e-6 * levels(ranks) + REAL
        return free * (50.0 if self._turns > 6 else 1.0)


def studied(subject=None, ranks=4, tell=lambda *_: None) -> Latency:
    plan = Plan((1, 4, 64), (NONE, LATE, LATER), ranks, 3, 0.1)
    made = subject or MadeUp()
    return study(made, made, "a problem", plan, tell)


def test_the_prediction_is_exact_where_its_assumptions_hold():
    found = studied()
    for s in (1, 4, 64):
        for delay in (LATE, LATER):
            assert found.error(s, delay) == pytest.approx(0.0, abs=1e-12)
    # By hand: 2 levels of 1000 us and 2 ns for each of 44 s words, once a window of 4.
    by_hand = WORK + WINDOW / 4 + (2e-3 + REAL) / 4 + 2 * 2e-9 * 8 * 44
    assert found.predicted(4, LATER) == pytest.approx(by_hand)
    assert found.given(LATE) == pytest.approx(200e-6 + REAL)
    assert found.speedup(64, LATE)[1] == pytest.approx(found.predicted_speedup(64, LATE))
    assert found.best(LATE) == found.predicted_best(LATE) == 64


def test_a_speed_up_is_the_median_of_the_ratios_whose_quartiles_are_next_to_it():
    def cell(*seconds):
        return Cell(tuple(Sample(each, 1.0, 1.0) for each in seconds))

    taken = {1: cell(10.0, 20.0, 30.0), 4: cell(2.0, 5.0, 2.0)}
    cells = {(s, NONE): one for s, one in taken.items()}
    found = Latency("made up", "a problem", Plan((1, 4), (NONE,), 2, 3, 0.1), cells, {})
    # Ratios 5, 4 and 15; that of the medians, 20 / 2, is none of them.
    assert found.speedup(4, NONE) == pytest.approx((4.5, 5.0, 10.0))


def test_what_the_prediction_does_not_know_shows_as_its_error():
    found = studied(MadeUp(extra=1e-3))
    assert found.error(1, LATE) < -0.5


def test_levels_and_quartiles():
    assert [levels(ranks) for ranks in (1, 2, 3, 4, 5, 4096)] == [0, 1, 2, 2, 3, 12]
    assert quartiles([3.0, 1.0, 2.0, 5.0, 4.0]) == (2.0, 3.0, 4.0)


def test_lines_table_figure_and_document_say_the_same():
    found = studied()
    told = "\n".join(found.lines("a machine"))
    assert "P = 4, 3 repeats" in told
    assert "s = 64" in told
    assert "6 of 6 within 25 %" in told
    read = list(csv.DictReader(found.files()["csv"].splitlines()))
    assert [(row["delay"], row["s"]) for row in read[:4]] == [
        ("0.0", "1"), ("0.0", "4"), ("0.0", "64"), ("100.0", "1")
    ]  # fmt: skip
    made = json.loads(json.dumps(found.document({"mpi": "an MPI"})))
    assert made["cells"] == list(found.rows())
    assert made["levels"] == 2
    drawn = found.files()["svg"]
    ElementTree.fromstring(drawn)
    assert drawn.count("stroke-dasharray") == 6
    assert "1000 us" in drawn


def test_every_segment_is_reported_and_elsewhere_than_on_a_terminal_now_and_then(monkeypatch, capsys):
    now, parts = 0.0, []
    monkeypatch.setattr(work.time, "monotonic", lambda: now)
    said = latency._teller()

    def tell(message, part):
        nonlocal now
        now += 20.0
        parts.append(part)
        said(message, part)

    studied(tell=tell)
    assert parts == [k / 27 for k in range(27)]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 27 // 2
    assert all("repeat " in line and "left" in line for line in lines)


@pytest.mark.parametrize("sizes", [(2, 4), (1,)])
def test_plans_without_a_comparison_are_refused(sizes):
    with pytest.raises(InputError, match="give 1 and another s"):
        study(MadeUp(), MadeUp(), "a problem", Plan(sizes, (NONE,), 2, 3, 0.1))


def test_a_time_below_zero_is_refused_with_a_way_out():
    with pytest.raises(InputError, match="--seconds"):
        studied(MadeUp(extra=-1.0))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    try:
        build_interposer(tmp_path_factory.mktemp("compiled"))
    except MissingExtraError as error:
        pytest.skip(str(error))


@pytest.mark.nightly
@pytest.mark.pool_only
def test_our_solver_is_as_late_as_its_collectives(compiled, tmp_path):
    out, points = tmp_path / "out", tmp_path / "points"
    points.write_text("".join(f"{1 - 2 * (k % 2)} 1:{k % 5} 2:{k * k % 7} 3:1\n" for k in range(20)))
    words = [str(points), "--task", "svm-l1", "--delay", "0,2000", "--s", "8", "--repeats", "3"]
    result = CliRunner().invoke(command, [*words, "--seconds", "0.01", "--out", str(out)])
    assert result.exit_code == 0, result.output
    made = json.loads((out / "latency.json").read_text())
    cells = {(cell["delay"], cell["s"]): cell for cell in made["cells"]}
    for s in (1, 8):
        late = cells[2000.0, s]
        assert late["collectives"] == pytest.approx(1 / s)
        assert late["lower quartile"] >= 2000.0 * late["collectives"]
    assert made["collective alone"][1]["microseconds"][0] >= 2000.0
    assert "MPI" in made["mpi"]
    assert made["machine"]["cores"] >= 1
    assert {path.name for path in out.iterdir()} == {
        "latency.txt", "latency.json", "latency.csv", "latency.svg"
    }  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--task", "svm-l1", "--np", "1"],
        ["--task", "svm-l1", "--s", "1"],
        ["--task", "svm-l1", "--delay", "fast"],
        ["--task", "svm-l1", "--delay", "-1"],
        ["--task", "svm-l1", "--delay", "nan"],
        ["--task", "svm-l1", "--block", "2"],
        ["--task", "svm-l1", "--kernel", "rbf", "--exchange", "gram"],
        ["--task", "svm-l1", "--delay", "1:2:3"],
        ["--task", "svm-l1", "--set", "fixed.C=2.0"],
        ["--task", "svm-l1", "--exec", "./solver {data} {s} {H}", "--set", "fixed.b=2"],
        ["--task", "svm-l1", "--delay", "1:1e9"],
        ["--task", "svm-l1", "--exec", "./solver {data} {H}"],
        ["--task", "svm-l1", "--exec", "./solver {data} {s}"],
        ["--task", "svm-l1", "--exec", "./solver '{dir}"],
        ["--task", "svm-l1", "--exec", "no-such-file.toml"],
    ],
    ids=" ".join,
)
def test_bad_input_is_refused_in_one_line(words, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["sstep-verify", "perf", "latency", "breast_cancer", *words])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 2
    said = [line for line in capsys.readouterr().err.splitlines() if "rror" in line]
    assert len(said) == 1


def test_without_a_compiler_the_way_out_is_reported(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    words = ["breast_cancer", "--task", "svm-l1", "--s", "2"]
    monkeypatch.setattr("sys.argv", ["sstep-verify", "perf", "latency", *words])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 2
    assert "apt-get install gcc" in capsys.readouterr().err


class Varying(MadeUp):
    """The same, but each repeat of an s > 1 takes its own time: fastest, slowest, between."""

    def __init__(self):
        super().__init__()
        self._repeats = Counter()

    def sample(self, s, ranks, delay, seconds):
        repeat = self._repeats[s, delay]
        self._repeats[s, delay] += 1
        taken = super().sample(s, ranks, delay, seconds)
        return taken._replace(seconds=taken.seconds * (1.0, (0.5, 2.0, 1.2)[repeat % 3])[s > 1])


def test_the_figure_shows_medians_of_the_speed_ups_and_their_predictions_dashed():
    found = studied(Varying())
    drawn = read(found.files()["svg"].partition("\n")[2])
    height = height_scale(drawn)
    for place, delay in enumerate((NONE, LATE, LATER)):
        low, middle, high = zip(*(found.speedup(s, delay) for s in (4, 64)), strict=True)
        assert low < middle < high
        points = drawn.marks[page_colour(place)][1:-1]  # s = 1 before them, the legend's after.
        assert [height(y) for _, y in points] == pytest.approx(middle, rel=0.03)
        dashed = drawn.lines[page_colour(place)][-1]
        assert height(dashed[1]) == pytest.approx(found.predicted_speedup(64, delay), rel=0.03)
