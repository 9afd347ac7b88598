"""Artefacts: what goes in comes out bit for bit, and what was tampered with is refused."""

from __future__ import annotations

import dataclasses
import hashlib
import json

import numpy as np
import pytest
import scipy.sparse as sp
from artefact_cases import artefact_with, drawn_case, drawn_trajectory

from sstep_verify.campaign.artefact import NEEDED, SCHEMA, read_artefact, write_artefact
from sstep_verify.campaign.artefact_values import to_plain
from sstep_verify.errors import InputError
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.trajectory import Claim, Panel


def _same(one, other):
    assert type(one) is type(other)
    if dataclasses.is_dataclass(one):
        for item in dataclasses.fields(one):
            _same(getattr(one, item.name), getattr(other, item.name))
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif sp.issparse(one):
        for part in ("indptr", "indices", "data"):
            _same(getattr(one, part), getattr(other, part))
        assert one.shape == other.shape
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            _same(one[key], other[key])
    else:
        assert one == other


@pytest.mark.parametrize(
    ("loss", "kernel", "sparse"),
    [
        (Hinge(0.1), LinearKernel(), False),
        (SquaredHinge(1 / 3), PolynomialKernel(2, 0.1), True),
        (Ridge(1e-300), RBFKernel(0.7), True),
    ],
)
def test_what_goes_in_comes_out_in_every_bit(tmp_path, loss, kernel, sparse):
    kept = artefact_with(
        drawn_case(loss, kernel, sparse=sparse),
        plain=drawn_trajectory(np.float64, panels={0: Panel(np.array([2, 1]), np.full((2, 3), 0.1))}),
        single=drawn_trajectory(np.float32, claims={"gap": Claim(float("inf"), 5e-7)}),
        wide=drawn_trajectory(np.longdouble, state={"a/b": np.eye(2)}, fingerprints={2: ("ab", "cd")}),
    )
    path = write_artefact(kept, tmp_path / "new")
    assert path.name == "drawn-1-window-replay-s4"
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    _same(read_artefact(path), kept)
    assert read_artefact(path).case.problem.digest == kept.case.problem.digest


def test_a_stream_from_a_file_needs_the_file_no_more(tmp_path):
    file = tmp_path / "draws.txt"
    file.write_text("\n".join(str(7 * k % 12) for k in range(80)), encoding="ascii")
    stream = IndexStream("file", 12, 1, 75, path=str(file), relabel=3)
    kept = artefact_with(
        drawn_case(Hinge(), LinearKernel(), stream=stream), run=drawn_trajectory(np.float64)
    )
    path = write_artefact(kept, tmp_path)
    wanted = stream.blocks(0, 75)
    file.unlink()
    np.testing.assert_array_equal(read_artefact(path).case.stream.blocks(0, 75), wanted)
    assert str(tmp_path) not in (path / "artefact.json").read_text("utf-8")


def test_folders_stay_inside_and_apart(tmp_path):
    case = dataclasses.replace(drawn_case(Hinge(), LinearKernel()), id="../../ä b/" + "x" * 300)
    paths = [write_artefact(artefact_with(case), tmp_path) for _ in range(3)]
    assert {path.parent for path in paths} == {tmp_path}
    assert len({path.name for path in paths}) == 3
    assert all("-window-replay-s4" in path.name and len(path.name) < 200 for path in paths)


def test_objects_are_refused_for_there_is_no_pickle(tmp_path):
    with pytest.raises(InputError, match=r"alphas: a object array cannot be kept"):
        write_artefact(
            artefact_with(drawn_case(Hinge(), LinearKernel()), run=drawn_trajectory(object)), tmp_path
        )
    with pytest.raises(InputError, match=r"x: a set cannot be kept"):
        to_plain({1}, "x", {})
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def path(tmp_path):
    return write_artefact(
        artefact_with(drawn_case(Hinge(), LinearKernel()), run=drawn_trajectory(np.float64)), tmp_path
    )


def _digest(file) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _flip(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("change", [_flip, lambda content: content[:-9], lambda content: b""])
@pytest.mark.parametrize("name", NEEDED)
def test_a_changed_or_cut_file_is_named_with_both_digests(path, name, change):
    before = _digest(path / name)
    (path / name).write_bytes(change((path / name).read_bytes()))
    with pytest.raises(InputError) as caught:
        read_artefact(path)
    for word in (str(path / name), before, _digest(path / name)):
        assert word in str(caught.value)


@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_file_is_named(path, name):
    (path / name).unlink()
    with pytest.raises(InputError, match=rf"{name}: is missing"):
        read_artefact(path)


def test_a_list_of_digests_that_names_other_files_is_refused(path, tmp_path):
    sums = path / "SHA256SUMS"
    (tmp_path / "outside").write_text("x", encoding="ascii")
    whole = sums.read_text("ascii")
    sums.write_text(f"{whole}{_digest(tmp_path / 'outside')}  ../outside\n", encoding="ascii")
    with pytest.raises(InputError, match=r"unknown file \.\./outside"):
        read_artefact(path)
    sums.write_text("".join(line for line in whole.splitlines(True) if "problem" not in line), "ascii")
    with pytest.raises(InputError, match=r"does not list problem\.npz"):
        read_artefact(path)
    sums.unlink()
    with pytest.raises(InputError, match="is no artefact"):
        read_artefact(path)


def _rewritten(path, change) -> None:
    """Change the document and let the list of digests agree with it."""
    file = path / "artefact.json"
    before, document = _digest(file), json.loads(file.read_text("utf-8"))
    change(document)
    file.write_text(json.dumps(document), encoding="utf-8")
    sums = path / "SHA256SUMS"
    sums.write_text(sums.read_text("ascii").replace(before, _digest(file)), encoding="ascii")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda document: document.update(schema=SCHEMA + 1), "schema version 2"),
        (lambda document: document["case"].update(news=1), "'news' of Case is unknown"),
        (lambda document: document["case"]["problem"].update(record="Popen"), "'Popen' is unknown"),
        (lambda document: document["case"]["problem"]["targets"].update(array="x"), "'x' is missing"),
        (lambda document: document["case"]["problem"]["loss"].update(C=-1.0), "must be finite and > 0"),
        (lambda document: document["case"]["stream"].update(seed=2), "have SHA-256"),
        (lambda document: document.pop("verdicts"), "verdicts"),
    ],
)
def test_a_document_that_cannot_be_used_says_why(path, change, words):
    _rewritten(path, change)
    with pytest.raises(InputError, match=words) as caught:
        read_artefact(path)
    assert str(path) in str(caught.value)
