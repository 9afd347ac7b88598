"""Files of kernel rows: read strictly, rows in either convention."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest

from sstep_verify.adapters.program import Conventions, Program, ProgramFile, program_from
from sstep_verify.adapters.program.witness import read_panels
from sstep_verify.errors import InputError, ProgramError
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem
from sstep_verify.protocol import RunRequest

SAMPLES, STEPS, S = 4, 5, 2
PROBLEM = Problem("p", np.eye(SAMPLES), np.array([1.0, -1.0, -1.0, 1.0]), LinearKernel(), Hinge(1.0))
REQUEST = RunRequest(
    PROBLEM, IndexStream("cyclic", SAMPLES, 1, STEPS), S, STEPS, record=(2, 4), expose_panels=True
)
DRAWN = REQUEST.stream.blocks(0, STEPS)
ROWS = np.random.default_rng(1).standard_normal((SAMPLES, SAMPLES))


def records() -> dict[int, np.ndarray]:
    return {begin: ROWS[DRAWN[begin : begin + S, 0]].ravel() for begin in range(0, STEPS, S)}


def write(folder, found):
    parts = [
        struct.pack("<qq", begin, values.size) + values.astype("<f8").tobytes()
        for begin, values in found.items()
    ]
    (folder / "panel.bin").write_bytes(b"".join(parts))


def test_rows_of_recorded_windows_are_read(tmp_path):
    write(tmp_path, records())
    panels = read_panels(tmp_path, REQUEST, DRAWN)
    assert sorted(panels) == [0, 2, 4]
    for begin, panel in panels.items():
        assert np.array_equal(panel.entries, ROWS[panel.columns])
        assert np.array_equal(panel.columns, np.unique(DRAWN[begin : begin + S]))
    assert sorted(read_panels(tmp_path, replace(REQUEST, record=(4,)), DRAWN)) == [0, 4]


def test_rows_with_labels_are_read_as_kernel_values(tmp_path):
    labels = PROBLEM.targets
    signed = {
        begin: (values.reshape(-1, SAMPLES) * labels[DRAWN[begin : begin + S]] * labels).ravel()
        for begin, values in records().items()
    }
    write(tmp_path, signed)
    panels = read_panels(tmp_path, REQUEST, DRAWN, "Q")
    assert np.array_equal(panels[2].entries, ROWS[[2, 3]])


def drop(found, begin):
    del found[begin]


def resize(found, begin):
    found[begin] = np.zeros(found[begin].size + 1)


def move(found, begin, other):
    found[other] = found.pop(begin)


@pytest.mark.parametrize(
    ("change", "key", "said"),
    [
        (drop, (2,), "holds no rows of the window that begins at iteration 2"),
        (resize, (0,), "the record of iteration 0 has 9 numbers, but 2 rows of 4 are due"),
        (move, (4, 3), "record of iteration 3, where no window begins, or twice"),
        (move, (4, -2), "iteration -2"),
    ],
)
def test_what_is_not_whole_is_refused(tmp_path, change, key, said):
    found = records()
    change(found, *key)
    write(tmp_path, found)
    with pytest.raises(ProgramError, match=said):
        read_panels(tmp_path, REQUEST, DRAWN)


@pytest.mark.parametrize(
    ("tail", "said"),
    [
        (struct.pack("<qq", 2, 0), "or twice"),
        (struct.pack("<q", 2), "ends within a record"),
        (struct.pack("<qq", 2, 2), "iteration 2 says 2 numbers; the file ends"),
        (struct.pack("<qq", 2, -1), "says -1 numbers"),
    ],
)
def test_a_record_twice_or_cut_short_is_refused(tmp_path, tail, said):
    write(tmp_path, records())
    path = tmp_path / "panel.bin"
    path.write_bytes(path.read_bytes() + tail)
    with pytest.raises(ProgramError, match=said):
        read_panels(tmp_path, REQUEST, DRAWN)


def test_a_coordinate_drawn_twice_has_one_row(tmp_path):
    drawn = np.array([[1], [1]])
    request = RunRequest(PROBLEM, REQUEST.stream, S, 2, expose_panels=True)
    write(tmp_path, {0: ROWS[[1, 1]].ravel()})
    assert np.array_equal(read_panels(tmp_path, request, drawn)[0].entries, ROWS[[1]])
    write(tmp_path, {0: ROWS[[1, 2]].ravel()})
    with pytest.raises(ProgramError, match="two rows for one coordinate"):
        read_panels(tmp_path, request, drawn)


def test_the_convention_of_rows_goes_with_a_panel_and_labels():
    with pytest.raises(InputError, match="so panel must be true"):
        ProgramFile(Program("p", ("p",)), conventions=Conventions(rows="Q"))
    assert Conventions(rows="Q").tasks == ("svm-l1", "svm-l2")
    for program in (Program("p", ("p",), panel=True), Program("p", ("p",), "trace", panel=True)):
        described = ProgramFile(program, conventions=Conventions(rows="Q", sign=-1))
        assert described.declared(1).panels
    with pytest.raises(InputError, match="panel = true is for a program"):
        ProgramFile(Program("p", ("p",), "final", panel=True))
    assert program_from(["p"], ["panel=true", "rows=Q"]).declared(1).panels
