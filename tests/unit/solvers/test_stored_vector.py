"""A vector in a file: every format, what its digits show, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from broken_headers import HEADERS, with_header

from sstep_verify.adapters.stored import read_vector
from sstep_verify.errors import InputError
from sstep_verify.problems import Ridge
from sstep_verify.problems.transforms import scale_from, scales

VALUES = np.random.Generator(np.random.PCG64(0)).standard_normal(20) / 3


def written(folder, text):
    path = folder / "alpha.txt"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("form", ["{:.17g}", "{!r}", "{}", "{:.17e}"])
def test_what_shows_all_digits_is_exact(tmp_path, form):
    values, rounding = read_vector(
        written(tmp_path, "\n".join(form.format(float(x)) for x in VALUES)), VALUES.size
    )
    assert (values == VALUES).all()
    assert not rounding.any()


def test_hexadecimal_binary_and_numpy_files_are_exact(tmp_path):
    np.save(tmp_path / "alpha.npy", VALUES[:, None])
    VALUES.tofile(tmp_path / "alpha.bin")
    hexadecimal = written(tmp_path, ", ".join(float(x).hex() for x in VALUES))
    for path in (tmp_path / "alpha.npy", tmp_path / "alpha.bin", hexadecimal):
        values, rounding = read_vector(path, VALUES.size)
        assert (values == VALUES).all()
        assert not rounding.any()


def test_an_archive_of_arrays_has_the_vector_as_alpha(tmp_path):
    for name in ("model.npz", "model"):
        with open(tmp_path / name, "wb") as file:
            np.savez(file, alpha=VALUES, history=np.zeros((1000, 1000)), options="{}")
        values, rounding = read_vector(tmp_path / name, VALUES.size)
        assert (values == VALUES).all()
        assert not rounding.any()
    with pytest.raises(InputError, match=r"shape \(20,\) .* 19 samples"):
        read_vector(tmp_path / "model", VALUES.size - 1)
    np.savez(tmp_path / "model.npz", coef=VALUES, history=VALUES)
    with pytest.raises(InputError, match="holds no array 'alpha', but coef, history"):
        read_vector(tmp_path / "model.npz", VALUES.size)
    np.savez(tmp_path / "model.npz", alpha=np.zeros(10_000))
    with pytest.raises(InputError, match="'alpha' has 80128 bytes, but at most"):
        read_vector(tmp_path / "model.npz", VALUES.size)


def test_exponents_of_fortran_and_a_byte_order_mark_are_read(tmp_path):
    text = " ".join(f"{x:.17E}".replace("E", "D") for x in VALUES)
    values, rounding = read_vector(written(tmp_path, "\ufeff" + text), VALUES.size)
    assert (values == VALUES).all()
    assert not rounding.any()


@pytest.mark.parametrize("form", ["{:.6f}", "{:.6e}", "{:.6g}", "{:.3f}", "{:.4g}", "{:.16g}", "{:.15e}"])
def test_rounding_holds_what_was_rounded_away_and_little_more(tmp_path, form):
    mixed = np.concatenate([VALUES, [0.0, 0.5, 12.25, 1e-9, 3.0], VALUES * 1e-3])
    values, rounding = read_vector(written(tmp_path, "\n".join(form.format(x) for x in mixed)), mixed.size)
    assert (np.abs(values - mixed) <= rounding).all()
    assert rounding.max() <= 1e-2


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("0 0.7 0.25 0.7 1", True),  # an end of the box, and what float64 holds as it is shown
        ("0.0 0.7 0.5 0.0 0.7", True),
        ("0.00 0.70 0.25 0.70 1.00", False),
        ("0 0.71 0.25 0.7 1", False),
    ],
)
def test_few_digits_are_exact_where_nothing_was_rounded(tmp_path, text, exact):
    _, rounding = read_vector(written(tmp_path, text), 5, (0.7,))
    assert (not rounding.any()) == exact


def test_zeros_that_were_left_out_do_not_widen_the_rounding(tmp_path):
    _, rounding = read_vector(written(tmp_path, "[0.333333, 0.5; 1 0.25 0 0.142857 0.1 0.2 0.111111]"), 9)
    assert rounding.max() < 1e-5


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("alpha.txt", b"1 2", "holds 2 numbers, but the data have 3 samples"),
        ("alpha.txt", b"1", "holds 1 number, but the data have 3 samples"),
        ("alpha.txt", b"", "holds 0 numbers, but the data have 3 samples"),
        ("alpha.txt", b"a b", "number 1: 'a' is no number"),
        ("alpha.txt", b"1 2 3 4", "holds 4 numbers"),
        ("alpha.txt", b"1 2 x", "'x' is no number"),
        ("alpha.bin", b"12345678", "3 float64, one for each sample, have 24"),
        ("alpha.npy", b"nonsense", r"cannot be read as a \.npy file: it does not begin as one"),
        *[("alpha.npy", with_header(text), r"cannot be read as a \.npy file") for text in HEADERS.values()],
    ],
)
def test_what_is_no_vector_is_refused(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_vector(tmp_path / name, 3)


@pytest.mark.parametrize("name", ["alpha.txt", "alpha.npy"])
@pytest.mark.parametrize(("features", "weights"), [(5, True), (4, False), (0, False)])
def test_a_vector_with_a_number_for_each_feature_may_be_weights(tmp_path, name, features, weights):
    write = np.save if name.endswith("npy") else np.savetxt
    write(tmp_path / name, np.ones(5))
    with pytest.raises(InputError) as refused:
        read_vector(tmp_path / name, 3, (), features)
    assert ("weights" in str(refused.value)) == weights


def test_pickled_arrays_are_refused(tmp_path):
    np.save(tmp_path / "alpha.npy", np.array([{}, 1, 2], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="cannot be read"):
        read_vector(tmp_path / "alpha.npy", 3)


def test_scales_have_names_and_numbers():
    from toy_problem import problem

    ridge = problem(loss=Ridge(0.25), targets=np.arange(4.0))
    assert scales(ridge)["1/lambda"] == 4.0
    assert scale_from(ridge, "m * lambda") == 1.0
    assert scale_from(ridge, "-2.5") == -2.5
    for text in ("0", "nan", "1/lambd", "C"):
        with pytest.raises(InputError, match="one of -1, 2"):
            scale_from(ridge, text)
