"""Tries of a vector alone, which comes back from elsewhere, spoilt."""

from __future__ import annotations

from pathlib import Path

import nasty
import numpy as np
from attempt import Try, asked
from nasty import Draw, pick
from statements import wrong_answer


def finals(draw: Draw) -> Try:
    """A vector alone, of a problem that it is or is not the optimum of."""
    with np.load("c.npz") as arrays:
        alpha = arrays["alpha"].copy()
    words = ["oracle", "--final", "f.txt", "good", "--task", "svm-l1", "--out", "rep"]
    way = int(draw.integers(6))
    if way == 0:
        alpha = alpha * pick(draw, (2.0, -1.0, 24.0, 1 / 24, 1e300, 1e-300))
    elif way == 1:
        alpha[int(draw.integers(alpha.size))] = pick(draw, (0.0, 1e308, np.inf, np.nan, -1e-9, 0.5))
    elif way == 2:
        alpha = alpha[: int(draw.integers(alpha.size + 1))]
    text = "".join(f"{value:.17g}\n" for value in alpha.tolist())
    Path("f.txt").write_bytes(nasty.spoil_lines(draw, text) if way == 3 and text else text.encode())
    if way == 4:
        name = pick(draw, ("--C", "--scale", "--tolerance", "--bias", "--kernel", "--lambda"))
        words += [name, pick(draw, nasty.NUMBERS).replace("\0", "") or "0"]
    if way == 5:
        words[2] = pick(draw, ("good", "c.npz", "gone", ".", "/dev/zero", "c.json", "v", ""))
    plain = not {"--scale", "--tolerance", "--bias"} & set(words)
    judge = (
        (lambda _: wrong_answer(Path(words[2]), *asked(("oracle", "good", *words[4:])))) if plain else None
    )
    return Try("vector alone", tuple(words), ("rep", "rep.partial"), judge or (lambda _: ""))
