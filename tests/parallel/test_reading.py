"""Reading by all ranks: the serial reader's matrix cut into columns, the serial reader's errors on all ranks."""

import bz2
import gzip
import hashlib
import itertools
import lzma

import numpy as np
import pytest
import reading_ranks as ranks
import scipy.sparse as sp
from daily import crossed
from hypothesis import given, settings
from hypothesis import strategies as st

from sstep_verify.errors import DataError, InputError
from sstep_verify.problems.data import datasets
from sstep_verify.problems.data.svmlight import read_block, read_svmlight, text_length
from sstep_verify.ranks import RankError, run
from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.data.partition import column_nonzeros, partition_of
from sstep_verify.solver.data.reading import load_local

SIZES = (1, 2, 3, 4)
COMPRESS = {"": bytes, ".bz2": bz2.compress, ".xz": lzma.compress, ".gz": gzip.compress}
GOOD = b"+1 1:0.5 3:-2e-3\n-1 2:7\n# comment\n\n+1 1:1 2:0 5:3\n-1\n"


def write(folder, content: bytes, name: str = "data"):
    path = folder / name
    path.write_bytes(content)
    return path


def whole(local) -> np.ndarray | sp.csr_array:
    """The ranks' columns, each in its place."""
    order = local[0].partition.order
    places = slice(None) if order is None else np.argsort(order)
    if sp.issparse(local[0].data):
        together = sp.hstack([part.data for part in local], format="csr")[:, places]
        together.sort_indices()
        return together
    return np.hstack([part.data for part in local])[:, places]


def agree(local, data, targets, how="work") -> None:
    """Assert that the ranks hold this matrix in columns, in its storage, balanced as it should be."""
    expected = partition_of(column_nonzeros(data), len(local), how)
    together = whole(local)
    assert together.shape == data.shape
    assert sp.issparse(together) == sp.issparse(data)
    for rank, part in enumerate(local):
        np.testing.assert_array_equal(part.partition.starts, expected.starts)
        np.testing.assert_array_equal(part.partition.loads, expected.loads)
        assert (part.partition.order is None) == (expected.order is None)
        np.testing.assert_array_equal(part.partition.order, expected.order)
        assert part.features == data.shape[1]
        assert part.data.shape == (data.shape[0], np.diff(expected.starts)[rank])
        assert part.data.dtype == part.targets.dtype == np.float64
        assert sp.issparse(part.data) or part.data.flags.c_contiguous
        np.testing.assert_array_equal(part.targets, targets)
    if sp.issparse(data):
        for field in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(together, field), getattr(data, field))
    else:
        np.testing.assert_array_equal(together, data)


def raised(size: int, function, *arguments) -> list[tuple[str, str]]:
    """Type and message of what each rank raised; all must."""
    with pytest.raises(RankError) as caught:
        run(size, function, *arguments)
    assert caught.value.ranks == tuple(range(size)), "an error must be raised on all ranks"
    return [caught.value.failures[rank][:2] for rank in range(size)]


numbers = st.sampled_from([0.0, -0.0, 1.0, -2.5, 1e-300, 0.1, 12345.678])
rows = st.lists(
    st.tuples(
        st.sampled_from([1.0, -1.0, 0.25]),
        st.dictionaries(st.integers(1, 9), numbers, max_size=7),
        st.sampled_from(["\n", "\r\n", " # tail\n", "\n\n", "\n# line\n"]),
    ),
    min_size=1,
    max_size=9,
).filter(lambda rows: any(pairs for _, pairs, _ in rows))


def text_of(rows) -> bytes:
    pairs = [" ".join(f"{index}:{found[index]!r}" for index in sorted(found)) for _, found, _ in rows]
    return "".join(
        f"{target!r} {line}{end}" for (target, _, end), line in zip(rows, pairs, strict=True)
    ).encode()


@settings(max_examples=60)
@given(st.sampled_from(SIZES), rows, st.sampled_from(sorted(COMPRESS)), st.booleans())
def test_columns_side_by_side_are_the_serial_readers_matrix(tmp_path_factory, size, rows, suffix, cut):
    content = text_of(rows)
    content = content.rstrip(b"\r\n") if cut else content
    path = write(tmp_path_factory.getbasetemp(), COMPRESS[suffix](content), "shared" + suffix)
    data, targets = read_svmlight(path)
    serial = datasets.load(path, task="regression")
    assert serial.data.shape == data.shape
    agree(run(size, ranks.read, path), serial.data, targets)


