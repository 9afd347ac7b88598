"""Files of certificates: numbers that no certificate needs, and files that are none, are refused by name."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from test_certificate_cache import ONE

from sstep_verify.errors import InputError
from sstep_verify.oracle.certificate import file
from sstep_verify.oracle.certificate.file import (
    decode,
    document_digest,
    encode,
    read_certificate,
    require_writable,
)
from sstep_verify.oracle.verify.record import CertificateError
from sstep_verify.problems import Hinge, PolynomialKernel, Problem


def _with(*path, value) -> str:
    """A certificate with another value at one place, and a digest that agrees."""
    document = json.loads(encode(ONE))
    held = document
    for key in path[:-1]:
        held = held[key]
    held[path[-1]] = value
    document["digest"] = document_digest(document)
    return json.dumps(document)


def test_what_is_written_is_read():
    assert decode(encode(ONE)) == ONE


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("subject", "sigma"), 10**39),
        (("subject", "bias"), 10**400),
        (("subject", "samples"), 10**40),
        (("subject", "degree"), 10**30),
        (("subject", "parameter"), "1"),
        (("subject", "sigma"), True),
        (("bits",), 10**30),
        (("digits",), -1),
        (("dual", "middle"), "9" * 20_000),
        (("dual", "radius"), "9" * 4_001),
        (("dual", "radius"), "1e99999"),
        (("primal", "middle"), "nan"),
        (("radius",), "9" * 19_999 + "e10000"),
        (("eigenvalue",), "1" * 4_000 + "." + "1" * 4_000),
        (("alpha", 0), "9" * 5_000),
        (("alpha", 0), "\u0661"),
        (("statuses", 0), "none"),
        (("provenance",), []),
        (("news",), 1),
    ],
)
def test_a_number_that_no_certificate_needs_is_refused_by_its_field(path, value):
    with pytest.raises(CertificateError) as refused:
        decode(_with(*path, value=value))
    name = ".".join(map(str, path)).replace(".0", "[0]")
    assert refused.value.field_name == name
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    "text", ["", "[" * 10**5, '{"a":' * 10**5, "null", "[]", '{"schema": NaN}', "9" * 5_000]
)
def test_text_that_is_no_certificate_is_refused(text):
    with pytest.raises(CertificateError):
        decode(text)


@pytest.mark.parametrize(
    ("largest", "offset", "degree"),
    [(1e60, 0.0, 100), (1e-60, 0.0, 100), (1.0, 1e100, 50), (0.0, 1e308, 14)],
)
def test_a_kernel_whose_entries_no_certificate_holds_is_refused_before_any_work(largest, offset, degree):
    data, labels = np.full((2, 3), largest), np.array([1.0, -1.0])
    problem = Problem("large", data, labels, PolynomialKernel(degree, offset), Hinge())
    with pytest.raises(InputError, match=r"take a degree of at most \d+, or scale the data"):
        require_writable(problem)
    require_writable(Problem("large", data, labels, PolynomialKernel(3, offset), Hinge()))


def test_only_a_regular_file_of_a_stated_size_is_read(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "fifo")
    for name in ("fifo", ".", "none", "\0", "x" * 300):
        with pytest.raises(InputError, match="cannot be read as a certificate"):
            read_certificate(tmp_path / name)
    (tmp_path / "large").write_text(encode(ONE), "utf-8")
    monkeypatch.setattr(file, "MOST_BYTES", 100)
    with pytest.raises(InputError, match="of a certificate at most 100 bytes are read"):
        read_certificate(tmp_path / "large")
