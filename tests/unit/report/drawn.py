"""Reads numbers back from a figure: where points are drawn, by the labels of the axes next to them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

SVG = "{http://www.w3.org/2000/svg}"
HIGH = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


@dataclass
class Figure:
    """Texts and points of a figure in its own coordinates; points by the colour of their stroke."""

    texts: list[tuple[str, float, float, str]] = field(default_factory=list)
    lines: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    marks: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))


def read(svg: str) -> Figure:
    figure = Figure()
    _walk(ElementTree.fromstring(svg), 0.0, 0.0, "", "", figure)
    return figure


def _walk(element, x, y, stroke, anchor, figure):
    moved = re.match(r"translate\(([-\d.]+) ([-\d.]+)\)$", element.get("transform", ""))
    place = (float(moved[1]), float(moved[2])) if moved else (0.0, 0.0)
    stroke = element.get("stroke", stroke)
    anchor = element.get("text-anchor", anchor)
    if element.tag == f"{SVG}text" and "rotate" not in element.get("transform", ""):
        own = float(element.get("x", 0)), float(element.get("y", 0))
        figure.texts.append((element.text or "", x + own[0], y + own[1], anchor))
    if element.tag == f"{SVG}path" and stroke.startswith("var(--c-"):
        if moved:
            figure.marks[stroke].append((x + place[0], y + place[1]))
        else:
            found = re.findall(r"[ML]([-\d.]+) ([-\d.]+)", element.get("d", ""))
            figure.lines[stroke] += [(x + float(a), y + float(b)) for a, b in found]
    for child in element:
        _walk(child, x + place[0], y + place[1], stroke, anchor, figure)


def value_of(label: str) -> float:
    """The number that a label of an axis stands for."""
    return (
        10.0 ** int(label[2:].translate(HIGH)) if re.fullmatch("10[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", label) else float(label)
    )


def scale(labels: list[tuple[str, float]], logarithmic: bool):
    """The map from places on an axis to values, from its labels; they must lie on one straight line."""
    values = np.array([value_of(label) for label, _ in labels])
    places = np.array([place for _, place in labels])
    assert values.size > 1
    steps = np.log10(values) if logarithmic else values
    slope, start = np.polyfit(places, steps, 1)
    assert np.abs(start + slope * places - steps).max() < 0.02 * np.ptp(steps)
    return lambda place: 10.0 ** (start + slope * place) if logarithmic else start + slope * place


def height_scale(figure: Figure):
    """Values by height, from the labels at the left; their numbers stand 4 below their rules."""
    labels = [(text, y - 4) for text, _, y, anchor in figure.texts if anchor == "end"]
    return scale([one for one in labels if re.fullmatch("[-0-9.⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", one[0])], logarithmic=True)
