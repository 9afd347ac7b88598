"""The paper's data sets: shapes, targets, scaling, checksums; the digest that pins values."""

import bz2
import hashlib

import numpy as np
import pytest
import scipy.sparse as sp
from toy_set import LABELS, VALUES

from sstep_verify.problems.data import datasets, embedded, registry
from sstep_verify.problems.data.registry import values_digest

CLASSES = {"duke": (21, 23), "colon-cancer": (40, 22), "diabetes": (268, 500), "diabetes_scale": (268, 500)}
SHAPES = {
    "duke": (44, 7129, 313_676),
    "colon-cancer": (62, 2000, 124_000),
    "diabetes": (768, 8, 5_381),
    "diabetes_scale": (768, 8, 6_135),
    "abalone": (4177, 8, 33_414),
    "abalone_scale": (4177, 8, 32_080),
    "bodyfat": (252, 14, 3_527),
    "bodyfat_scale": (252, 14, 3_528),
}
TARGET_RANGES = {"abalone": (1, 29), "bodyfat": (0.995, 1.1089)}


# --- the real files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHAPES)
def test_real_data_have_the_published_shape_and_targets(data_directory, name):
    found = datasets.load(name, directory=data_directory)
    samples, features, nonzeros = SHAPES[name]
    assert found.data.shape == (samples, features)
    assert isinstance(found.data, np.ndarray)
    assert np.count_nonzero(found.data) == nonzeros
    assert found.name == name
    if name in CLASSES:
        assert found.task == "classification"
        assert ((found.targets == -1).sum(), (found.targets == 1).sum()) == CLASSES[name]
        assert sum(CLASSES[name]) == samples
    else:
        assert found.task == "regression"
        least, largest = TARGET_RANGES[name.removesuffix("_scale")]
        assert (found.targets.min(), found.targets.max()) == (least, largest)
    with open(found.source, "rb") as handle:
        assert found.sha256 == hashlib.sha256(handle.read()).hexdigest()


@pytest.mark.parametrize("name", ["diabetes", "abalone", "bodyfat"])
def test_scaling_makes_the_scaled_file_of_the_unscaled_one_exactly(data_directory, name):
    raw = datasets.load(name, directory=data_directory)
    scaled = datasets.load(f"{name}_scale", directory=data_directory)
    np.testing.assert_array_equal(embedded.scale_to_unit_box(raw.data), scaled.data)
    np.testing.assert_array_equal(raw.targets, scaled.targets)


def test_the_official_file_is_recognised_by_its_checksum(data_directory):
    assert "byte for byte LIBSVM's file" in datasets.load("colon-cancer", directory=data_directory).notes
    assert datasets.load("diabetes", directory=data_directory).notes == ()


def test_compressing_the_official_text_gives_the_official_compressed_file(data_directory):
    packed = bz2.compress((data_directory / "colon-cancer").read_bytes(), 9)
    assert hashlib.sha256(packed).hexdigest() == registry.registry()["colon-cancer"].sha256[".bz2"]


def test_the_registry_is_complete_and_well_formed():
    entries = registry.registry()
    assert set(entries) == set(SHAPES)
    for name, entry in entries.items():
        assert (entry.samples, entry.features, entry.nonzeros) == SHAPES[name]
        assert entry.classes == CLASSES.get(name, ())
        assert entry.task == ("classification" if name in CLASSES else "regression")
        assert entry.page.split("/")[1].removesuffix(".bz2") == name
        for digest in (entry.digest, *entry.sha256.values()):
            assert len(digest) == 64
            assert int(digest, 16) > 0
    assert len({entry.digest for entry in entries.values()}) == len(entries)
    assert datasets.names() == (*entries, *embedded.NAMES)


# --- the digest -------------------------------------------------------------------------------------


def test_the_digest_is_of_values_not_of_storage():
    digest = values_digest(VALUES, LABELS)
    with_zero = sp.csr_array((np.array([1.5, 0.0, -4, 2, 3, 1, -0.0, 1, 1]), *csr_pattern()), shape=(3, 3))
    assert with_zero.nnz == 9
    assert values_digest(with_zero, LABELS) == digest
    assert values_digest(sp.csr_array(VALUES), LABELS) == digest
    assert values_digest(np.asfortranarray(VALUES), LABELS.astype(">f8")) == digest
    assert with_zero.nnz == 9


def csr_pattern():
    return np.tile(np.arange(3), 3), np.arange(0, 10, 3)


@pytest.mark.parametrize(
    ("data", "targets"),
    [
        (np.nextafter(VALUES, 9), LABELS),
        (VALUES, -LABELS),
        (VALUES[::-1], LABELS[::-1]),
        (VALUES[:, ::-1], LABELS),
        (np.hstack([VALUES, np.zeros((3, 1))]), LABELS),
    ],
    ids=["one ulp", "labels", "row order", "feature order", "an empty feature"],
)
def test_the_digest_sees_every_change_of_values(data, targets):
    assert values_digest(data, targets) != values_digest(VALUES, LABELS)
