"""Machine files, and the production solver on them."""

import numpy as np
import pytest
from msgspec.structs import asdict, replace

from sstep_verify.costs.messages import Distinct, window_counts
from sstep_verify.costs.prediction import Machine, Method, distinct, phases, predict, read, shipped, write
from sstep_verify.costs.profiles import uniform_profile
from sstep_verify.errors import InputError

MACHINE = Machine(
    name='a "b"', source="here", error="not measured",
    dense=[[1, 0.4], [16, 0.1]], sparse=[[1, 0.8]], polynomial=1.0, rbf=8.0, gradient=0.5, step=0.1,
    correction=0.5, solve=0.3, window=4.0,
    allreduce=[[2, 16, 3.0], [2, 1_000_000, 300.0], [8, 16, 9.0], [8, 1_000_000, 900.0]],
    reduce_scatter=[[2, 16, 2.0], [2, 1_000_000, 150.0]],
)  # fmt: skip
PROFILE = uniform_profile("x", 400, 600, 400 * 600)
SVM = Method("allreduce", "rbf", True)


def test_a_machine_file_comes_back(tmp_path):
    path = tmp_path / "machine.toml"
    write(MACHINE, path)
    assert asdict(read(str(path))) == asdict(replace(MACHINE, name="a 'b'"))


def test_shipped_machine_is_read_by_name():
    assert shipped() == ["perlmutter"]
    machine = read("perlmutter")
    assert machine.published
    assert "published" in machine.error


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("step = 0.1", "step = -1"), ("step = 0.1", "steps = 1"), ("rbf = 8", "rbf = nan"),
        ("rbf = 8", 'rbf = "8"'), ("[1, 0.8]", "[1]"), ("[2, 16, 3]", "[2, 0, 3]"), ("= 4", "= = 4"),
        ("[1, 0.4],", "7,"),
    ],
)  # fmt: skip
def test_what_is_no_machine_file_is_refused(tmp_path, old, new):
    path = tmp_path / "machine.toml"
    write(MACHINE, path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match="not a machine file"):
        read(str(path))


def test_no_such_machine():
    with pytest.raises(InputError, match="shipped: perlmutter"):
        read("no such")


def test_collectives_between_and_beyond_what_was_measured():
    assert MACHINE.collective("allreduce", 1, 1e6) == 0
    assert MACHINE.collective("allreduce", 8, 1e6) == pytest.approx(900)
    assert MACHINE.collective("allreduce", 4, 16) == pytest.approx(np.sqrt(27))
    assert MACHINE.collective("allreduce", 2, 4e6) == pytest.approx(1200)
    assert MACHINE.collective("allreduce", 64, 16) == pytest.approx(18)
    assert MACHINE.collective("reduce_scatter", 2, 16) == pytest.approx(2)
    with pytest.raises(InputError, match="calibrate --np 2"):
        replace(MACHINE, allreduce=[]).collective("allreduce", 2, 16)


def test_rates_follow_the_rows_of_a_window():
    assert MACHINE.rate(MACHINE.dense, 4) == pytest.approx(0.2)
    assert MACHINE.rate(MACHINE.dense, 999) == pytest.approx(0.1)


def test_phases_scale_as_the_counts():
    one, more = (phases(MACHINE, PROFILE, SVM, ranks, 1) for ranks in (1, 4))
    assert one.panel == pytest.approx(4 * more.panel)
    assert one.panel == pytest.approx(400 * 600 * 0.4e-3)
    assert one.function == more.function == pytest.approx(400 * 8e-3)
    assert one.reduction == 0 < more.reduction
    scattered = phases(MACHINE, PROFILE, SVM._replace(exchange="reduce-scatter"), 2, 1)
    assert scattered.function == pytest.approx(one.function / 2)


@pytest.mark.parametrize("exchange", ["allreduce", "reduce-scatter", "gram"])
def test_words_of_a_window_are_those_of_the_theorem(exchange):
    flat = replace(MACHINE, allreduce=[[2, 8, 1], [2, 8e9, 1e9]], reduce_scatter=[[2, 8, 1], [2, 8e9, 1e9]])
    method = Method(exchange, "linear", True)
    for s in (1, 8, 64):
        rows = distinct(PROFILE.samples, s)
        low, high = (
            window_counts(exchange, PROFILE.samples, Distinct(1, count, count**2), False).words
            for count in (int(rows), int(rows) + 1)
        )
        found = phases(flat, PROFILE, method, 2, s).reduction * s  # One microsecond a word.
        assert low * (1 - 1e-9) <= found <= high


def test_a_larger_block_costs_solves():
    one, more = (phases(MACHINE, PROFILE, Method("allreduce", "linear", False, b), 1, 4) for b in (1, 32))
    assert more.recurrence > 32 * one.recurrence


def test_distinct_of_many_draws():
    draws = np.random.default_rng(0).integers(0, 50, (4000, 30))
    assert distinct(50, 30) == pytest.approx(np.mean([np.unique(row).size for row in draws]), rel=0.01)
    assert distinct(1, 5) == 1


def test_tables_of_both_programs():
    rows = predict(MACHINE, PROFILE, SVM, (1, 2), (1, 8))
    assert [(row["P"], row["s"]) for row in rows] == [(1, 1), (1, 8), (2, 1), (2, 8)]
    fitted = read("perlmutter")
    published = predict(fitted, PROFILE, SVM, (64,), (1, 8), program="published")
    assert published[0]["total"] > published[1]["total"]
    phases_summed = sum(value for name, value in published[0].items() if name not in ("P", "s", "total"))
    assert published[0]["total"] == pytest.approx(phases_summed)
    with pytest.raises(InputError, match="not fitted to published"):
        predict(MACHINE, PROFILE, SVM, (2,), (1,), program="published")
    with pytest.raises(InputError, match="allreduce only"):
        predict(fitted, PROFILE, SVM._replace(exchange="gram"), (2,), (1,), program="published")
