"""Values, tokens and bytes that have broken programs, and ways to put them into files."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np

Draw = np.random.Generator

NUMBERS = (
    "0", "-0", "-1", "1", "2", "3.5", "1e-5", "1e-200", "1e-308", "5e-324", "1e308", "1.8e308", "-1e308", "1e400",
    "inf", "-inf", "nan", "1_000", "0x10", "٣", "½", "1e", "1e+", ".", "-", "+", "", " ", "007", "2147483647",
    "2147483648", "4294967296", "9223372036854775807", "9223372036854775808", "1180591620717411303424",
    "9" * 400, "1" + "0" * 5000, "1.0000000000000000000000000000001", "true", "None", "1,5", "1;2", "$(id)", "../x",
)  # fmt: skip

TOKENS = (
    "3:", ":3", ":", "::", "1:nan", "1:inf", "1:1e999", "1:1e-400", "0:1", "-1:1", "1:1 1:2", "4:1 2:1", "1.5:1",
    "2147483646:1", "2147483647:1", "2147483648:1", "9223372036854775808:1", "1:1:1", "qid:1", "# no", "1:1#no",
    "1:0x1p3", "1:1_0", "1:١", "\ufeff1:1", "\x0b", "\x0c", "\x00", "\x1a", "\r", "\u2028", "\t", "1:" + "9" * 500,
    "1:" + "0" * 5000 + "1", "1:1e-", "1:--1", "1: 1", "99999999:1", "+1", "x",
)  # fmt: skip

TOML = (
    "[]", "{}", '""', '"x"', "-1", "0", "1e999", "nan", "inf", "true", "[[]]", "[1, 1]", "[-1]", "[0]", '["../../x"]',
    "9223372036854775808", "1979-05-27", "[1.5]", "99999999999999999999999", "2147483648", '"1"', "1e-320", "1e308",
    "[1000000000]", '[{ name = "rbf", sigma = "1" }]', '[{ name = "rbf", sigma = [1] }]', '[{ name = "rbf" }]',
    '[{ name = "polynomial", degree = 2147483648, offset = 1.0 }]', '[{ name = "linear", sigma = 1 }]', '"a\\u0000b"',
    '[{ name = "polynomial", degree = -1 }]', "[" * 3000 + "]" * 3000, '"' + "x" * 5000 + '"', "{ a = { b = 1 } }",
)  # fmt: skip


def pick(draw: Draw, among):
    """One of several, all alike probable."""
    return among[int(draw.integers(len(among)))]


def spoil_bytes(draw: Draw, content: bytes) -> bytes:
    """Cut, flip, double, insert or replace some bytes."""
    way = int(draw.integers(6))
    place = int(draw.integers(max(len(content), 1)))
    if way == 0:
        return content[:place]
    if way == 1 and content:
        return (
            content[:place] + bytes([content[place] ^ (1 << int(draw.integers(8)))]) + content[place + 1 :]
        )
    if way == 2:
        return content + content[place:]
    if way == 3:
        return content[:place] + draw.bytes(int(draw.integers(1, 9))) + content[place:]
    if way == 4:
        return b""
    return draw.bytes(int(draw.integers(1, 400)))


def spoil_lines(draw: Draw, text: str) -> bytes:
    """Put, replace or glue one token on a line of a LIBSVM file, or spoil its bytes."""
    if draw.random() < 0.2:
        return spoil_bytes(draw, text.encode())
    lines = text.splitlines()
    row = int(draw.integers(len(lines)))
    words = lines[row].split(" ")
    place, token = int(draw.integers(len(words) + 1)), pick(draw, TOKENS + NUMBERS)
    way = int(draw.integers(3))
    if way == 0:
        words.insert(place, token)
    elif way == 1:
        words[min(place, len(words) - 1)] = token
    else:
        words[min(place, len(words) - 1)] += token
    lines[row] = " ".join(words)
    return (pick(draw, ("\n", "\n", "\n", "\r\n", "\r", "\n\n")).join(lines) + "\n").encode(
        "utf-8", "replace"
    )


def array_bytes(array: np.ndarray) -> bytes:
    """An array in NumPy's file format; arrays of objects as they would be pickled are left to `claim`."""
    written = io.BytesIO()
    np.save(written, array, allow_pickle=False)
    return written.getvalue()


def claim(shape: str, kind: str = "<f8") -> bytes:
    """An array file that claims a shape and holds eight bytes."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\0" * 8


def spoil_array(draw: Draw, content: bytes) -> bytes:
    """One array of another length, type or content."""
    array = np.load(io.BytesIO(content), allow_pickle=False)
    way = int(draw.integers(9))
    if way == 0:
        return claim("(1099511627776,)")
    if way == 1:
        return claim("(2,)", "|O")
    if way == 2:
        return array_bytes(np.full(array.shape, np.nan))
    if way == 3:
        return array_bytes(np.zeros(array.shape, array.dtype))
    if way == 4:
        return array_bytes(np.array(["x"] * max(array.size, 1)))
    if way == 5:
        return array_bytes(np.concatenate([array.ravel(), array.ravel()]))
    if way == 6:
        return array_bytes(array.ravel()[:0])
    if way == 7 and array.dtype.kind in "fiu" and array.size:
        changed = array.copy()
        changed.flat[int(draw.integers(array.size))] = pick(draw, (-1, 0, 1, 2, 100))
        return array_bytes(changed)
    return spoil_bytes(draw, content)


def spoil_arrays(draw: Draw, file: Path) -> str:
    """Spoil one member of an .npz file, or the file, in place; the way in words."""
    if draw.random() < 0.2 or not zipfile.is_zipfile(file):
        file.write_bytes(spoil_bytes(draw, file.read_bytes()))
        return "bytes"
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = pick(draw, sorted(members))
    if draw.random() < 0.15:
        del members[name]
    else:
        members[name] = spoil_array(draw, members[name])
    with zipfile.ZipFile(file, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return name


def spoil_document(draw: Draw, document: object) -> str:
    """Change one value deep in a JSON document, in place; its path."""
    parent, path = document, ""
    while True:
        keys = sorted(parent) if isinstance(parent, dict) else list(range(len(parent)))
        key = pick(draw, keys)
        path += f".{key}"
        child = parent[key]
        if isinstance(child, dict | list) and child and draw.random() < 0.9:
            parent = child
            continue
        way = int(draw.integers(10))
        if way == 0 and isinstance(parent, dict):
            del parent[key]
        elif way == 1 and isinstance(parent, dict):
            parent[f"{key}x"] = child
        else:
            parent[key] = _other(draw, child)
        return path


def _other(draw: Draw, value: object) -> object:
    text = str(value)
    digit = next((place for place, letter in enumerate(text) if letter.isdigit()), None)
    if digit is not None and draw.random() < 0.5:
        changed = text[:digit] + pick(draw, "0123456789") + text[digit + 1 :]
        try:
            return changed if isinstance(value, str) else type(value)(float(changed))
        except (ValueError, OverflowError):
            return changed
    deep: object = []
    for _ in range(2000):
        deep = [deep]
    return pick(
        draw,
        (None, True, -1, 0, 1, 10**40, 1e308, float("nan"), float("inf"), "", "x", "nan", "1e99999", "9" * 5000,
         [], {}, [[1]], {"a": 1}, "../../etc/passwd", "\x00", text + text, "-" + text, deep),
    )  # fmt: skip
