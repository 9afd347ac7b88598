"""Values of a campaign file: each that is out of range is refused in one line with its key, value and range."""

from __future__ import annotations

import os

import pytest

from sstep_verify.campaign.read import LARGEST, parse_definition, read_definition
from sstep_verify.campaign.verdicts.family import expand
from sstep_verify.errors import InputError

HEAD = '[campaign]\nname = "mine"\ntitle = "t"\ndescription = "d"\n'

FAMILY = """
[[family]]
data = ["x.svm"]
task = ["svm-l1"]
kernel = [{ name = "linear" }]
s = [1, 4]
iterations = 60
"""

MANY = "[" + ", ".join(map(str, range(1, 1502))) + "]"


def refused(text):
    with pytest.raises(InputError) as caught:
        parse_definition(text, "mine.toml")
    assert "\n" not in str(caught.value)
    assert "mine.toml" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("s = [1000000000]", "s = 1000000000, but it must be >= 1 and <= 60: iterations = 60"),
        ("s = [99999999999999999999999999999999999999999]", "s = 99999999999999999999999999999999999999999, but"),
        (f"iterations = 2000\ns = {MANY}", "s has 1501 values, but at most 1000"),
        ("s = [4, 1, 4]", "s holds 4 twice"),
        ("s = []", "s is empty"),
        ("ranks = 1000", "ranks = 1000, but it must be >= 1 and <= "),
        ("ranks = 99999999999999999999999", "ranks = 99999999999999999999999, but"),
        ("parameter = []", "parameter is empty"),
        ("parameter = [1.0, 1.0]", "parameter holds 1.0 twice"),
        ("parameter = [nan]", "parameter = nan"),
        ("parameter = [inf]", "parameter = inf"),
        (f"parameter = [1{'0' * 400}]", "parameter[0]: 1000"),
        ("tolerance = -1", "tolerance = -1.0, but it must be finite and > 0"),
        ("memory = nan", "memory = nan"),
        ("time_limit = 0", "time_limit = 0"),
        ("cache = -1", "cache = -1"),
        ("seed = -1", "seed = -1"),
        ("windows = 1\nminimum_windows = 4", "minimum_windows = 4, but it must be >= 1 and <= 3: windows = 1"),
        ('checks = ["box", "box"]', "checks holds 'box' twice"),
        ('checks = ["bos"]', "checks 'bos' is unknown (did you mean 'box'?)"),
        ('task = ["svm-11"]', "task 'svm-11' is unknown (did you mean 'svm-l1'?)"),
        ('stream = "file"', "stream 'file' is unknown"),
        ('iteration = 3', "unknown field `iteration` (did you mean 'iterations'?)"),
        ('solver = "prodction"', "(did you mean 'production'?)"),
        ('solver = "no_such_module:solver"', "ModuleNotFoundError"),
        ('solver = "a:b"\nranks = 2', "runs in one process, but ranks = 2"),
        ('kernel = [{ name = "rbf", sigma = "1" }]', "kernel[0].sigma: '1' is rejected: expected `float`"),
        ('kernel = [{ name = "rbf", sigma = [1.0] }]', "kernel[0].sigma: [1.0] is rejected: expected `float`"),
        ('kernel = [{ name = "rbf", sigma = true }]', "kernel[0].sigma: True is rejected"),
        ('kernel = [{ name = "polynomial", degree = 2147483648 }]', "degree = 2147483648"),
        ('kernel = [{ name = "polynomial", degree = 2.5 }]', "kernel[0].degree: 2.5 is rejected: expected `int`"),
        ('kernel = [3]', "kernel[0]: 3 is rejected"),
        ('kernel = [{ name = "rbf", degree = 3 }]', "kernel rbf has no degree, it has sigma; leave it out"),
        ('kernel = [{ name = "linear", sigma = 1.0 }]', "kernel linear has no sigma, it has no number; leave"),
    ],
)  # fmt: skip
def test_a_family_out_of_range_is_refused(line, words):
    keys = {part.split(" = ")[0] for part in line.split("\n")}
    kept = [one for one in FAMILY.strip().split("\n") if one.split(" = ")[0] not in keys]
    assert words in refused(HEAD + "\n".join([*kept, line]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD.replace('"mine"', '"../../evil"') + FAMILY, "name = '../../evil', but it names a folder"),
        (HEAD.replace('"mine"', '".."') + FAMILY, "the first a letter or digit"),
        (HEAD.replace('"mine"', f'"{"x" * 65}"') + FAMILY, "1 to 64 letters"),
        (HEAD.replace('"mine"', '""') + FAMILY, "name = ''"),
        (HEAD + "tolerated_vacuous = -1\n" + FAMILY, "tolerated_vacuous: -1 is rejected: expected `array`"),
        (HEAD + "titel = 1\n" + FAMILY, "unknown field `titel` (did you mean 'title'?)"),
        (HEAD + "x = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ("family = [1]\n" + HEAD, "family: [0]: 1 is rejected"),
        (HEAD + FAMILY + f"seed = {'9' * 5000}", "not a TOML file"),
    ],
)
def test_a_head_or_a_file_that_cannot_be_used_is_refused(text, words):
    assert words in refused(text)


def test_too_many_problems_are_refused():
    values = ", ".join(f"{k}.0" for k in range(1, 201))
    kernels = ", ".join(f'{{ name = "rbf", sigma = {k}.0 }}' for k in range(1, 101))
    text = HEAD + FAMILY.replace('{ name = "linear" }', kernels) + f"parameter = [{values}]"
    with pytest.raises(InputError, match="more than 10,000 problems"):
        expand(parse_definition(text, "mine.toml"))


def test_a_file_that_is_no_regular_one_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "large.toml").write_text("#" * (LARGEST + 1), encoding="ascii")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    for name, words in (
        ("pipe.toml", "not a regular file"), ("large.toml", "at most"), ("bytes.toml", "not a TOML file"),
        ("absent.toml", "No such file"), ("a\0b.toml", "cannot be read"), ("x" * 5000 + ".toml", "cannot be read"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            read_definition(str(tmp_path / name))
    with pytest.raises(InputError, match=r"'embeded' is unknown \(did you mean 'embedded'\?\)"):
        read_definition("embeded")
