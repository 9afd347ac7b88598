"""The download of a data set, from a server on this machine: kept, checked, and refused with a way out."""

import bz2
import dataclasses
import hashlib
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest
from toy_set import TEXT, VALUES, register

from sstep_verify.errors import DataError, InputError
from sstep_verify.problems.data import datasets, embedded, registry


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


def test_without_a_file_and_a_network_all_ways_are_reported(toy, tmp_path, monkeypatch):
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


def test_without_pooch_all_ways_are_reported(toy, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(InputError, match=r"extra \[data\].*--data DIR"):
        datasets.load("toy")


def test_a_cache_that_cannot_be_made_tells_all_ways_too(toy, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv(datasets.CACHE_VARIABLE, str(tmp_path / "file" / "cache"))
    with pytest.raises(InputError, match="--data DIR"):
        datasets.load("toy")


def test_without_a_home_nothing_is_downloaded_and_no_folder_made(toy, site, monkeypatch, tmp_path):
    for name in ("HOME", "XDG_CACHE_HOME", datasets.CACHE_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    with pytest.raises(InputError, match=datasets.CACHE_VARIABLE):
        datasets.load("toy")
    assert not site[1]
    assert not list((tmp_path / "work").iterdir())
