"""Files of probes: read strictly, rows in either convention."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from sstep_verify.adapters.program import Conventions, Program, ProgramFile
from sstep_verify.adapters.program.witness import read_probes
from sstep_verify.errors import InputError, ProgramError
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem
from sstep_verify.protocol import RunRequest

SAMPLES, STEPS, S = 4, 5, 2
PROBLEM = Problem("p", np.eye(SAMPLES), np.array([1.0, -1.0, -1.0, 1.0]), LinearKernel(), Hinge(1.0))
REQUEST = RunRequest(
    PROBLEM, IndexStream("cyclic", SAMPLES, 1, STEPS), S, STEPS, record=(2, 4), expose_panels=True, probes=True
)  # fmt: skip
DRAWN = REQUEST.stream.blocks(0, STEPS)
ROWS = np.random.default_rng(1).standard_normal((SAMPLES, SAMPLES))


def records() -> dict[tuple[str, int], np.ndarray]:
    found = {("panel", begin): ROWS[DRAWN[begin : begin + S, 0]].ravel() for begin in range(0, STEPS, S)}
    for place, name in enumerate(("gradient", "eta", "theta")):
        found |= {(name, step): np.array([step + place / 4]) for step in range(STEPS)}
    return found


def write(folder, found):
    parts = [
        struct.pack("<8sqq", name.encode(), step, values.size) + values.astype("<f8").tobytes()
        for (name, step), values in found.items()
    ]
    (folder / "probe.bin").write_bytes(b"".join(parts))


def test_what_a_program_wrote_is_what_is_read(tmp_path):
    write(tmp_path, records())
    panels, probes = read_probes(tmp_path, REQUEST, DRAWN)
    assert sorted(panels) == [0, 2, 4]
    assert np.array_equal(probes.rows[:, 0], ROWS[DRAWN[:, 0]])
    assert np.array_equal(probes.gradient[:, 0], np.arange(STEPS))
    assert np.array_equal(probes.curvature[:, 0, 0], np.arange(STEPS) + 0.25)
    assert np.array_equal(probes.increment[:, 0], np.arange(STEPS) + 0.5)


def test_rows_with_labels_are_read_as_kernel_values(tmp_path):
    labels = PROBLEM.targets
    signed = {
        key: (values.reshape(-1, SAMPLES) * labels[DRAWN[key[1] : key[1] + S]] * labels).ravel()
        if key[0] == "panel"
        else values
        for key, values in records().items()
    }
    write(tmp_path, signed)
    panels, probes = read_probes(tmp_path, REQUEST, DRAWN, "Q")
    assert np.array_equal(probes.rows[:, 0], ROWS[DRAWN[:, 0]])
    assert np.array_equal(panels[2].entries, ROWS[[2, 3]])


def test_rows_alone_are_enough(tmp_path):
    write(tmp_path, {key: values for key, values in records().items() if key[0] == "panel"})
    _, probes = read_probes(tmp_path, REQUEST, DRAWN)
    assert (probes.gradient, probes.curvature, probes.increment) == (None, None, None)


def drop(found, *key):
    del found[key]


def resize(found, *key):
    found[key] = np.zeros(found[key].size + 1)


def move(found, name, step, other):
    found[name, other] = found.pop((name, step))


@pytest.mark.parametrize(
    ("change", "key", "said"),
    [
        (drop, ("gradient", 3), "holds no gradient of iteration 3, but of others"),
        (drop, ("panel", 2), "holds no panel of the window that begins at iteration 2"),
        (resize, ("theta", 1), "the theta of iteration 1 has 2 numbers, but 1 are due"),
        (resize, ("panel", 0), "the panel of iteration 0 has 9 numbers, but 2 rows of 4 are due"),
        (move, ("eta", 4, 5), "record eta of iteration 5, of 5, or twice"),
        (move, ("panel", 4, 3), "record panel of iteration 3, where no window begins, or twice"),
        (move, ("theta", 4, -1), "iteration -1"),
    ],
)
def test_what_is_not_whole_is_refused(tmp_path, change, key, said):
    found = records()
    change(found, *key)
    write(tmp_path, found)
    with pytest.raises(ProgramError, match=said):
        read_probes(tmp_path, REQUEST, DRAWN)


def test_a_record_twice_is_refused(tmp_path):
    write(tmp_path, records())
    path = tmp_path / "probe.bin"
    path.write_bytes(path.read_bytes() + struct.pack("<8sqqd", b"theta", 2, 1, 0.0))
    with pytest.raises(ProgramError, match="or twice"):
        read_probes(tmp_path, REQUEST, DRAWN)


def test_the_convention_of_rows_goes_with_probes_and_labels():
    with pytest.raises(InputError, match="so probes must be true"):
        ProgramFile(Program("p", ("p",)), conventions=Conventions(panel="Q"))
    assert Conventions(panel="Q").tasks == ("svm-l1", "svm-l2")
    described = ProgramFile(Program("p", ("p",), probes=True), conventions=Conventions(panel="Q"))
    assert described.declared(1).probes
    signed = ProgramFile(Program("p", ("p",), probes=True), conventions=Conventions(sign=-1))
    assert signed.declared(1).panels
    assert not signed.declared(1).probes
    traced = ProgramFile(Program("p", ("p",), "trace", probes=True))
    assert not traced.declared(1).probes
