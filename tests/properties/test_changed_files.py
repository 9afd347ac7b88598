"""Files changed at random, digests made again: one line of a typed error, or the right result."""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from artefact_cases import artefact_with, drawn_case, drawn_trajectory
from report.test_reporting_documents import every_status

from sstep_verify.campaign.artefact.files import SUMS, read_artefact, write_artefact
from sstep_verify.errors import InputError
from sstep_verify.oracle.certificate.file import decode, document_digest, encode
from sstep_verify.oracle.verify.record import CertificateError, Interval, RidgeCertificate, Subject
from sstep_verify.problems import RBFKernel, Ridge
from sstep_verify.report.results import dumps, loads

CHANGES = 200

STRANGE = (
    None, True, False, 0, -1, 2, 2**31, -(2**63), 2**64, 10**39, 10**400, 0.0, -0.5, 1e-308, 1.7e308, "", "1", "nan",
    "inf", "\0", "\ud800", "../../x", "9" * 20_000, "1e99999", [], [[]], {}, {"": None}, [0] * 1000,
)  # fmt: skip


def _places(value, path=()):
    """Paths of all values in a document of lists and objects."""
    items = (
        enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    )
    for key, item in items:
        yield (*path, key)
        yield from _places(item, (*path, key))


def _changed(document, generator):
    """A document with one value replaced, removed, doubled, renamed or nested deeply."""
    document = copy.deepcopy(document)
    places = list(_places(document))
    *path, key = places[generator.integers(len(places))]
    held = document
    for step in path:
        held = held[step]
    match int(generator.integers(6)):
        case 0:
            del held[key]
        case 1 if isinstance(held, dict):
            held[f"{key}x"] = held.pop(key)
        case 2 if isinstance(held, list):
            held.append(held[key])
        case 3:
            held[key] = [held[key]]
        case _:
            held[key] = STRANGE[generator.integers(len(STRANGE))]
    return document


def _cut(content: bytes, generator) -> bytes:
    """A text that is cut, or holds another byte, or is nested beyond any stack."""
    place = int(generator.integers(len(content)))
    match int(generator.integers(3)):
        case 0:
            return content[:place]
        case 1:
            return content[:place] + bytes([int(generator.integers(256))]) + content[place + 1 :]
    return content[:place] + b"[" * 100_000


def _texts(document, seed, encoded=json.dumps):
    """Changed documents as text, whole ones first."""
    generator = np.random.Generator(np.random.PCG64(seed))
    for _ in range(CHANGES):
        content = encoded(_changed(document, generator)).encode("utf-8", "surrogatepass")
        yield content if generator.random() < 0.8 else _cut(content, generator)


def _readable(read, *values) -> bool:
    """Whether a reader takes the values; if it refuses, it must do so in one line of a typed error."""
    try:
        read(*values)
    except (InputError, CertificateError) as error:
        message = str(error)
    else:
        return True
    assert message.isprintable()
    assert len(message) < 1_000
    return False


def test_a_changed_results_document_is_refused_or_read():
    document = json.loads(dumps(every_status()))
    read = [_readable(lambda text: dumps(loads(text)), text) for text in _texts(document, 1)]
    assert 0 < sum(read) < CHANGES // 2


def test_a_changed_certificate_is_refused_or_read():
    value = Interval("5e-3", "1e-40")
    subject = Subject("x", 3, 2, "ab", "krr", 1.0, "rbf", sigma=0.5)
    whole = RidgeCertificate(
        subject, 30, 256, ("1e-3",) * 3, "1e-40", ("1e-40",) * 3, "1e-40", value, value, "so"
    )
    texts = _texts(
        json.loads(encode(whole)),
        2,
        lambda changed: json.dumps({**changed, "digest": document_digest(changed)}),
    )
    read = [_readable(lambda text: encode(decode(text)), text.decode("utf-8", "replace")) for text in texts]
    assert 0 < sum(read) < CHANGES // 2


@pytest.fixture
def artefact(tmp_path) -> Path:
    case = drawn_case(Ridge(0.1), RBFKernel(0.5), sparse=True)
    return write_artefact(artefact_with(case, run=drawn_trajectory(np.float64)), tmp_path)


def _put(folder: Path, name: str, content: bytes) -> None:
    """Write a file of an artefact, and the list of digests so that it agrees."""
    (folder / name).write_bytes(content)
    lines = [line.partition("  ") for line in (folder / SUMS).read_text("ascii").splitlines()]
    found = {held: hashlib.sha256((folder / held).read_bytes()).hexdigest() for _, _, held in lines}
    (folder / SUMS).write_text("".join(f"{digest}  {held}\n" for held, digest in found.items()), "ascii")


def _taken(folder: Path, name: str, content: bytes) -> bool:
    _put(folder, name, content)
    return _readable(read_artefact, folder)


def test_a_changed_artefact_is_refused_or_read(artefact):
    document = json.loads((artefact / "artefact.json").read_text("utf-8"))
    read = [_taken(artefact, "artefact.json", content) for content in _texts(document, 3)]
    assert 0 < sum(read) < CHANGES // 2


@pytest.mark.parametrize("name", ["problem.npz", "trajectories.npz"])
def test_changed_arrays_are_refused_or_read(artefact, name):
    generator = np.random.Generator(np.random.PCG64(4))
    whole = (artefact / name).read_bytes()
    assert not all(_taken(artefact, name, _cut(whole, generator)) for _ in range(CHANGES // 4))
    assert _taken(artefact, name, whole)
