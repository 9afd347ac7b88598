"""Artefacts: what goes in comes out bit for bit, and what was tampered with is refused."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from artefact_cases import artefact_with, drawn_case, drawn_trajectory
from broken_headers import HEADERS, with_header

from sstep_verify.campaign.artefact import form as artefact_arrays
from sstep_verify.campaign.artefact.files import NEEDED, read_artefact, write_artefact
from sstep_verify.campaign.artefact.form import SCHEMA, to_plain
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
        wide=drawn_trajectory(np.longdouble, weights=np.eye(2), fingerprints={2: ("ab", "cd")}),
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
    sums.write_text(f"{whole}rubbish\n", encoding="ascii")
    with pytest.raises(InputError, match=r"unknown file \(a line without a name\);"):
        read_artefact(path)
    sums.write_text("".join(line for line in whole.splitlines(True) if "problem" not in line), "ascii")
    with pytest.raises(InputError, match=r"does not list problem\.npz"):
        read_artefact(path)
    sums.unlink()
    with pytest.raises(InputError, match="is no artefact"):
        read_artefact(path)


def _remade(path, name: str, content: bytes) -> None:
    """Change a file and let the list of digests agree with it."""
    before = _digest(path / name)
    (path / name).write_bytes(content)
    sums = path / "SHA256SUMS"
    sums.write_text(sums.read_text("ascii").replace(before, _digest(path / name)), encoding="ascii")


def _rewritten(path, change) -> None:
    document = json.loads((path / "artefact.json").read_text("utf-8"))
    change(document)
    _remade(path, "artefact.json", json.dumps(document).encode())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda document: document.update(schema=SCHEMA + 1),
            f"has schema version {SCHEMA + 1}, but .* reads schema {SCHEMA}",
        ),
        (lambda document: document["case"].update(news=1), "case: unknown field `news`"),
        (lambda document: document["case"]["problem"].update(record="Popen"), "'Popen' is rejected"),
        (lambda document: document["case"]["problem"]["targets"].update(member="x"), "'x' is missing"),
        (lambda document: document["case"]["problem"].update(targets=[1.0]), "got `array`"),
        (lambda document: document.update(s="4"), "s: '4' is rejected: expected `int`, got `str`"),
        (lambda document: document["stream"].update(blocks=10**15), "1000000000000000 blocks"),
        (lambda document: document["verdicts"][0].pop("bound"), r"verdicts\[0\]: missing field `bound`"),
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


def _claims(shape: str, dtype: str = "'<f8'") -> bytes:
    """A ``.npy`` file of 24 bytes that says it has another shape."""
    return with_header(f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}", bytes(24))


@pytest.mark.parametrize("name", ["problem.npz", "trajectories.npz"])
@pytest.mark.parametrize(
    "claim",
    [
        _claims(f"({1 << 40},)"),
        _claims(f"({1 << 62}, 4)"),
        _claims("(-3,)"),
        _claims("(3,)", "'|O'"),
        b"",
        b"\x93NUMPY",
        *map(with_header, HEADERS.values()),
    ],
    ids=["8 TiB", "2^62 rows", "negative", "objects", "empty", "cut", *HEADERS],
)
def test_what_an_array_claims_is_compared_before_it_is_made(path, name, claim):
    with zipfile.ZipFile(path / name) as archive:
        held = {member: archive.read(member) for member in archive.namelist()}
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in {**held, "a0.npy": claim}.items():
            archive.writestr(member, content)
    _remade(path, name, whole.getvalue())
    with pytest.raises(InputError, match=str(path)) as caught:
        read_artefact(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"PK", b"\x93NUMPY", b"[" * 10**6, b'{"schema": 4}', b"null"])
@pytest.mark.parametrize("name", NEEDED)
def test_a_file_that_is_something_else_is_refused(path, name, content):
    _remade(path, name, content)
    with pytest.raises(InputError, match=str(path)) as caught:
        read_artefact(path)
    assert "\n" not in str(caught.value)


def test_arrays_that_unpack_to_more_than_a_process_may_take_are_refused(path, monkeypatch):
    monkeypatch.setattr(artefact_arrays, "MOST_BYTES", 100)
    with pytest.raises(InputError, match="bytes of arrays, but at most 100 are read"):
        read_artefact(path)


@pytest.mark.parametrize("name", [*NEEDED, "SHA256SUMS"])
@pytest.mark.parametrize("kind", ["fifo", "link", "folder"])
def test_only_regular_files_are_read(path, tmp_path, name, kind):
    (path / name).rename(tmp_path / "moved")
    if kind == "fifo":
        os.mkfifo(path / name)
    elif kind == "link":
        (path / name).symlink_to(tmp_path / "moved")
    else:
        (path / name).mkdir()
    with pytest.raises(InputError, match=r"not a regular file|it is a link|is no artefact"):
        read_artefact(path)


def test_a_stream_of_a_file_that_claims_more_than_it_holds_is_refused(tmp_path):
    file = tmp_path / "draws.npy"
    np.save(file, np.arange(80).reshape(-1, 1) % 12)
    stream = IndexStream("file", 12, 1, 75, path=str(file))
    path = write_artefact(artefact_with(drawn_case(Hinge(), LinearKernel(), stream=stream)), tmp_path)
    _remade(path, "stream.npy", _claims(f"({1 << 40}, 1)", "'<i8'"))
    with pytest.raises(
        InputError, match=r"stream\.npy: says that it is an array of shape \(1099511627776, 1\)"
    ):
        read_artefact(path)


def test_indices_outside_a_sparse_matrix_are_refused(tmp_path):
    path = write_artefact(artefact_with(drawn_case(Hinge(), LinearKernel(), sparse=True)), tmp_path)
    _rewritten(path, lambda document: document["case"]["problem"]["data"].update(shape=[12, 2]))
    with pytest.raises(InputError, match="cannot be read as an artefact"):
        read_artefact(path)
