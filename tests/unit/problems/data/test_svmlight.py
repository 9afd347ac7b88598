"""Reading LIBSVM text: what is accepted, and that every refusal names file, line and value."""

import numpy as np
import pytest
from daily import crossed
from hypothesis import given
from hypothesis import strategies as st
from svmlight_texts import COMPRESS, GOOD, fault_of, write

from sstep_verify.errors import DataError
from sstep_verify.problems.data import svmlight
from sstep_verify.problems.data.svmlight import read_svmlight
from sstep_verify.problems.data.svmlight_lines import LARGEST_INDEX


def test_comments_blank_lines_tabs_and_crlf_are_accepted(tmp_path):
    text = b"# head, with qid:3 and 1_0\n\n2\t1:1 # tail\r\n  3 2:4#x\n\n4\n"
    data, targets = read_svmlight(write(tmp_path, text))
    np.testing.assert_array_equal(data.toarray(), [[1, 0], [0, 4], [0, 0]])
    np.testing.assert_array_equal(targets, [2, 3, 4])


def test_declared_features_widen_the_matrix_and_the_index_type_is_narrow(tmp_path):
    data, _ = read_svmlight(write(tmp_path, GOOD), features=9)
    assert data.shape == (2, 9)
    assert data.indices.dtype == data.indptr.dtype == np.int32


FIRST = b"1 1:1\n# comment\n"
BAD_LINES = {
    "not a pair": (b"1 1:1 17\n", "'17'"),
    "empty value": (b"1 1: 2\n", "''"),
    "two colons": (b"1 1:2:3\n", "'2:3'"),
    "text as value": (b"1 1:zzz\n", "'zzz'"),
    "underscore in a value": (b"1 1:1_0\n", "'1_0'"),
    "decimal comma": (b"1 1:1,5\n", "'1,5'"),
    "nan value": (b"1 1:nan\n", "'nan'"),
    "infinite value": (b"1 1:-inf\n", "'-inf'"),
    "overflowing value": (b"1 1:1e999\n", "'1e999'"),
    "text as target": (b"yes 1:1\n", "'yes'"),
    "nan target": (b"NaN 1:1\n", "'NaN'"),
    "infinite target": (b"inf 1:1\n", "'inf'"),
    "underscore in a target": (b"1_0 1:1\n", "'1_0'"),
    "several targets": (b"1,2 1:1\n", "several labels, '1,2'"),
    "a table": (b"1,2,3\n", "'1,2,3', as a table"),
    "missing target": (b"4:1 5:2\n", "'4:1'"),
    "index zero": (b"1 0:5\n", "'0:5'"),
    "negative index": (b"1 -3:5\n", "'-3:5'"),
    "index beyond a C int": (b"1 2147483648:5\n", "'2147483648:5'"),
    "index beyond int64": (b"1 99999999999999999999:5\n", "'99999999999999999999:5'"),
    "fractional index": (b"1 1.5:5\n", "'1.5'"),
    "text as index": (b"1 a:5\n", "'a'"),
    "underscore in an index": (b"1 1_0:5\n", "'1_0'"),
    "duplicate index": (b"1 2:5 2:6\n", "'2:6'"),
    "unsorted index": (b"1 8:5 3:6\n", "'3:6'"),
    "query id": (b"1 qid:4 1:5\n", "'qid:4'"),
    "late query id": (b"1 1:5 qid:4\n", "'qid:4'"),
    "binary": (b"\xff\xfe\x80\n", r"'\xff\xfe\x80'"),
    "zero byte": (b"1 1:2\x00\n", r"control character '\x00' in '1 1:2\x00'"),
    "vertical tab": (b"1 1:2\x0b2:3\n", r"control character '\x0b' in '1 1:2\x0b2:3'"),
    "form feed": (b"1\x0c1:2\n", r"control character '\x0c'"),
    "line ends of old": (b"1 1:2\r1 1:3\r\n", r"control character '\r' in '1 1:2\r1 1:3"),
    "dangling exponent": (b"1 1:2e\n", "'2e'"),
    "dangling sign": (b"1 1:-\n", "'-'"),
    "dangling index": (b"1 1:2 3\n", "'3'"),
    "dangling colon": (b"1 1:2 3:\n", "''"),
    "index 0": (
        b"1 0:5\n",
        "index '0' in '0:5' is outside 1..134217728: the file counts its features from 0",
    ),
    "largest C int": (b"1 2147483647:5\n", "outside 1..134217728 (one number for each feature"),
}


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_in_utf_16_is_named_as_one(tmp_path, code):
    path = tmp_path / "F"
    path.write_bytes("1 1:1 2:3\n-1 1:2\n".encode(code))
    with pytest.raises(DataError, match="UTF-16; save it as UTF-8"):
        read_svmlight(path)


