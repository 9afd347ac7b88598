"""Data sets: real files, look-up order, pinned values, download (from a local server), embedded sets."""

import bz2
import dataclasses
import gzip
import hashlib
import lzma
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest
import scipy.sparse as sp

from sstep_verify.errors import DataError, InputError, MissingExtraError
from sstep_verify.problems import datasets, embedded, registry
from sstep_verify.problems.registry import Pinned, values_digest

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

TEXT = b"2 1:1.5 2:0 3:-4\n4 1:2 2:3 3:1\n2 2:1 3:1\n"
VALUES = np.array([[1.5, 0, -4], [2, 3, 1], [0, 1, 1]])
LABELS = np.array([-1.0, 1.0, -1.0])


@pytest.fixture(autouse=True)
def no_outside(monkeypatch, tmp_path):
    """No variable of the caller, no cache of the caller, no network but the loop-back address."""
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv(datasets.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(registry, "SITE", "http://127.0.0.1:9/")  # discard port: nothing answers
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def toy(monkeypatch) -> Pinned:
    """A small registered data set; the registry holds nothing else."""
    entry = Pinned(
        name="toy",
        task="classification",
        samples=3,
        features=3,
        nonzeros=7,
        digest=values_digest(VALUES, LABELS),
        page="binary/toy.bz2",
        classes=(2, 1),
        sha256={},
    )
    return register(monkeypatch, entry)


def register(monkeypatch, entry: Pinned) -> Pinned:
    monkeypatch.setattr(datasets, "registry", lambda: {entry.name: entry})
    return entry


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


# --- look-up ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [("", bytes), (".bz2", bz2.compress), (".xz", lzma.compress), (".gz", gzip.compress)],
)
def test_a_folder_may_hold_the_file_in_any_form(toy, tmp_path, suffix, pack):
    path = tmp_path / f"toy{suffix}"
    path.write_bytes(pack(TEXT))
    found = datasets.load("toy", directory=tmp_path)
    np.testing.assert_array_equal(found.data, VALUES)
    np.testing.assert_array_equal(found.targets, LABELS)
    assert found.source == str(path)
    assert found.notes == ("labels mapped: 2 -> -1, 4 -> +1",)


def test_the_folder_given_comes_before_the_variable(toy, tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / "toy").write_bytes(TEXT)
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(second))
    assert datasets.load("toy", directory=first).source == str(first / "toy")
    assert datasets.load("toy").source == str(second / "toy")
    (first / "toy").unlink()
    assert datasets.load("toy", directory=first).source == str(second / "toy")


def test_a_folder_that_does_not_exist_is_refused(toy, tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"--data.*absent"):
        datasets.load("toy", directory=tmp_path / "absent")
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path / "gone"))
    with pytest.raises(InputError, match=r"\$SSTEP_VERIFY_DATA.*gone"):
        datasets.load("toy")


