"""Files with LIBSVM text: packed ones, large ones, damaged ones, and what is no file to read."""

import gzip
import io
import os
import socket
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from svmlight_texts import COMPRESS, GOOD, write

from sstep_verify.errors import DataError
from sstep_verify.problems.data import svmlight
from sstep_verify.problems.data.svmlight import read_svmlight


@pytest.mark.parametrize("suffix", svmlight.SUFFIXES)
def test_plain_and_compressed_text_give_the_same_values(tmp_path, suffix):
    data, targets = read_svmlight(write(tmp_path, COMPRESS[suffix](GOOD), "data" + suffix))
    assert isinstance(data, sp.csr_array)
    assert data.dtype == targets.dtype == np.float64
    np.testing.assert_array_equal(data.toarray(), [[0.5, 0, -2e-3], [0, 7, 0]])
    np.testing.assert_array_equal(targets, [1, -1])


@pytest.mark.parametrize("suffix", [".bz2", ".xz", ".gz"])
def test_text_named_as_compressed_is_refused(tmp_path, suffix):
    path = write(tmp_path, GOOD, "data" + suffix)
    with pytest.raises(DataError, match=f"line 1: cannot be read as {suffix}") as caught:
        read_svmlight(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("suffix", [".bz2", ".xz", ".gz"])
def test_a_truncated_compressed_file_is_refused(tmp_path, suffix):
    packed = COMPRESS[suffix](GOOD * 1000)
    path = write(tmp_path, packed[: len(packed) // 2], "data" + suffix)
    with pytest.raises(DataError, match=rf"line \d+: cannot be read as {suffix}.*damaged or incomplete"):
        read_svmlight(path)


@pytest.mark.parametrize("suffix", [".bz2", ".xz", ".gz"])
def test_a_damaged_compressed_file_is_refused(tmp_path, suffix):
    packed = bytearray(COMPRESS[suffix](GOOD * 1000))
    packed[-6] ^= 0xFF  # inside the checksum of each of the three formats
    with pytest.raises(DataError, match="damaged or incomplete"):
        read_svmlight(write(tmp_path, bytes(packed), "data" + suffix))


@pytest.mark.parametrize("suffix", svmlight.SUFFIXES)
def test_a_byte_order_mark_before_the_text_is_passed_over_and_named_elsewhere(tmp_path, suffix):
    marked = b"\xef\xbb\xbf" + GOOD
    data, targets = read_svmlight(write(tmp_path, COMPRESS[suffix](marked), "marked" + suffix))
    np.testing.assert_array_equal(data.toarray(), [[0.5, 0, -2e-3], [0, 7, 0]])
    np.testing.assert_array_equal(targets, [1, -1])
    path = write(tmp_path, COMPRESS[suffix](GOOD + marked), "within" + suffix)
    with pytest.raises(DataError, match="line 3: begins with a byte order mark"):
        read_svmlight(path)


def _zip(*names: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, GOOD)
    return packed.getvalue()


@pytest.mark.parametrize("name", ["data", "data.txt", "data.svm"])
def test_packed_text_is_known_by_its_content_whatever_its_name(tmp_path, name):
    for content in (*(COMPRESS[suffix](GOOD) for suffix in (".bz2", ".xz", ".gz")), _zip("a", "folder/")):
        path = write(tmp_path, content, name)
        np.testing.assert_array_equal(read_svmlight(path)[0].toarray(), [[0.5, 0, -2e-3], [0, 7, 0]])
        assert svmlight.text_length(path) == len(GOOD)
        assert svmlight.read_block(path, begin=1).targets.tolist() == [-1]


def test_an_archive_of_several_files_or_none_is_refused(tmp_path):
    with pytest.raises(
        DataError, match=r"cannot be read as \.zip: it holds 2 files \(a, b\), but one is read"
    ):
        read_svmlight(write(tmp_path, _zip("a", "b"), "data.svm"))
    with pytest.raises(DataError, match=r"cannot be read as \.zip"):
        read_svmlight(write(tmp_path, _zip("a")[:40], "data"))


def test_exponents_as_fortran_prints_them_are_read(tmp_path):
    text = b"+1.0D+00 1:5.D-1 3:-2d-3 # 1D0\n-1D0 2:.7D+01\n"
    data, targets = read_svmlight(write(tmp_path, text))
    np.testing.assert_array_equal(data.toarray(), [[0.5, 0, -2e-3], [0, 7, 0]])
    np.testing.assert_array_equal(targets, [1, -1])
    for wrong in (b"1 1:D5\n", b"1 1:1D\n", b"1D0 1:1Dx\n", b"1 1D0:1\n"):
        with pytest.raises(DataError, match="line 1: "):
            read_svmlight(write(tmp_path, wrong))


@pytest.mark.parametrize(
    ("text", "alike"), [(GOOD, False), (GOOD[:-1], True), (GOOD[:-1] + b"\r\n", False), (b"", False)]
)
def test_a_text_that_may_have_been_cut_in_its_last_number_is_distinguished_from_others(
    tmp_path, text, alike
):
    assert svmlight.cut_looks_alike(write(tmp_path, text)) == alike


def test_a_cut_packed_file_is_left_to_the_unpacker(tmp_path):
    assert not svmlight.cut_looks_alike(write(tmp_path, gzip.compress(GOOD[:-1]), "data.gz"))


def test_a_line_longer_than_any_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(svmlight, "_LONGEST_LINE", 1 << 10)
    monkeypatch.setattr(svmlight, "_CHUNK", 1 << 8)
    path = write(tmp_path, gzip.compress(b"1 1:" + b"0" * 10_000), "long.gz")
    with pytest.raises(DataError, match=r"line 1: cannot be read as \.gz: a line is longer than"):
        read_svmlight(path)


def sockets(path):
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    return server


@pytest.mark.parametrize("kind", ["folder", "named pipe", "socket", "character device"])
def test_only_regular_files_are_read(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)  # a socket's path may have 107 bytes
    path = Path("input")
    made = {"folder": os.mkdir, "named pipe": os.mkfifo, "socket": sockets}
    if kind == "character device":
        path = Path(os.devnull)
    else:
        keep = made[kind](path)
    with pytest.raises(DataError, match=f"not a regular file but a {kind}") as caught:
        read_svmlight(path)
    assert str(path) in str(caught.value)
    assert ("name a file in it" in str(caught.value)) == (kind == "folder")
    if kind == "socket":
        keep.close()


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000], ids=["NUL", "long"])
def test_a_name_no_file_can_have_is_refused_in_one_line(name):
    with pytest.raises(DataError, match="cannot be read as a LIBSVM file") as caught:
        read_svmlight(name)
    assert len(str(caught.value)) < 300
    assert str(caught.value).isprintable()


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(DataError, match="absent: cannot be read as a LIBSVM file: No such file"):
        read_svmlight(tmp_path / "absent")


@pytest.mark.parametrize("suffix", svmlight.SUFFIXES)
def test_a_file_without_permission_is_refused(tmp_path, monkeypatch, suffix):
    path, opened = write(tmp_path, COMPRESS[suffix](GOOD), "data" + suffix), os.open

    def forbidden(name, *flags):
        if str(name) == str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(name, *flags)

    monkeypatch.setattr(os, "open", forbidden)
    with pytest.raises(DataError, match="cannot be read as a LIBSVM file: Permission denied") as caught:
        read_svmlight(path)
    assert str(path) in str(caught.value)


def test_a_file_of_many_chunks_is_read_to_the_same_bits(tmp_path, monkeypatch):
    generator = np.random.Generator(np.random.PCG64(5))
    lines = [
        f"{sign:+d} "
        + " ".join(f"{k}:{value!r}" if k % 7 else f"{k}:{value:.5g}" for k, value in enumerate(row, 1))
        for sign, row in zip((1, -1) * 20, generator.standard_normal((40, 30)).tolist(), strict=True)
    ]
    path = write(tmp_path, "\n".join(lines).encode(), "large")
    small = svmlight.read_svmlight(path)
    monkeypatch.setattr(svmlight, "_CHUNK", 1 << 10)
    large = svmlight.read_svmlight(path)
    assert np.array_equal(small[1], large[1])
    for part in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(small[0], part), getattr(large[0], part))


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_an_archive_of_tar_is_named_as_one(tmp_path, mode):
    (tmp_path / "data").write_bytes(b"1 1:2\n-1 1:3\n")
    with tarfile.open(tmp_path / "archive", mode) as archive:
        archive.add(tmp_path / "data", "data")
    with pytest.raises(DataError, match="tar archive") as raised:
        read_svmlight(tmp_path / "archive")
    assert raised.value.line == 1


