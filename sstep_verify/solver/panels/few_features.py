"""Inner products of samples with few features: a matrix product would first clear, then add to its result.

A panel of so few features takes as long to write as to compute, so each entry is passed over once for every
four features.
"""

from __future__ import annotations

from sstep_verify.compiled import compiled

TILE = 1 << 13
"""Samples whose products are formed at once: few enough that rows under way stay in the second cache."""


@compiled
def few_products(by_feature, data, columns, panel, offset):
    """Write the inner products of rows of data (m, n), those of `columns`, with neighbouring samples.

    Into `panel`, (c, k), go those with samples `offset`, ..., `offset` + k - 1. `by_feature`, (n, m), has
    one feature of the samples a row, n > 0; in C order, or else its rows would be read word by word.
    """
    count, width = panel.shape
    fours = count - count % 4
    for left in range(0, width, TILE):
        right = min(left + TILE, width)
        for first in range(0, fours, 4):
            four_rows(
                by_feature, offset + left, data[columns[first]], data[columns[first + 1]],
                data[columns[first + 2]], data[columns[first + 3]], panel[first, left:right],
                panel[first + 1, left:right], panel[first + 2, left:right], panel[first + 3, left:right],
            )  # fmt: skip
        for place in range(fours, count):
            one_row(by_feature, offset + left, data[columns[place]], panel[place, left:right])


@compiled
def one_row(by_feature, left, sample, row):
    """Products of a sample with those from `left` on, as many as `row` has; four features at once."""
    features, right = sample.size, left + row.size
    for feature in range(features % 4):
        one, a = by_feature[feature, left:right], sample[feature]
        if feature == 0:
            for other in range(row.size):
                row[other] = a * one[other]
        else:
            for other in range(row.size):
                row[other] += a * one[other]
    for feature in range(features % 4, features, 4):
        one, two = by_feature[feature, left:right], by_feature[feature + 1, left:right]
        three, four = by_feature[feature + 2, left:right], by_feature[feature + 3, left:right]
        a, b, c, d = sample[feature], sample[feature + 1], sample[feature + 2], sample[feature + 3]
        if feature == 0:
            for other in range(row.size):
                row[other] = a * one[other] + b * two[other] + c * three[other] + d * four[other]
        else:
            for other in range(row.size):
                row[other] += a * one[other] + b * two[other] + c * three[other] + d * four[other]


@compiled
def four_rows(by_feature, left, a, b, c, d, p, q, r, s):
    """Products p, q, r, s of samples a, b, c, d as in `one_row`; what they share is read once for all."""
    features, right = a.size, left + p.size
    for feature in range(features % 4):
        x = by_feature[feature, left:right]
        a0, b0, c0, d0 = a[feature], b[feature], c[feature], d[feature]
        if feature == 0:
            for other in range(p.size):
                value = x[other]
                p[other] = a0 * value
                q[other] = b0 * value
                r[other] = c0 * value
                s[other] = d0 * value
        else:
            for other in range(p.size):
                value = x[other]
                p[other] += a0 * value
                q[other] += b0 * value
                r[other] += c0 * value
                s[other] += d0 * value
    for feature in range(features % 4, features, 4):
        x, y = by_feature[feature, left:right], by_feature[feature + 1, left:right]
        z, w = by_feature[feature + 2, left:right], by_feature[feature + 3, left:right]
        a0, a1, a2, a3 = a[feature], a[feature + 1], a[feature + 2], a[feature + 3]
        b0, b1, b2, b3 = b[feature], b[feature + 1], b[feature + 2], b[feature + 3]
        c0, c1, c2, c3 = c[feature], c[feature + 1], c[feature + 2], c[feature + 3]
        d0, d1, d2, d3 = d[feature], d[feature + 1], d[feature + 2], d[feature + 3]
        if feature == 0:
            for other in range(p.size):
                one, two, three, four = x[other], y[other], z[other], w[other]
                p[other] = a0 * one + a1 * two + a2 * three + a3 * four
                q[other] = b0 * one + b1 * two + b2 * three + b3 * four
                r[other] = c0 * one + c1 * two + c2 * three + c3 * four
                s[other] = d0 * one + d1 * two + d2 * three + d3 * four
        else:
            for other in range(p.size):
                one, two, three, four = x[other], y[other], z[other], w[other]
                p[other] += a0 * one + a1 * two + a2 * three + a3 * four
                q[other] += b0 * one + b1 * two + b2 * three + b3 * four
                r[other] += c0 * one + c1 * two + c2 * three + c3 * four
                s[other] += d0 * one + d1 * two + d2 * three + d3 * four