def test_data_and_targets_are_read_only(toy, tmp_path):
    (tmp_path / "toy").write_bytes(TEXT)
    found = datasets.load("toy", directory=tmp_path)
    for array in (found.data, found.targets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.name = "other"


WRONG = {
    "another value": (TEXT.replace(b"1.5", b"1.25"), "digest of values: expected"),
    "another label": (
        TEXT.replace(b"2 2:1", b"4 2:1"),
        r"labels -1 and \+1: expected \(2, 1\), found \(1, 2\)",
    ),
    "a lost line": (TEXT[: TEXT.index(b"2 2:1")], r"shape: expected \(3, 3\), found \(2, 3\)"),
    "a value more": (TEXT.replace(b"2:0", b"2:9"), "different from 0: expected 7, found 8"),
    "a feature more": (TEXT.replace(b"3:-4", b"3:-4 4:1"), r"line 1: index '4' in '4:1' is outside 1\.\.3"),
    "a third class": (TEXT + b"5 1:1\n", "3 distinct values: 2, 4, 5"),
    "a broken line": (TEXT + b"2 1:x\n", "line 4: value 'x'"),
}


@pytest.mark.parametrize(("content", "fault"), WRONG.values(), ids=WRONG)
def test_a_file_that_only_has_the_name_is_refused_with_the_way_out(toy, tmp_path, content, fault):
    path = tmp_path / "toy"
    path.write_bytes(content)
    with pytest.raises(DataError, match=fault) as caught:
        datasets.load("toy", directory=tmp_path)
    message = str(caught.value)
    assert message.startswith(f"{path}: is not the data set 'toy': ")
    assert f"or pass the path {path} to use it as it is" in message


def test_the_way_out_works(toy, tmp_path):
    path = tmp_path / "toy"
    path.write_bytes(TEXT.replace(b"1.5", b"1.25"))
    assert datasets.load(path).data[0, 0] == datasets.load(str(path)).data[0, 0] == 1.25


# --- any file ---------------------------------------------------------------------------------------


def test_a_path_is_read_as_it_is(tmp_path):
    path = tmp_path / "mine.txt.gz"
    path.write_bytes(gzip.compress(TEXT))
    found = datasets.load(path)
    assert (found.name, found.task, found.source) == ("mine.txt.gz", "classification", str(path))
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.notes == ("labels mapped: 2 -> -1, 4 -> +1",)
    np.testing.assert_array_equal(found.targets, LABELS)


def test_a_path_for_regression_keeps_its_two_targets(tmp_path):
    path = tmp_path / "mine"
    path.write_bytes(TEXT)
    found = datasets.load(path, task="regression")
    np.testing.assert_array_equal(found.targets, [2, 4, 2])
    assert found.notes == ()


def test_the_task_follows_from_the_targets_unless_told(tmp_path):
    path = tmp_path / "mine"
    path.write_bytes(TEXT + b"7.5 1:1\n")
    assert datasets.load(path).task == "regression"
    with pytest.raises(InputError, match=r"mine .*3 distinct values: 2, 4, 7\.5"):
        datasets.load(path, task="classification")
    with pytest.raises(InputError, match="'ranking' is unknown"):
        datasets.load(path, task="ranking")


def test_sparse_data_stay_sparse_without_stored_zeros(tmp_path):
    path = tmp_path / "sparse"
    path.write_bytes(b"1 1:1 2:0\n2 4:1\n3 3:-0\n")
    found = datasets.load(path)
    assert isinstance(found.data, sp.csr_array)
    assert found.data.nnz == 2
    np.testing.assert_array_equal(found.data.toarray(), [[1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    with pytest.raises(ValueError, match="read-only"):
        found.data.data[0] = 3


def test_an_unknown_name_lists_the_known_ones(tmp_path):
    with pytest.raises(InputError, match=r"'dukke' is neither a known name nor an existing file") as caught:
        datasets.load("dukke", directory=tmp_path)
    for name in datasets.names():
        assert name in str(caught.value)


# --- the download, from a server on this machine ------------------------------------------------------


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Folder that a local HTTP server offers in LIBSVM's place; `site.requests` lists what was asked."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            requests.append(self.path)

    requests: list[str] = []
    folder = tmp_path / "site"
    (folder / "binary").mkdir(parents=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    monkeypatch.setattr(registry, "SITE", f"http://127.0.0.1:{server.server_address[1]}/")
    yield folder, requests
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_download_is_kept_and_not_repeated(toy, site, tmp_path):
    folder, requests = site
    (folder / "binary" / "toy.bz2").write_bytes(bz2.compress(TEXT))
    for _ in range(2):
        found = datasets.load("toy", directory=folder)  # holds binary/toy.bz2, not toy.bz2
        np.testing.assert_array_equal(found.data, VALUES)
        assert found.source == toy.url
    assert requests == ["/binary/toy.bz2"]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["toy.bz2"]


def test_a_download_of_other_values_is_refused_and_not_kept(toy, site, tmp_path):
    target = site[0] / "binary" / "toy.bz2"
    target.write_bytes(bz2.compress(TEXT.replace(b"1.5", b"1.25")))
    with pytest.raises(DataError, match="digest of values: expected") as caught:
        datasets.load("toy")
    assert toy.url in str(caught.value)
    assert not any((tmp_path / "cache").iterdir())
    target.write_bytes(bz2.compress(TEXT))
    np.testing.assert_array_equal(datasets.load("toy").data, VALUES)


def test_a_page_in_place_of_the_file_is_refused_and_not_kept(toy, site, tmp_path):
    (site[0] / "binary" / "toy.bz2").write_bytes(b"<html>please log in</html>")
    with pytest.raises(DataError, match=r"cannot be read as \.bz2"):
        datasets.load("toy")
    assert not any((tmp_path / "cache").iterdir())


def test_a_pinned_checksum_is_enforced_on_the_download(toy, site, monkeypatch, tmp_path):
    packed = bz2.compress(TEXT)
    found = hashlib.sha256(packed).hexdigest()
    (site[0] / "binary" / "toy.bz2").write_bytes(packed)
    register(monkeypatch, dataclasses.replace(toy, sha256={".bz2": "0" * 64, "": "1" * 64}))
    with pytest.raises(DataError, match="is not the file that was pinned") as caught:
        datasets.load("toy")
    for part in (toy.url, "0" * 64, found):
        assert part in str(caught.value)
    assert not any((tmp_path / "cache").iterdir())
    register(monkeypatch, dataclasses.replace(toy, sha256={".bz2": found}))
    assert "byte for byte LIBSVM's file" in datasets.load("toy").notes


def test_without_a_file_and_a_network_all_ways_are_told(toy, tmp_path, monkeypatch):
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(InputError) as caught:
        datasets.load("toy", directory=tmp_path)
    message = str(caught.value)
    assert not isinstance(caught.value, DataError)
    for part in (
        "--data DIR",
        "$SSTEP_VERIFY_DATA",
        "$SSTEP_VERIFY_CACHE",
        toy.url,
        "download of",
        "failed",
        "refused",
        f"({tmp_path}) holds no toy / toy.bz2 / toy.xz / toy.gz",
        *embedded.NAMES,
    ):
        assert part in message


def test_a_file_absent_from_the_site_tells_all_ways_too(toy, site):
    with pytest.raises(InputError, match=r"404.*--data DIR"):
        datasets.load("toy")


def test_without_pooch_all_ways_are_told(toy, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(InputError, match=r"extra \[data\].*--data DIR"):
        datasets.load("toy")


def test_a_cache_that_cannot_be_made_tells_all_ways_too(toy, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv(datasets.CACHE_VARIABLE, str(tmp_path / "file" / "cache"))
    with pytest.raises(InputError, match="--data DIR"):
        datasets.load("toy")


# --- embedded sets ----------------------------------------------------------------------------------

EMBEDDED_DIGESTS = {
    "breast_cancer": "1efa2eb8942d1f21e3da627c29b31449b50a5e4fe879c34a30cb9ad804bba36c",
    "breast_cancer_scale": "af94baaf353b8e5a1a548216f31d417af86760e958a2b2cea95fff0d78365f8e",
    "diabetes_regression": "0fcd730116bb7a7bbcd75ff5f3ddb85dace759517b8d6a1d924ccbcb297e8f42",
    "diabetes_regression_scale": "d8f0f36c36e7451e6148a87286c3380e4bc9952bd3669fe6faad375080700da7",
}


@pytest.mark.parametrize("name", embedded.NAMES)
def test_embedded_sets_hold_the_values_expected(name):
    found = datasets.load(name)
    assert found.sha256 == values_digest(found.data, found.targets) == EMBEDDED_DIGESTS[name]
    assert found.source.startswith("scikit-learn ")
    if name.startswith("breast_cancer"):
        assert found.data.shape == (569, 30)
        assert ((found.targets == -1).sum(), (found.targets == 1).sum()) == (212, 357)
        assert found.notes == ("labels mapped: 0 -> -1, 1 -> +1",)
    else:
        assert found.data.shape == (442, 10)
        assert (found.targets.min(), found.targets.max()) == (25, 346)


@pytest.mark.parametrize("name", ["breast_cancer_scale", "diabetes_regression_scale"])
def test_scaled_embedded_sets_fill_the_box(name):
    data = datasets.load(name).data
    np.testing.assert_array_equal(data.min(axis=0), -1)
    np.testing.assert_array_equal(data.max(axis=0), 1)


def test_unscaled_sets_are_nearly_the_identity_to_the_rbf_kernel_and_scaled_ones_are_not():
    largest = {name: largest_rbf_entry(datasets.load(name).data) for name in embedded.NAMES}
    assert largest["breast_cancer"] < 1e-6
    assert largest["diabetes_regression"] < 1e-15
    assert largest["breast_cancer_scale"] > 0.9
    assert largest["diabetes_regression_scale"] > 0.9


def largest_rbf_entry(data) -> float:
    """Largest exp(-||x - z||^2) of two different samples."""
    squared = [((data[:row] - data[row]) ** 2).sum(axis=1).min() for row in range(1, len(data))]
    return float(np.exp(-min(squared)))


def test_scaling_a_constant_feature_gives_zero():
    scaled = embedded.scale_to_unit_box(np.array([[5.0, 1.0], [5.0, 2.0], [5.0, 4.0]]))
    np.testing.assert_array_equal(scaled, [[0, -1], [0, -0.333333], [0, 1]])


def test_an_unknown_embedded_set_is_refused():
    with pytest.raises(InputError, match="'iris' is unknown; known: breast_cancer"):
        embedded.read("iris")


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtraError, match=r"extra \[data\]"):
        datasets.load("breast_cancer")


def test_importing_the_module_imports_neither_scikit_learn_nor_pooch():
    code = "import sys, sstep_verify.problems.datasets; print({'sklearn', 'pooch'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"