def test_a_table_with_commas_is_named_as_one(tmp_path):
    (tmp_path / "data.csv").write_bytes(b"1 1:2\n1,2,3\n")
    with pytest.raises(DataError, match="a table with commas") as raised:
        read_svmlight(tmp_path / "data.csv")
    assert raised.value.line == 2


MEMORY = """
import sys
from sstep_verify.problems.data import svmlight

def kib(name):
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name))

svmlight._CHUNK = 1 << 14
svmlight.read_svmlight(sys.argv[1])  # Compiles.
before = kib("VmRSS")
data, targets = svmlight.read_svmlight(sys.argv[2])
assert data.nnz == 6_000_000
parts = data.data, data.indices, data.indptr, targets
print(1024 * (kib("VmHWM") - before) / sum(part.nbytes for part in parts))
"""


def test_reading_takes_little_more_memory_than_what_is_read(tmp_path):
    """Parts are appended in place: held next to their whole they would take 2.7 times its memory.

    The system counts: from NumPy 2.5 on, tracemalloc counts an array that grows in place twice.
    """
    line = f"1 {' '.join(f'{index}:1' for index in range(1, 101))}\n"
    (tmp_path / "small").write_text(line * 400, encoding="ascii")
    (tmp_path / "large").write_text(line * 60_000, encoding="ascii")
    found = subprocess.check_output([sys.executable, "-c", MEMORY, "small", "large"], cwd=tmp_path)
    assert float(found) <= 1.3
