"""What a program leaves: logs, numbers that it prints, files and draws, read with care."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from program_cases import RESULT, ending, leaving, request

from sstep_verify.adapters.program.numbers import (
    printed_numbers,
    read_draws,
    read_number,
    read_numbers,
    shown_numbers,
)
from sstep_verify.errors import NoLogError, NoResultError, ProgramError, RefusedError, RepeatedDrawError
from sstep_verify.problems import IndexStream
from sstep_verify.protocol import RunRequest


@pytest.mark.parametrize("mode", ["binary", "decimal", "hex"])
def test_a_log_gives_a_before_every_step(mode):
    asked = request(log=True, record=(8,))
    made = ending(mode).run(asked)
    values = np.arange(14) / 3
    np.testing.assert_array_equal(made.log[:, 0], values)
    alpha = np.zeros(6)
    for step, (i,) in enumerate(asked.stream.blocks(3, 17)):
        if step == 8:
            np.testing.assert_array_equal(made.alphas[1], alpha)
        alpha[i] = values[step]
    np.testing.assert_array_equal(made.final, alpha)
    assert made.iterations.tolist() == [0, 8, 14]


def test_counts_are_read():
    assert ending("counted").run(request()).counters == {"windows": 4, "collectives": 5, "words": 70}


@pytest.mark.parametrize(
    ("word", "value", "digits"),
    [
        (b"0.5", 0.5, 1), (b"-1.25e-3", -1.25e-3, 3), (b"0", 0.0, 0), (b"12", 12.0, 2), (b"0.0010", 0.001, 2),
        (b"0x1.8p+1", 3.0, 17), (b"1.2345678901234567e5", 1.2345678901234567e5, 17), (b"-inf", -np.inf, 0), (b".5", 0.5, 1),
    ],
)  # fmt: skip
def test_a_number_is_read_with_its_digits(word, value, digits):
    assert read_number(word, "x") == (value, digits)


@pytest.mark.parametrize("word", [b"", b"1,5", b"0x", b"one", b"1e", b"\xff", b"0x1p99999"])
def test_what_is_no_number_is_refused(word):
    with pytest.raises(ProgramError, match="is no number"):
        read_number(word, "x")


@pytest.mark.parametrize("form", [repr, "{:.17g}".format, "{:.16e}".format, "{:.20f}".format, float.hex])
@pytest.mark.parametrize(
    "values", [[0.0], [0.1], [0.25, 3.0], np.random.default_rng(3).random(40).tolist()]
)
def test_text_that_holds_every_bit_is_taken(tmp_path, form, values):
    (tmp_path / "log.txt").write_text("\n".join(map(form, values)))
    found = read_numbers(tmp_path, "log", (len(values),))
    assert found.exact
    assert found.values.tolist() == values


@pytest.mark.parametrize("form", ["{:.6f}", "{:.12e}", "{:.15g}"])
def test_text_that_shows_a_rounding_is_refused(tmp_path, form):
    (tmp_path / "log.txt").write_text("\n".join(map(form.format, np.random.default_rng(3).random(40))))
    assert not read_numbers(tmp_path, "log", (40,)).exact


@pytest.mark.parametrize("form", ["{:.16g}", "{:.15e}", "{:.16f}", "{:.15g}"])
def test_sixteen_digits_are_not_taken_for_the_number_itself(tmp_path, form):
    """Of values of which each is read back as another, and of which no text shows that."""
    generator = np.random.Generator(np.random.PCG64(16))
    drawn = [float(one) for one in 10.0 ** generator.uniform(-2, 1, 4000)]
    lost = [one for one in drawn if float(form.format(one)) != one][:60]
    for values in (lost, drawn[:60], [*lost[:50], 2.0, 0.0, 1.0]):
        text = " ".join(map(form.format, values))
        (tmp_path / "log.txt").write_text(text)
        found = read_numbers(tmp_path, "log", (len(values),))
        assert not found.exact
        error = np.abs(found.values - values)
        assert error.any()
        assert (error <= found.rounding).all()
        assert (found.rounding <= 1.1e-14 * np.maximum(np.abs(found.values), 1.0)).all()
        assert np.array_equal(printed_numbers(f"a {text}", "a", len(values))[1], found.rounding)


def test_a_number_that_no_other_is_printed_alike_is_exact_at_sixteen_digits():
    generator = np.random.Generator(np.random.PCG64(17))
    drawn = [float(one) for one in 2.0 ** generator.uniform(-80, 80, 4000)]
    exact = 0
    for value in drawn:
        _, (rounding,) = printed_numbers(f"a {value:.15e}", "a", 1)
        alike = [f"{math.nextafter(value, end):.15e}" == f"{value:.15e}" for end in (-math.inf, math.inf)]
        exact += not rounding
        assert rounding or not any(alike)
    assert exact > 500


@pytest.mark.parametrize("count", [1, 5, 14, 40])
def test_the_shortest_texts_are_never_refused(count):
    generator = np.random.Generator(np.random.PCG64(count))
    for _ in range(300):
        values = (10.0 ** generator.uniform(-300, 300) * generator.random(count)).tolist()
        assert shown_numbers([repr(one).encode() for one in values], "a", (count,)).exact, values


@pytest.mark.parametrize(
    "word", ["1.234567890123456e400", "1.234567890123456e-321", "1.234567890123456e308"]
)
def test_sixteen_digits_at_the_ends_of_the_range_are_read(word):
    shown_numbers([word.encode()] * 3, "a", (3,))


def test_every_float64_survives_printing_with_seventeen_digits():
    bits = np.random.default_rng(1).integers(0, 2**63, 500, dtype=np.int64).tolist()
    for value in (struct.unpack("<d", struct.pack("<q", bit))[0] for bit in bits):
        if np.isfinite(value):
            assert read_number(f"{value:.17g}".encode(), "x")[0] == value
            assert read_number(value.hex().encode(), "x") == (value, 17)


@pytest.mark.parametrize(
    ("output", "values", "rounding"),
    [
        ("alpha:\n1.25e-01 2\n", [0.125, 2.0], [0.5e-3, 0.5e-2]),
        ("alpha: 9 9\nbeta\nalpha: 0x1.8p+0 -0.5000", [1.5, -0.5], [0.0, 0.5e-4]),
        ("alpha: 0 2", [0.0, 2.0], [0.5, 0.5]),
        ("alpha: 2 0.12345678901234568", [2.0, 0.12345678901234568], [0.0, 0.0]),
        ("alpha: nan 1e300", [math.nan, 1e300], [0.0, 0.5e300]),
        ("alpha: 0 0.1234567890", [0.0, 0.123456789], [0.5e-10, 0.5e-10]),
        ("alpha: 2. 1.23456789012345670e-01", [2.0, 0.1234567890123456700], [0.0, 0.0]),
        ("alpha: 0.0 1.50000000000000000000", [0.0, 1.5], [0.5e-20, 0.0]),
        ("alpha: 123. 1.20", [123.0, 1.2], [0.5, 0.5e-2]),
        ("alpha: [0.25, 1.50]", [0.25, 1.5], [0.5e-2, 0.5e-2]),
        ("alpha: (0.25,1.50) 7 8", [0.25, 1.5], [0.5e-2, 0.5e-2]),
        ("alpha: [[0.25]\n [1.50]]\n9", [0.25, 1.5], [0.5e-2, 0.5e-2]),
        ("alpha: 0.25, 1.50;", [0.25, 1.5], [0.5e-2, 0.5e-2]),
    ],
)
def test_numbers_printed_after_a_text_carry_half_a_unit_of_their_last_digit(output, values, rounding):
    found, errors = printed_numbers(output, "alpha:", 2)
    np.testing.assert_array_equal(found, values)
    assert (errors >= rounding).all()
    assert (errors <= np.array(rounding) * 1.001 + 1e-15 * np.abs(np.nan_to_num(found))).all()


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("beta: 1 2", "not in its output"),
        ("alpha: 1", "printed 1 word "),
        ("alpha: 1 x", "'x' is no"),
        ("alpha: [1] 2", "printed 1 word "),
        ("alpha: 0,5 1,5", "'0,5' is no"),
    ],
)
def test_a_result_that_is_not_there_is_reported(output, words):
    with pytest.raises(ProgramError, match=words) as raised:
        printed_numbers(output, "alpha:", 2)
    assert isinstance(raised.value, NoResultError)


@pytest.mark.parametrize("digits", [1, 3, 6, 12, 15, 16, 17, 20])
@pytest.mark.parametrize("form", ["e", "g", "f", "rounded", "signed"])
@pytest.mark.parametrize("few", [False, True])
def test_the_rounding_reported_is_at_least_the_rounding_made(digits, form, few):
    random = np.random.default_rng(digits)
    values = random.standard_normal(300) * (10.0 ** np.arange(-150, 150) if form != "f" else 3.0)
    values[::3] = random.integers(-3, 4, 100)  # whole numbers among the others
    values = values[:5] if few else values
    write = {"rounded": lambda one: repr(round(one, digits)), "signed": lambda one: f"{one:+.{digits}g}"}
    told = " ".join(map(write.get(form, lambda one: f"{one:.{digits}{form}}"), values.tolist()))
    found, rounding = printed_numbers(f"alpha: {told}", "alpha:", values.size)
    off = [abs(Fraction(one) - Fraction(other)) for one, other in zip(found, values, strict=True)]
    assert all(one <= Fraction(most) for one, most in zip(off, rounding, strict=True))
    if digits >= 17 and form in "eg":
        assert np.count_nonzero(rounding[values != 0]) <= 1  # of the smallest, a zero may be left out
        assert (rounding <= 1e-16 * np.maximum(np.abs(values), 1)).all()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a.txt: cannot be read as a result: No such file"),
        ("os.symlink('/etc/hostname', 'a.txt')", "it is a link"),
        ("os.mkfifo('a.txt')", "not a regular file"),
        ("open('a.txt', 'w').write('1 ' * 5)", "has 5 words, but it must hold 6 numbers alone"),
        ("open('a.txt', 'w').write('1 ' * 5 + 'x')", "'x' is no number"),
        ("open('a.txt', 'w').truncate(1 << 30)", "at most"),
        ("open('a.txt', 'w').write('0e999999 ' * 6)", ""),
    ],
)
def test_a_file_with_a_result_is_read_with_care(tmp_path, text, words):
    tested = leaving(text, RESULT, tmp_path)
    asked = RunRequest(request().problem, IndexStream("cyclic", 6, 1, 4), 2, 4)
    if words:
        with pytest.raises(ProgramError, match=words) as raised:
            tested.run(asked)
        assert isinstance(raised.value, NoResultError)
    else:
        assert tested.run(asked).rounding[-1, 0] == math.inf


def test_a_link_to_a_folder_leads_to_no_file_of_another(tmp_path):
    (tmp_path / "a.txt").write_text("1 " * 6)
    tested = leaving(f"os.symlink({str(tmp_path)!r}, 'b')", '[final]\nfile = "b/a.txt"\n', tmp_path)
    with pytest.raises(ProgramError, match="where a link leads"):
        tested.run(RunRequest(request().problem, IndexStream("cyclic", 6, 1, 4), 2, 4))


def test_more_entries_than_there_are_are_refused(tmp_path):
    tested = leaving("print('a: ' + '1 ' * 9)", '[final]\nafter = "a:"\nfirst = 7\n', tmp_path)
    with pytest.raises(RefusedError, match="first = 7, but alpha has only m = 6 entries"):
        tested.run(RunRequest(request().problem, IndexStream("cyclic", 6, 1, 4), 2, 4))


@pytest.mark.parametrize(
    ("indices", "words"),
    [
        (None, "left no indices.bin or indices.txt"),
        ("0 1 2", "has 3 words, but there must be 4 integers"),
        ("0 1 2 6", "holds index 6, outside 0..5"),
        ("0 1 2 -1", "'-1' is no index"),
        ("0 1 2 1.0", "'1.0' is no index"),
        ("0 1 2 99999999999999999999", "is no index"),
        (b"\0" * 31, "has 31 bytes, but 4 int64 have 32"),
        (struct.pack("<4q", 0, 1, 2, -1), "holds index -1, outside"),
    ],
)
def test_draws_that_a_program_logs_are_read_with_care(tmp_path, indices, words):
    text = "open('log.bin', 'wb').write(bytes(32))\n"
    if isinstance(indices, str):
        text += f"open('indices.txt', 'w').write({indices!r})"
    elif indices is not None:
        text += f"open('indices.bin', 'wb').write({indices!r})"
    tested = leaving(text, '[stream]\nkind = "logged"\n', tmp_path, "log")
    asked = RunRequest(request().problem, IndexStream("logged", 6, 1, 4), 2, 4)
    with pytest.raises(ProgramError, match=words):
        tested.run(asked)


@pytest.mark.parametrize(
    ("indices", "kind"), [("0 1 1 1 ", RepeatedDrawError), ("0 0 1 6", NoLogError)], ids=["twice", "range"]
)
def test_a_coordinate_twice_in_a_block_is_another_thing_than_no_draws(tmp_path, indices, kind):
    (tmp_path / "indices.txt").write_text(indices)
    with pytest.raises(kind):
        read_draws(tmp_path, (2, 2), 6)
    if kind is RepeatedDrawError:
        assert read_draws(tmp_path, (2, 2), 6, replacement=True).tolist() == [[0, 1], [1, 1]]


def test_of_what_is_recorded_next_to_a_log_the_rounding_is_that_of_what_is_recorded(tmp_path):
    """A scale of no power of two rounds each a; a log has another shape than the trace next to it."""
    lines = "\n".join(
        f'open("{name}.txt", "w").write(" ".join(["0.5"] * {count}))'
        for name, count in (("log", 14), ("trace", 30))
    )
    asked = replace(request(record=(4, 8, 12)), start=0)
    made = leaving(lines, "[conventions]\nscale = 3.0\n", tmp_path, "log").run(asked)
    assert made.rounding is not None
    assert made.rounding.shape == made.alphas.shape == (5, 6)
    assert made.rounding_at(14).shape == (6,)