@settings(max_examples=100)
@given(rows, st.lists(st.floats(0, 1), max_size=5))
def test_blocks_that_share_out_the_bytes_share_out_the_lines(tmp_path_factory, rows, cuts):
    path = write(tmp_path_factory.getbasetemp(), text_of(rows), "blocks")
    length = text_length(path)
    ends = [0, *sorted(int(cut * length) for cut in cuts), length]
    data, targets = read_svmlight(path)
    blocks = [
        read_block(path, begin=begin, end=end, features=data.shape[1])
        for begin, end in itertools.pairwise(ends)
    ]
    np.testing.assert_array_equal(np.concatenate([block.targets for block in blocks]), targets)
    together = sp.vstack([block.matrix for block in blocks], format="csr")
    np.testing.assert_array_equal(together.toarray(), data.toarray())
    assert together.nnz == data.nnz
    assert sum(block.lines for block in blocks) == path.read_bytes().count(b"\n")


@pytest.mark.parametrize("suffix", COMPRESS)
def test_the_length_of_a_text_is_that_of_the_text(tmp_path, suffix):
    assert text_length(write(tmp_path, COMPRESS[suffix](GOOD), "data" + suffix)) == len(GOOD)


@pytest.mark.parametrize("size", SIZES)
def test_more_ranks_than_lines_and_columns(tmp_path, size):
    path = write(tmp_path, b"2 1:4")
    local = run(size, ranks.read, path)
    agree(local, np.array([[4.0]]), [2.0])
    assert sum(part.data.shape[1] == 0 for part in local) == size - 1


def test_one_process_reads_without_mpi(tmp_path):
    path = write(tmp_path, GOOD)
    serial = datasets.load(path)
    local = load_local(path, SelfCommunicator())
    agree([local], serial.data, serial.targets)
    assert local.notes == serial.notes


BAD = {
    "value": b"1 1:zzz\n",
    "nan": b"1 1:nan\n",
    "qid": b"1 qid:4 1:5\n",
    "order": b"1 8:5 3:6\n",
}


@pytest.mark.parametrize(("size", "place", "name"), crossed([2, 3], [0, 5, 11], BAD, of=3))
def test_a_bad_line_is_named_on_all_ranks_as_the_serial_reader_names_it(tmp_path, size, place, name):
    lines = [b"1 1:1 2:3\n"] * 12
    lines[place] = BAD[name]
    # A later fault, of the last rank's share, must not be the one that is named.
    path = write(tmp_path, b"# first\n" + b"".join(lines) + b"1 1:late\n")
    with pytest.raises(DataError) as serial:
        read_svmlight(path)
    assert f"line {place + 2}:" in str(serial.value)
    assert raised(size, ranks.read, path) == [("LineError", str(serial.value))] * size


@pytest.mark.parametrize("content", [b"", b"# nothing\n\n", b"1\n-1\n1\n"])
def test_a_file_without_content_is_refused_on_all_ranks(tmp_path, content):
    path = write(tmp_path, content)
    with pytest.raises(DataError) as serial:
        read_svmlight(path)
    assert raised(3, ranks.read, path) == [("LineError", str(serial.value))] * 3


