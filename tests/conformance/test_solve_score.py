"""What `solve --test` prints of its predictions, from the files alone: alpha of the result, and both data files.

Kernels, values, error and accuracy are taken again here, in plain loops over numbers that this file reads.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from plant import plant
from solve_here import arrays, done

from sstep_verify.ranks.environment import promised_size
from sstep_verify.solver.training import files, predictions

pytestmark = pytest.mark.skipif(promised_size() > 1, reason="runs the command in its own process")

TRAINED, NEW, FEATURES = 18, 11, 5
U = 2.0**-53
LAMBDA, OFFSET, DEGREE, SIGMA = 0.3, 0.5, 3, 0.2
KERNELS = {
    "linear": "linear",
    "polynomial": f"polynomial,degree={DEGREE},offset={OFFSET}",
    "rbf": f"rbf,sigma={SIGMA}",
}
CLASSES = 3.0, 7.0
"""Labels of the files; the larger is +1."""


def drawn_line(drawn, target: float, beyond: bool) -> str:
    """A sample whose features are partly absent, with one that no training sample has if `beyond`."""
    pairs = [f"{k + 1}:{drawn.normal():.17g}" for k in range(FEATURES) if drawn.random() < 0.7]
    return " ".join(
        [f"{target:.17g}", *pairs, *([f"{FEATURES + 3}:{drawn.normal():.17g}"] if beyond else [])]
    )


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn = np.random.Generator(np.random.PCG64(11))
    for name, count, beyond in (("train", TRAINED, False), ("new", NEW, True)):
        signs = np.resize([0, 1, 1], count)
        labels = [f"{CLASSES[sign]:g}" for sign in signs]
        lines = [drawn_line(drawn, drawn.normal(), beyond and k % 3 == 0) for k in range(count)]
        if beyond:
            lines[4] = lines[4].split()[0]  # A sample that is 0.
        (tmp_path / f"{name}.krr").write_text("\n".join(lines) + "\n", encoding="ascii")
        rest = [line.partition(" ")[2] for line in lines]
        named = [f"{label} {line}".strip() for label, line in zip(labels, rest, strict=True)]
        (tmp_path / f"{name}.svm").write_text("\n".join(named) + "\n", encoding="ascii")


def read(path: str) -> tuple[list[dict[int, float]], list[float]]:
    """Features by number, and targets."""
    rows, targets = [], []
    for line in Path(path).read_text("ascii").splitlines():
        first, *pairs = line.split()
        targets.append(float(first))
        rows.append({int(k): float(value) for k, value in (pair.split(":") for pair in pairs)})
    return rows, targets


def entry(kernel: str, one: dict[int, float], other: dict[int, float]) -> tuple[float, float]:
    """A kernel value, and how far float64 may be from it."""
    products = [one[k] * other[k] for k in one.keys() & other.keys()]
    inner, size = math.fsum(products), math.fsum(map(abs, products))
    few = len(one) + len(other) + 10
    if kernel == "linear":
        return inner, few * U * size
    if kernel == "polynomial":
        return (inner + OFFSET) ** DEGREE, (few + 2) * DEGREE * U * (size + OFFSET) ** DEGREE
    squares = math.fsum(v * v for v in one.values()) + math.fsum(v * v for v in other.values())
    distance = math.fsum((one.get(k, 0.0) - other.get(k, 0.0)) ** 2 for k in one.keys() | other.keys())
    return math.exp(-SIGMA * distance), few * U * (1 + 2 * SIGMA * (squares + 2 * size))


def values_of(kernel: str, task: str) -> tuple[list[float], float, list[float]]:
    """Values of the new samples by the files, how far float64 may be from them, and their targets."""
    suffix = "krr" if task == "krr" else "svm"
    (rows, targets), (new, wanted) = read(f"train.{suffix}"), read(f"new.{suffix}")
    alpha = arrays("r.npz")["alpha"].tolist()
    factors = [
        a if task == "krr" else (a if y == CLASSES[1] else -a) for a, y in zip(alpha, targets, strict=True)
    ]
    scale, values, error = LAMBDA if task == "krr" else 1.0, [], 0.0
    for sample in new:
        entries = [entry(kernel, row, sample) for row in rows]
        terms = [factor * value for factor, (value, _) in zip(factors, entries, strict=True)]
        values.append(math.fsum(terms) / scale)
        off = math.fsum(abs(f) * e for f, (_, e) in zip(factors, entries, strict=True))
        off += (len(rows) + 3) * U * math.fsum(map(abs, terms))
        error = max(error, 2 * off / scale)
    return values, error, wanted


def faults(kernel: str, task: str, said: str) -> list[str]:
    """What is printed and written of the predictions, and is not so."""
    values, error, targets = values_of(kernel, task)
    found = []
    written = [line.split() for line in Path("p.txt").read_text("ascii").splitlines()]
    off = [abs(float(words[-1]) - value) for words, value in zip(written, values, strict=True)]
    if not max(off) <= error:
        found.append("values")
    if task == "krr":
        score = math.sqrt(math.fsum((v - t) ** 2 for v, t in zip(values, targets, strict=True)) / NEW)
        (shown,) = re.findall(r"^predictions: root mean square error (\S+), in p\.txt$", said, re.MULTILINE)
        # Six digits; a value off by e moves the root mean square by e at most.
        unit = 10.0 ** (math.floor(math.log10(score)) - 5)
        return found + ["score"] * (not abs(float(shown) - score) <= unit / 2 + error + 16 * U * score)
    assert all(value == 0.0 or abs(value) > error for value in values)
    named = [CLASSES[value > 0] for value in values]
    right = sum(name == target for name, target in zip(named, targets, strict=True))
    assert 0 < right < NEW, "an accuracy that other mistakes do not have"
    shown = re.findall(r"^predictions: accuracy (\S+)% \((\d+) of (\d+)\), in p\.txt$", said, re.MULTILINE)
    if shown != [(f"{100 * right / NEW:.2f}", str(right), str(NEW))]:
        found.append("score")
    return found + ["classes"] * ([float(words[0]) for words in written] != named)


def solved(kernel: str, task: str) -> str:
    """What the command prints."""
    suffix = "krr" if task == "krr" else "svm"
    more = ["--lambda", str(LAMBDA), "--block", "2"] if task == "krr" else ["--C", "0.8"]
    return done(
        "solve", f"train.{suffix}", "--task", task, "--kernel", KERNELS[kernel], *more, "--iterations", "40",
        "--interval", "20", "--s", "4", "--tolerance", "0", "--test", f"new.{suffix}", "--predictions", "p.txt",
        "--out", "r.npz", "--force",
    )  # fmt: skip


TASKS = ("krr", "svm-l1", "svm-l2")
each = pytest.mark.parametrize("kernel", KERNELS)


@each
@pytest.mark.parametrize("task", TASKS)
def test_score_values_and_classes_are_those_of_the_saved_alpha(kernel, task):
    assert faults(kernel, task, solved(kernel, task)) == []


MISTAKES = {
    "mean absolute error": ("krr", predictions, "np.sqrt(np.mean((values - targets) ** 2))", "np.mean(np.abs(values - targets))"),
    "mean square error": ("krr", predictions, "np.sqrt(np.mean((values - targets) ** 2))", "np.mean((values - targets) ** 2)"),
    "over one less": (
        "krr", predictions, "np.sqrt(np.mean((values - targets) ** 2))",
        "np.sqrt(np.sum((values - targets) ** 2) / (targets.size - 1))",
    ),
    "without the last": (
        "krr", predictions, "np.sqrt(np.mean((values - targets) ** 2))", "np.sqrt(np.mean((values - targets)[:-1] ** 2))",
    ),
    "five digits": ("krr", predictions, ":.6g}", ":.5g}"),
    "values are not over lambda": ("krr", predictions, "else values / problem.ridge.penalty", "else values"),
    "labels are forgotten": ("svm-l2", predictions, "vector = problem.signs * alpha", "vector = alpha"),
    "alpha is off by 1e-9 of it": ("svm-l1", predictions, "vector = problem.signs * alpha", "vector = problem.signs * alpha * (1 + 1e-9)"),
    "the other class": (
        "svm-l1", predictions, "np.where(values > 0, classes[1], classes[0])", "np.where(values > 0, classes[0], classes[1])",
    ),
    "margins": ("svm-l1", predictions, "np.where(values > 0,", "np.where(values > 1,"),
    "percent of others": ("svm-l2", predictions, "accuracy {right / targets.size:.2%}", "accuracy {right / (targets.size + 1):.2%}"),
    "classes of a file": ("svm-l2", predictions, "{names[value > 0]}", "{names[value > 1]}"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_other_scores_and_values_are_noticed(name):
    task, module, before, after = MISTAKES[name]
    with plant(module, (before, after)):
        said = solved("polynomial", task)
    assert faults("polynomial", task, said)


def test_features_that_no_training_sample_has_count_in_distances():
    with plant(
        files, ("values = [math.hypot(*rest.data[a:b])", "values = [0 * math.hypot(*rest.data[a:b])")
    ):
        said = solved("rbf", "krr")
    assert faults("rbf", "krr", said) == ["values", "score"]