@pytest.mark.parametrize(("suffix", "name"), crossed(svmlight.SUFFIXES, BAD_LINES, of=3))
def test_a_bad_line_is_named_with_file_line_and_value(tmp_path, suffix, name):
    line, value = BAD_LINES[name]
    path = write(tmp_path, COMPRESS[suffix](FIRST + line + b"1 1:1\n"), "bad" + suffix)
    with pytest.raises(DataError) as caught:
        read_svmlight(path)
    assert str(caught.value).startswith(f"{path}, line 3: ")
    assert value in str(caught.value)


def test_the_first_bad_line_is_named_even_if_the_parser_stumbles_over_a_later_one(tmp_path):
    path = write(tmp_path, b"1 1:1\n1 1:nan\n1 1:zzz\n")
    with pytest.raises(DataError, match="line 2: value 'nan'"):
        read_svmlight(path)


def test_an_index_beyond_the_declared_features_is_named(tmp_path):
    path = write(tmp_path, b"1 1:1\n1 9:2\n")
    with pytest.raises(DataError, match=r"line 2: index '9' in '9:2' is outside 1\.\.8"):
        read_svmlight(path, features=8)


def test_a_long_token_is_shortened(tmp_path):
    with pytest.raises(DataError) as caught:
        read_svmlight(write(tmp_path, b"1 1:" + b"7x" * 10_000))
    assert len(str(caught.value)) < 500 + len(str(tmp_path))


@pytest.mark.parametrize("suffix", svmlight.SUFFIXES)
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ", line 1: no sample there, for the file is empty;"),
        (b"\n\n", ", line 1: no sample in 2 lines;"),
        (b"# only a comment\n", ", line 1: no sample in 1 line;"),
    ],
)
def test_a_file_without_samples_is_refused(tmp_path, content, words, suffix):
    path = write(tmp_path, COMPRESS[suffix](content), "empty" + suffix)
    with pytest.raises(DataError) as caught:
        read_svmlight(path)
    assert str(caught.value).startswith(f"{path}{words}")


def test_targets_without_any_feature_are_refused(tmp_path):
    path = write(tmp_path, b"1\n-1\n")
    with pytest.raises(DataError, match="line 1: 2 targets but not one feature"):
        read_svmlight(path)


def test_control_characters_in_a_comment_do_no_harm(tmp_path):
    data, _ = read_svmlight(write(tmp_path, b"1 1:2 # \x0b page 1\n"))
    np.testing.assert_array_equal(data.toarray(), [[2]])


numbers = st.floats(allow_nan=False, allow_infinity=False)
rows = st.lists(
    st.tuples(numbers, st.dictionaries(st.integers(1, 40), numbers, max_size=5)), min_size=1, max_size=6
).filter(lambda rows: any(pairs for _, pairs in rows))


@given(rows)
def test_what_is_written_with_repr_is_read_back_to_the_last_bit(tmp_path_factory, rows):
    text = "".join(
        f"{target!r} {' '.join(f'{index}:{pairs[index]!r}' for index in sorted(pairs))}\n"
        for target, pairs in rows
    )
    path = write(tmp_path_factory.getbasetemp(), text.encode(), "roundtrip")
    data, targets = read_svmlight(path)
    expected = np.zeros((len(rows), max(index for _, pairs in rows for index in pairs)))
    for row, (_, pairs) in enumerate(rows):
        for index, value in pairs.items():
            expected[row, index - 1] = value
    np.testing.assert_array_equal(data.toarray(), expected)
    np.testing.assert_array_equal(targets, [target for target, _ in rows])


def refusal(path) -> str | None:
    """Message of the DataError that reading ends in, or None."""
    try:
        read_svmlight(path)
    except DataError as error:
        return str(error)
    return None


@given(st.binary(max_size=60))
def test_any_bytes_end_in_finite_values_or_in_a_named_line(tmp_path_factory, content):
    path = write(tmp_path_factory.getbasetemp(), content, "any-bytes")
    message = refusal(path)
    if message is None:
        data, targets = read_svmlight(path)
        assert data.shape[0] == targets.size > 0
        assert np.isfinite(data.data).all()
    else:
        assert message.startswith(f"{path}, line ")


token = st.sampled_from(
    ["1", "-1", "1:2", "2:3", "2:nan", "0:1", "x", "qid:1", "3:", "#", "1_0", "4:1e999"]
)


@given(st.lists(st.lists(token, max_size=4).map(" ".join), max_size=5).map("\n".join))
def test_the_slow_pass_finds_a_fault_exactly_where_reading_fails(tmp_path_factory, text):
    path = write(tmp_path_factory.getbasetemp(), text.encode(), "tokens")
    faults = [
        number
        for number, line in enumerate(text.encode().splitlines(), start=1)
        if fault_of(line, LARGEST_INDEX)
    ]
    message = refusal(path)
    if faults:
        assert message.startswith(f"{path}, line {faults[0]}: ")
    elif message is not None:
        assert "no sample" in message or "not one feature" in message
