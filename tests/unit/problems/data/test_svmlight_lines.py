"""Lines parsed at once hold what each says, and exactly those with a fault are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from svmlight_texts import fault_of

from sstep_verify.problems.data.svmlight_lines import samples_in

LARGEST = 40

PIECES = st.lists(
    st.sampled_from([
        "1", "-1", "+2", "7:3", "2:-0.5", "3:1e-3", "12:.5", "39:1E5", "40:0", "41:1", "0:1", "2:", ":2", "1:2:3",
        "3:1-2", "1.5:2", "-3:1", "+3:1", "007:4", "1_0", "qid:1", "nan", "5:inf", "6:1e999", "8:1e-400", "4:1.2.3",
        "5:0x1", "6:1e", "#", "# 1:2", "\n", "\r\n", "\r", "\t", " ", "", "\x0b", "\xe9", "\ufeff", "1e5", ".", "-",
    ]),
    max_size=30,
)  # fmt: skip
"""Words of lines, most of them right; joined by spaces or by nothing."""


@given(PIECES, st.sampled_from([" ", ""]))
@example(["1", "1:2:3", "4"], " ")
@example(["1", "3:1-2"], " ")
@example(["1", "2:", "5"], " ")
@example(["1", "+3:1", "\n", "-1"], " ")
@example(["1", "0" * 5000 + "3:1"], " ")
@example(["1", "9" * 5000 + ":1"], " ")
def test_lines_are_refused_exactly_where_one_has_a_fault(pieces, between):
    text = between.join(pieces).encode()
    lines = text.split(b"\n")
    found = samples_in(text, LARGEST)
    assert (found is None) == any(fault_of(line, LARGEST) for line in lines)
    if found is None:
        return
    rows = [words for line in lines if (words := line.split(b"#")[0].split())]
    pairs = [[word.split(b":") for word in words[1:]] for words in rows]
    assert found.targets.tolist() == [float(words[0]) for words in rows]
    assert found.counts.tolist() == [len(row) for row in pairs]
    assert found.indices.tolist() == [int(float(index)) - 1 for row in pairs for index, _ in row]
    assert found.values.tolist() == [float(value) for row in pairs for _, value in row]


@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False),
            st.dictionaries(
                st.integers(1, LARGEST), st.floats(allow_nan=False, allow_infinity=False), max_size=6
            ),
        )
    ),
    st.sampled_from(["\n", "\r\n", " # 3:4\n", "\n\n\t\n"]),
)
def test_right_lines_are_parsed_to_the_last_bit(rows, end):
    text = "".join(
        " ".join([repr(target), *(f"{index}:{row[index]!r}" for index in sorted(row))]) + end
        for target, row in rows
    )
    found = samples_in(text.encode(), LARGEST)
    assert found is not None
    assert found.targets.tolist() == [target for target, _ in rows]
    assert found.counts.tolist() == [len(row) for _, row in rows]
    assert found.indices.tolist() == [index - 1 for _, row in rows for index in sorted(row)]
    np.testing.assert_array_equal(found.values, [row[index] for _, row in rows for index in sorted(row)])


@pytest.mark.parametrize("text", [b"", b"\n", b"# nothing\n", b" \t\r\n"])
def test_text_without_samples_has_none(text):
    found = samples_in(text, LARGEST)
    assert found is not None
    assert found.targets.size == found.values.size == 0


@pytest.mark.nightly
@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=None), min_size=1, max_size=20))
def test_decimals_of_any_length_are_correctly_rounded(numbers):
    texts = [f"{number:e}" if abs(number.adjusted()) > 300 else str(number) for number in numbers]
    kept = [text for text in texts if np.isfinite(float(text))]
    text = "".join(f"{word}\n" for word in kept).encode()
    found = samples_in(text, LARGEST)
    assert found is not None
    assert found.targets.tolist() == [float(word) for word in kept]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "-", "+"]),
            st.one_of(st.integers(2**53 - 9, 2**53 + 9), st.integers(0, 10**19)),
            st.integers(0, 20),
            st.integers(-30, 30),
        ),
        min_size=1,
        max_size=8,
    )
)
@example([("-", 0, 3, 0)])
@example([("", 2**53, 0, 22), ("", 2**53 + 1, 0, -22), ("-", 2**53 - 1, 0, 23)])
def test_numbers_are_rounded_as_python_rounds_them_wherever_their_digits_end(numbers):
    words = []
    for sign, whole, point, exponent in numbers:
        digits = str(whole).rjust(point + 1, "0")
        cut = len(digits) - point
        words.append(f"{sign}{digits[:cut]}.{digits[cut:]}e{exponent}")
    pairs = " ".join(f"{index}:{word}" for index, word in enumerate(words, 1))
    found = samples_in(f"{words[-1]} {pairs}\n{words[0]}\n".encode(), LARGEST)
    assert found is not None
    assert found.values.tobytes() == np.array([float(word) for word in words]).tobytes()
    assert found.targets.tobytes() == np.array([float(words[-1]), float(words[0])]).tobytes()