@pytest.mark.parametrize("suffix", [".bz2", ".xz", ".gz"])
def test_a_truncated_compressed_file_is_refused_as_the_serial_reader_does(tmp_path, suffix):
    packed = COMPRESS[suffix](b"".join(b"1 1:%d\n" % number for number in range(4000)))
    path = write(tmp_path, packed[: len(packed) // 2], "data" + suffix)
    with pytest.raises(DataError) as serial:
        read_svmlight(path)
    assert {message for _, message in raised(2, ranks.read, path)} == {str(serial.value)}


def test_a_missing_file_is_refused_on_all_ranks(tmp_path):
    path = tmp_path / "absent"
    fault = f"{path}: cannot be read as a LIBSVM file: No such file or directory"
    assert raised(2, ranks.read, path) == [("DataError", fault)] * 2


def test_a_file_that_one_rank_lacks_names_that_rank(tmp_path):
    path = write(tmp_path, GOOD)
    found = raised(3, ranks.read_own, [path, path, tmp_path / "absent"])
    assert {kind for kind, _ in found} == {"DataError"}
    assert all(message.startswith(f"rank 2: {tmp_path / 'absent'}: cannot") for _, message in found)


@pytest.mark.parametrize(
    "other", [GOOD + b"1 1:1\n", GOOD[:-2] + bytes([GOOD[-2] ^ 1]) + GOOD[-1:]], ids=["longer", "as long"]
)
def test_files_that_differ_between_ranks_are_refused(tmp_path, other):
    """Two copies of one length that differ in a digit are no less two files."""
    contents = (GOOD, other)
    paths = [write(tmp_path, content, name) for content, name in zip(contents, ("one", "two"), strict=True)]
    digests = [hashlib.sha256(content).hexdigest()[:12] for content in contents]
    for kind, message in raised(2, ranks.read_own, paths):
        assert kind == "DataError"
        assert f"begins with rank 0: {digests[0]}; rank 1: {digests[1]}; put it" in message


def test_another_failure_of_one_rank_is_raised_on_all(tmp_path):
    found = raised(3, ranks.read_without_memory, write(tmp_path, GOOD), 1)
    assert found == [("ReadingError", "rank 1: MemoryError: no room")] * 3


def matrix_of(kind: str, samples: int, features: int) -> np.ndarray | sp.csr_array:
    generator = np.random.default_rng([samples, features])
    dense = generator.normal(size=(samples, features))
    if kind == "sparse":
        return sp.csr_array(np.where(generator.random(dense.shape) < 0.4, dense, 0))
    return np.asfortranarray(dense) if kind == "fortran" else dense


@pytest.mark.parametrize(
    ("size", "kind", "shape"),
    crossed(SIZES, ["dense", "fortran", "sparse"], [(7, 5), (1, 1), (9, 2), (3, 40)], of=3),
)
def test_columns_of_a_matrix_of_the_first_rank_are_the_matrix(size, kind, shape):
    data, targets = matrix_of(kind, *shape), np.arange(shape[0], dtype=float)
    agree(run(size, ranks.load_given, data, targets), data, targets)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["breast_cancer", "diabetes_regression_scale"])
def test_a_named_set_reaches_all_ranks(size, name):
    serial = datasets.load(name)
    local = run(size, ranks.load, name)
    agree(local, serial.data, serial.targets)
    assert {(part.notes, part.classes) for part in local} == {(serial.notes, serial.classes)}


@pytest.mark.parametrize("task", [None, "classification", "regression"])
@pytest.mark.parametrize("content", [b"0 1:1\n1 2:1\n0 3:1\n", b"-1 1:1\n+1 3:2\n"])
def test_a_loaded_file_has_the_targets_of_the_serial_loader(tmp_path, task, content):
    path = write(tmp_path, content)
    serial = datasets.load(path, task=task)
    local = run(2, ranks.load, path, None, task)
    agree(local, serial.data, serial.targets)
    assert {(part.notes, part.classes) for part in local} == {(serial.notes, serial.classes)}


def test_loading_fails_as_the_serial_loader_does_on_all_ranks(tmp_path):
    path = write(tmp_path, b"1 1:1\n2 1:1\n3 1:2\n")
    for name, task in ((path, "classification"), ("dukke", None), ("breast_cancer", "ranking")):
        with pytest.raises(InputError) as serial:
            datasets.load(name, task=task)
        assert {message for _, message in raised(2, ranks.load, name, None, task)} == {str(serial.value)}


@pytest.mark.parametrize("size", SIZES)
def test_all_to_all_hands_every_rank_its_part_by_rank(size):
    for seed in range(3):
        answers = run(size, ranks.all_to_all, seed)
        for to, (_, received) in enumerate(answers):
            expected = np.concatenate(
                [np.full(counts[to], 100 * rank + to) for rank, (counts, _) in enumerate(answers)]
            )
            np.testing.assert_array_equal(received, expected)
            assert received.dtype == np.int32
