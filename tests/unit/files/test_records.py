"""Strict types of dataclasses: what they take, what they refuse, and in which words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.files.records import convert, decode, json_schema, one_line, strict, table_from


@dataclass(frozen=True)
class Part:
    """A part of a whole.

    More on it.
    """

    size: float
    name: str = ""

    def __post_init__(self):
        if self.size < 0:
            raise InputError(f"size = {self.size}, but it must be >= 0")


@dataclass(frozen=True)
class Other:
    """Another part."""

    size: float


@dataclass(frozen=True)
class Whole:
    """The whole."""

    count: int
    parts: tuple[Part, ...] = ()
    by_number: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    other: Part | Other | None = None


PLAIN = strict(Whole, {Part | Other | None: str | None})
TAGGED = strict(Whole, {}, tagged=True)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "x: missing field `count`"),
        ({"count": 1, "cuont": 2}, "x: unknown field `cuont`"),
        ({"count": True}, "x: count: True is rejected: expected `int`, got `bool`"),
        ({"count": 1.0}, "x: count: 1.0 is rejected: expected `int`, got `float`"),
        ({"count": "1"}, "x: count: '1' is rejected: expected `int`, got `str`"),
        (
            {"count": 1, "parts": [{"size": None}]},
            r"x: parts\[0\]\.size: None is rejected: expected `float`",
        ),
        ({"count": 1, "parts": [{"size": 1, "news": 2}]}, r"x: parts\[0\]: unknown field `news`"),
        ({"count": 1, "by_number": {"one": []}}, "x: by_number: .*expected `int`, got `str`"),
        ([], "x: .*expected `object`, got `array`"),
    ],
)
def test_a_value_is_refused_by_its_place_with_what_it_is(values, words):
    with pytest.raises(InputError, match=f"^{words}"):
        convert(values, PLAIN, "x")


def test_what_is_right_is_taken_and_no_number_changes():
    values = {"count": 2, "parts": [{"size": 1}, {"size": 0.1, "name": "b"}], "by_number": {"3": [1, 2]}}
    made = convert(values, PLAIN, "x")
    assert (made.count, made.by_number, made.stands_for) == (2, {3: (1, 2)}, Whole)
    assert [(part.size, part.name) for part in made.parts] == [(1.0, ""), (0.1, "b")]


def test_a_record_that_names_its_dataclass_is_distinguished():
    made = convert({"record": "Whole", "count": 1, "other": {"record": "Other", "size": 2}}, TAGGED, "x")
    assert made.other.stands_for is Other
    for other in ({"size": 2}, {"record": "Popen"}):
        with pytest.raises(InputError, match=r"^x: other"):
            convert({"record": "Whole", "count": 1, "other": other}, TAGGED, "x")


def test_what_a_record_refuses_is_said_with_its_place():
    with pytest.raises(InputError, match=r"^x: size = -1\.0, but it must be >= 0"):
        convert({"size": -1}, Part, "x")


@pytest.mark.parametrize("content", [b"", b"{", b"NaN", b"1e400", b"\xff", b"[" * 10**6])
def test_text_that_is_not_strict_json_is_refused(content):
    with pytest.raises(InputError, match=r"^x "):
        decode(content, "x")


def test_a_schema_has_version_descriptions_and_no_room_for_more():
    made = json_schema(PLAIN, "whole", 7)
    assert made["$id"] == "urn:sstep-verify:schema:whole:7"
    part = made["$defs"]["Part"]
    assert (part["description"], part["required"], part["additionalProperties"]) == (
        "A part of a whole.",
        ["size"],
        False,
    )


def test_a_value_next_to_a_list_of_allowed_ones_is_refused_with_the_list():
    with pytest.raises(InputError) as caught:
        convert({"name": "mine", "update": "frozn"}, Declaration, "declared")
    assert "'frozn' is rejected" in str(caught.value)
    assert "(did you mean 'frozen'?); known: in-place, added, frozen" in str(caught.value)


def test_messages_stay_in_one_line():
    assert one_line("a\nb\0\ud800") == "a\\nb\\x00\\ud800"
    assert len(one_line("9" * 10_000)) < 500


def test_a_number_of_more_digits_than_python_prints_is_refused_in_words():
    from sstep_verify.problems import Hinge

    with pytest.raises(InputError, match="thousands of digits is rejected"):
        convert({"C": 16**5000}, strict(Hinge, {}), "a file")
    with pytest.raises(
        InputError, match=r"thousands of digits is rejected.*known: in-place, added, frozen"
    ):
        convert({"name": "mine", "update": 16**5000}, Declaration, "declared")


def test_an_unknown_field_is_refused_with_the_most_like_and_all_known_ones():
    told = r"unknown field `updates` \(did you mean 'update'\?\); known: name, precision, update"
    with pytest.raises(InputError, match=told):
        convert({"name": "mine", "updates": "frozen"}, strict(Declaration, {}), "declared")


def test_a_byte_order_mark_before_a_table_is_passed_over():
    assert table_from(b"\xef\xbb\xbf[program]\nname = 'mine'\n", "mine.toml", "one") == {
        "program": {"name": "mine"}
    }
