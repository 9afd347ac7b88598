"""Judge what a command said of a result, from the result and the data alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

SLACK = 1e-6
"""Relative difference allowed between a printed figure and the same formed here, besides 1e-12."""


def kernel_matrix(data: np.ndarray, other: np.ndarray, kernel: dict) -> np.ndarray:
    """K(data, other) in float64, entry by entry from its definition."""
    if kernel["name"] == "rbf":
        distances = ((data[:, None, :] - other[None]) ** 2).sum(axis=2)
        return np.exp(-kernel["sigma"] * distances)
    products = data @ other.T
    return (kernel["offset"] + products) ** kernel["degree"] if kernel["name"] == "polynomial" else products


def wrong_result(
    out: Path,
    data: np.ndarray,
    targets: np.ndarray,
    task: str,
    parameter: float,
    kernel: dict,
    tolerance: float,
) -> str:
    """What is untrue in a result of ``solve``; empty if nothing is."""
    with np.load(out, allow_pickle=False) as arrays:
        held = {name: arrays[name] for name in arrays}
    alpha, claimed, most = held["alpha"], float(held["last_relative"]), float(held["relative"])
    if alpha.shape != targets.shape or alpha.dtype != np.float64 or not np.isfinite(alpha).all():
        return f"alpha is {alpha.dtype}{alpha.shape}, or not finite"
    with np.errstate(all="ignore"):
        matrix = kernel_matrix(data, data, kernel)
        if task == "krr":
            residual = targets - matrix @ alpha / parameter - len(targets) * alpha
            found = float(np.linalg.norm(residual) / np.linalg.norm(targets))
        else:
            found = _relative_gap(matrix, targets, alpha, task, parameter)
    upper = parameter if task == "svm-l1" else np.inf
    if task != "krr" and not (alpha.min() >= 0 and alpha.max() <= upper):
        return "alpha leaves its box"
    near = abs(found - claimed) <= SLACK * max(abs(found), abs(claimed)) + 1e-12
    if np.isfinite(found) and np.isfinite(claimed) and not near:
        return f"relative gap or residual {claimed!r} claimed, {found!r} found"
    if np.isfinite(found) and not found <= most * (1 + SLACK) + 1e-12:
        return f"relative gap or residual of at most {most!r} stated, {found!r} found"
    if str(held["stopped"]) == "tolerance" and not most <= tolerance:
        return f"tolerance {tolerance!r} claimed to be reached, at most {most!r} stated"
    if str(held["stopped"]) == "tolerance" and not found <= tolerance * (1 + SLACK) + 1e-12:
        return f"tolerance {tolerance!r} claimed to be reached, {found!r} found"
    rows = held["measured_iterations"]
    if rows[0] != 0 or rows[-1] != held["iterations"] or (np.diff(rows) <= 0).any():
        return f"the history holds the iterations {rows.tolist()} of {int(held['iterations'])}"
    return ""


def _relative_gap(matrix, labels, alpha, task, parameter) -> float:
    signed = matrix @ (labels * alpha)
    norm = float((labels * alpha) @ signed)
    slack = np.maximum(1 - labels * signed, 0)
    if task == "svm-l1":
        primal, dual = norm / 2 + parameter * slack.sum(), alpha.sum() - norm / 2
    else:
        primal = norm / 2 + parameter * (slack**2).sum()
        dual = alpha.sum() - norm / 2 - (alpha**2).sum() / (4 * parameter)
    return float((primal - dual) / max(abs(dual), np.finfo(float).tiny))


def wrong_answer(
    file: Path, data: np.ndarray, targets: np.ndarray, task: str, parameter: float, kernel: dict
) -> str:
    """Why a vector of a K-SVM that passed alone, at the usual tolerance, is not the optimum; empty if it is."""
    try:
        alpha = np.array([float(word) for word in file.read_text("utf-8", "replace").split()])
    except (OSError, ValueError):
        return ""  # another form than the plain one, such as a list in brackets
    if alpha.shape != targets.shape:
        return f"{alpha.size} numbers passed for {targets.size}"
    gap = _relative_gap(kernel_matrix(data, data, kernel), targets, alpha, task, parameter)
    return "" if gap <= 1e-7 else f"a vector with relative gap {gap!r} passed"


def wrong_optimum(
    said: str, data: np.ndarray, targets: np.ndarray, task: str, parameter: float, kernel: dict
) -> str:
    """What is untrue in the optimal value that ``oracle`` prints; empty if nothing is.

    Held against the solve of the K-RR system, and against plain dual coordinate descent in float64, whose
    value is below the optimum: where it has not come near after many passes, only a value below it is wrong.
    """
    claimed = float(re.search(r"optimal value (\S+?)(?: \(rounded\))? with radius", said)[1])
    with np.errstate(all="ignore"):
        matrix = kernel_matrix(data, data, kernel)
        if task == "krr":
            system = matrix / parameter + len(targets) * np.eye(len(targets))
            gap = SLACK * np.linalg.cond(system)
            found = float(targets @ np.linalg.solve(system, targets)) / 2 if gap <= 1e-3 else np.nan
        else:
            found, gap = _descended(matrix * np.outer(targets, targets), task, parameter)
    if not np.isfinite(found):
        return ""
    near = max(abs(found), abs(claimed)) * SLACK
    if claimed < found - near or (gap < 1e-3 and claimed > found + abs(found) * gap + near):
        return f"optimal value {claimed!r} printed, {found!r} found"
    return ""


def _descended(matrix: np.ndarray, task: str, parameter: float) -> tuple[float, float]:
    """Dual value after many passes of dual coordinate descent, and its relative duality gap."""
    upper, shift = (parameter, 0.0) if task == "svm-l1" else (np.inf, 1 / (2 * parameter))
    system = matrix + shift * np.eye(len(matrix))
    alpha = np.zeros(len(matrix))
    for _ in range(400):
        for i in np.flatnonzero(np.diag(system) > 0):
            alpha[i] = min(max(alpha[i] - (system[i] @ alpha - 1) / system[i, i], 0.0), upper)
    dual = float(alpha.sum() - alpha @ system @ alpha / 2)
    short = np.maximum(1 - matrix @ alpha, 0)
    loss = parameter * float((short if task == "svm-l1" else short**2).sum())
    primal = float(alpha @ matrix @ alpha) / 2 + loss
    return dual, (primal - dual) / max(abs(dual), np.finfo(float).tiny)


def balls(document: object, path: str = "") -> dict[str, tuple[float, float]]:
    """Middle and radius of every enclosure in a certificate, by its path."""
    found = {}
    if isinstance(document, dict):
        if set(document) == {"middle", "radius"}:
            return {path: (_number(document["middle"]), _number(document["radius"]))}
        for name, value in document.items():
            found |= balls(value, f"{path}.{name}")
    return found


def _number(text: object) -> float:
    try:
        return float(str(text))
    except ValueError:
        return float("nan")


def wrong_certificate(original: Path, changed: Path) -> str:
    """What a certificate that was proved again says other than the untouched one; empty if nothing."""
    first, second = (json.loads(file.read_text("utf-8")) for file in (original, changed))
    for path, (middle, radius) in balls(second).items():
        true = balls(first).get(path)
        if true and not abs(middle - true[0]) <= (radius + true[1]) * (1 + 1e-9) + 1e-15 * abs(true[0]):
            return f"{path} = {middle!r} with radius {radius!r} was accepted; {true[0]!r} is right"
    if second["statuses"] != first["statuses"]:
        proved = zip(first["statuses"], second["statuses"], strict=False)
        if any(new not in (old, "undecided") for old, new in proved):
            return "other statuses of coordinates were accepted"
    for name in ("task", "parameter", "kernel", "samples"):
        if second["subject"][name] != first["subject"][name]:
            return f"another {name} was accepted: {second['subject'][name]!r}"
    return ""
