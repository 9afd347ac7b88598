"""A certificate that was altered is refused, and the field is named, even where its digest was mended."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sstep_verify.oracle.certificate.certify import certify
from sstep_verify.oracle.certificate.file import decode, document_digest, encode
from sstep_verify.oracle.verify import kernel as verified_kernel
from sstep_verify.oracle.verify.certificate import verify_certificate
from sstep_verify.oracle.verify.record import CertificateError, Interval, SvmCertificate
from sstep_verify.problems import Hinge, LinearKernel, Problem, RBFKernel, Ridge, SquaredHinge

GENERATOR = np.random.default_rng(8)
DATA = GENERATOR.standard_normal((14, 3))
LABELS = np.sign(GENERATOR.standard_normal(14))
SMALL, LARGE = Fraction(1, 10**25), Fraction(10**9)
"""The proof has 64 bits more than the search, so radii that are 10**10 smaller may still be true."""


def _certified(kernel, loss):
    problem = Problem("random", DATA, LABELS, kernel, loss)
    return certify(problem, 30)


CERTIFICATES = {
    "svm-l1 linear": _certified(LinearKernel(), Hinge(0.5)),
    "svm-l1 rbf": _certified(RBFKernel(0.7), Hinge(0.5)),
    "svm-l2 rbf": _certified(RBFKernel(0.7), SquaredHinge(2.0)),
    "krr rbf": _certified(RBFKernel(0.7), Ridge(1e-3)),
}
SVM = [name for name in CERTIFICATES if name != "krr rbf"]


def _refused(certificate, data=DATA, targets=LABELS) -> str:
    with pytest.raises(CertificateError) as refusal:
        verify_certificate(decode(encode(certificate)), data, targets)
    assert refusal.value.field_name in str(refusal.value)
    return refusal.value.field_name


def _scaled(text: str, factor: Fraction) -> str:
    value = Fraction(text) * factor
    return f"{round(value * 10**400)}e-400"


def _at(values: tuple, place: int, value: str) -> tuple:
    return (*values[:place], value, *values[place + 1 :])


@pytest.mark.parametrize("name", CERTIFICATES)
def test_untouched_certificates_are_proved(name):
    verify_certificate(decode(encode(CERTIFICATES[name])), DATA, LABELS)


def test_the_certificates_hold_every_status():
    found = {status for name in SVM for status in CERTIFICATES[name].statuses}
    assert {"zero", "upper", "free"} <= found


@pytest.mark.parametrize("name", SVM)
def test_every_altered_status_is_refused(name):
    certificate = CERTIFICATES[name]
    for i, status in enumerate(certificate.statuses):
        for other in {"zero", "upper", "free", "undecided"} - {status}:
            if other == "undecided":
                continue  # weaker, and true while the eigenvalue stated is one of the larger matrix too
            altered = replace(certificate, statuses=_at(certificate.statuses, i, other))
            assert _refused(altered) in (f"statuses[{i}]", "eigenvalue", "remaining", f"alpha[{i}]")


@pytest.mark.parametrize("field", ["objective", "dual", "primal", "gap"])
@pytest.mark.parametrize("name", SVM)
def test_every_altered_value_and_every_shrunk_radius_is_refused(name, field):
    certificate = CERTIFICATES[name]
    stated: Interval = getattr(certificate, field)
    shrunk = Interval(stated.middle, _scaled(stated.radius, SMALL))
    moved = Interval(_scaled(stated.middle, 1 + Fraction(1, 10**9)), _scaled(stated.radius, SMALL))
    for altered in (shrunk, moved):
        assert _refused(replace(certificate, **{field: altered})) == field


@pytest.mark.parametrize("name", CERTIFICATES)
def test_a_widened_radius_does_not_keep_its_digits(name):
    certificate = CERTIFICATES[name]
    if isinstance(certificate, SvmCertificate):
        wide = Interval(certificate.objective.middle, "1e-20")
        assert _refused(replace(certificate, objective=wide)) == "digits"
    else:
        assert _refused(replace(certificate, radius="1e-20")) == "digits"
    assert _refused(replace(certificate, digits=certificate.digits + 100)) == "digits"


@pytest.mark.parametrize("name", SVM)
def test_altered_uniqueness_is_refused(name):
    certificate = CERTIFICATES[name]
    assert _refused(replace(certificate, radius=_scaled(certificate.radius, SMALL))) == "radius"
    assert _refused(replace(certificate, eigenvalue=_scaled(certificate.eigenvalue, LARGE))) == "eigenvalue"
    assert _refused(replace(certificate, eigenvalue="0")) == "eigenvalue"
    assert _refused(replace(certificate, remaining="singular")) == "eigenvalue"
    bare = replace(certificate, remaining="singular", eigenvalue="", radius="")
    assert _refused(bare) == "remaining"


@pytest.mark.parametrize("name", SVM)
def test_every_altered_coordinate_is_refused(name):
    certificate = CERTIFICATES[name]
    for i, text in enumerate(certificate.alpha):
        moved = f"{round((Fraction(text) + Fraction(1, 10**8)) * 10**400)}e-400"
        altered = replace(certificate, alpha=_at(certificate.alpha, i, moved))
        assert _refused(altered) in ("dual", "primal", f"alpha[{i}]")
    outside = replace(certificate, alpha=_at(certificate.alpha, 0, "-1e-300"))
    assert _refused(outside) == "alpha[0]"


def test_altered_ridge_statements_are_refused():
    certificate = CERTIFICATES["krr rbf"]
    for i, text in enumerate(certificate.alpha):
        moved = _at(certificate.alpha, i, _scaled(text, 1 + Fraction(1, 10**12)))
        assert _refused(replace(certificate, alpha=moved)) == "residual"
    for field in ("radius", "residual"):
        shrunk = _scaled(getattr(certificate, field), SMALL)
        assert _refused(replace(certificate, **{field: shrunk})) == field
    for i, text in enumerate(certificate.radii):
        shrunk = _at(certificate.radii, i, _scaled(text, SMALL))
        assert _refused(replace(certificate, radii=shrunk)) == f"radii[{i}]"
    for field in ("objective", "gap"):
        stated = getattr(certificate, field)
        shrunk = Interval(stated.middle, _scaled(stated.radius, SMALL))
        assert _refused(replace(certificate, **{field: shrunk})) == field


@pytest.mark.parametrize(("table", "together"), [(1, 1), (5, 3), (4, 14), (13, 13)])
@pytest.mark.parametrize("name", CERTIFICATES)
def test_the_judgement_does_not_depend_on_how_the_kernel_is_cut_into_blocks(
    name, table, together, monkeypatch
):
    monkeypatch.setattr(verified_kernel, "ROWS_AT_ONCE", table)
    monkeypatch.setattr(verified_kernel, "ROWS_TOGETHER", together)
    certificate = CERTIFICATES[name]
    verify_certificate(certificate, DATA, LABELS)
    for i in range(len(DATA)):
        moved = _scaled(certificate.alpha[i], 1 + Fraction(1, 10**12))
        if Fraction(moved) != Fraction(certificate.alpha[i]):
            _refused(replace(certificate, alpha=_at(certificate.alpha, i, moved)))


@pytest.mark.parametrize("name", CERTIFICATES)
def test_other_data_and_other_problems_are_refused(name):
    certificate = CERTIFICATES[name]
    other = DATA.copy()
    other[3, 1] = np.nextafter(other[3, 1], 9.0)
    assert _refused(certificate, other) == "subject.values_digest"
    assert _refused(certificate, DATA[:-1], LABELS[:-1]) == "subject.samples"
    assert _refused(certificate, DATA[:, :2]) == "subject.features"
    subject = certificate.subject
    _refused(replace(certificate, subject=replace(subject, parameter=subject.parameter * (1 + 1e-9))))
    _refused(replace(certificate, subject=replace(subject, values_digest="0" * 64)))
    if subject.kernel == "rbf":
        _refused(replace(certificate, subject=replace(subject, sigma=subject.sigma * (1 + 1e-9))))
        _refused(replace(certificate, subject=replace(subject, kernel="linear")))


@pytest.mark.parametrize("name", CERTIFICATES)
def test_every_field_of_the_file_is_under_its_digest(name):
    document = json.loads(encode(CERTIFICATES[name]))
    for field in document:
        changed = dict(document, **{field: "changed"})
        with pytest.raises(CertificateError):
            decode(json.dumps(changed))
        without = {key: value for key, value in document.items() if key != field}
        without["digest"] = document_digest(without)
        if field != "digest":
            with pytest.raises(CertificateError, match=field):
                decode(json.dumps(without))


def test_malformed_fields_are_named():
    document = json.loads(encode(CERTIFICATES["svm-l1 rbf"]))
    for field, value, named in [
        ("alpha", ["1.5", "one"], r"alpha\[1\]"),
        ("alpha", ["1e999999"], r"alpha\[0\]"),
        ("statuses", ["nought"], r"statuses\[0\]"),
        ("digits", -1, "digits"),
        ("digits", True, "digits"),
        ("objective", {"middle": "1"}, "objective.radius"),
        ("subject", dict(document["subject"], extra=1), "subject.extra"),
    ]:
        changed = dict(document, **{field: value})
        changed["digest"] = document_digest(changed)
        with pytest.raises(CertificateError, match=named):
            decode(json.dumps(changed))
