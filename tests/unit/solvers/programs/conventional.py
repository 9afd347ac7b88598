"""A solver with words of its own for a: conventional.py TASK DATA m PENALTY KERNEL PARAMETER OFFSET s b H.

Variables say which: SCALE (its a times this is ours), SIGN, ORDER, COUNTS, DRAWS (the folder to take the indices
from, mt19937, or none: a permutation that is logged), LOGS (those of mt19937 are logged), REPEATS (these are drawn
with replacement; last: of the increments of a coordinate the last counts; once: it is solved for once), SEED, FOLDER, WRITES, FILE, FIRST, FORM.
"""

import math
import os
import random
import struct
import sys
from pathlib import Path

task, data, m, penalty, kernel, parameter, offset, s, b, H = sys.argv[1:]
m, s, b, H = int(m), int(s), int(b), int(H)
penalty, parameter, offset = float(penalty), float(parameter), float(offset)
told = os.environ
samples = []
for line in Path(data).read_text().splitlines():
    label, *entries = line.split()
    pairs = (entry.split(":") for entry in entries)
    samples.append((float(label), {int(j): float(x) for j, x in pairs}))
order = list(range(m))
if told.get("ORDER") == "by-class":
    order.sort(key=lambda i: -samples[i][0])
samples = [samples[i] for i in order]
y = [label for label, _ in samples]


def k(p, q):
    p, q = samples[p][1], samples[q][1]
    inner = sum(x * q.get(j, 0.0) for j, x in p.items())
    if kernel == "linear":
        return inner
    if kernel == "polynomial":
        return (offset + inner) ** int(parameter)
    return math.exp(-parameter * sum((p.get(j, 0.0) - q.get(j, 0.0)) ** 2 for j in {*p, *q}))


f = {"m": m, "C": penalty, "1/lambda": 1 / penalty}.get(told.get("SCALE", "1")) or float(
    told.get("SCALE", "1")
)
omega = 1 / (2 * penalty) if task == "svm-l2" else 0.0
upper = penalty / f if task == "svm-l1" else math.inf
if task == "krr":
    K = [[f * (k(i, j) / penalty) for j in range(m)] for i in range(m)]
    M = [[K[i][j] + (f * m if i == j else 0.0) for j in range(m)] for i in range(m)]
else:
    M = [[f * y[i] * y[j] * k(i, j) + (f * omega if i == j else 0.0) for j in range(m)] for i in range(m)]


def twister(seed):
    """std::mt19937, 32 bits at a time."""
    state = [seed]
    for i in range(1, 624):
        state.append((1812433253 * (state[-1] ^ state[-1] >> 30) + i) & 0xFFFFFFFF)
    while True:
        for i in range(624):
            bits = state[i] & 0x80000000 | state[(i + 1) % 624] & 0x7FFFFFFF
            state[i] = state[(i + 397) % 624] ^ bits >> 1 ^ (0x9908B0DF if bits & 1 else 0)
        for word in state:
            word ^= word >> 11
            word ^= word << 7 & 0x9D2C5680
            word ^= word << 15 & 0xEFC60000
            yield word ^ word >> 18


def drawn():
    draws = told.get("DRAWS", "folder")
    if draws == "folder":
        lines = Path(told["FOLDER"], "indices.txt").read_text().splitlines()
        yield from (list(map(int, line.split())) for line in lines)
    elif draws == "mt19937":
        numbers = twister(int(told["SEED"]))
        while True:
            block = []
            while len(block) < b:
                one = next(numbers) % m
                if told.get("REPEATS") or one not in block:
                    block.append(one)
            yield block
    else:
        seeded = random.Random(told.get("SEED") or None)
        while True:
            one = list(range(m))
            seeded.shuffle(one)
            yield from (one[p : p + b] for p in range(0, m - b + 1, b))


def solve(G, r):
    for p in range(len(r)):
        for q in range(p + 1, len(r)):
            factor = G[q][p] / G[p][p]
            G[q] = [x - factor * z for x, z in zip(G[q], G[p], strict=False)]
            r[q] -= factor * r[p]
    for p in reversed(range(len(r))):
        r[p] = (r[p] - sum(G[p][q] * r[q] for q in range(p + 1, len(r)))) / G[p][p]
    return r


H *= {"windows": s, "epochs": m // b}.get(told.get("COUNTS"), 1)
v, log, taken = [0.0] * m, [], []
for _, block in zip(range(H), drawn(), strict=False):
    products = [sum(q * x for q, x in zip(M[i], v, strict=False)) for i in block]
    held, whole = list(v), block
    if told.get("REPEATS") == "once":
        products, block = (
            [products[whole.index(i)] for i in dict.fromkeys(whole)],
            list(dict.fromkeys(whole)),
        )
    if task == "krr":
        steps = solve(
            [
                [K[i][j] + (f * m if p == q else 0.0) for q, j in enumerate(block)]
                for p, i in enumerate(block)
            ],
            [y[i] - p for i, p in zip(block, products, strict=False)],
        )
        for i, step in zip(block, steps, strict=False):
            v[i] = (held[i] if told.get("REPEATS") == "last" else v[i]) + step
    else:
        (i,) = block
        v[i] = min(max(v[i] - (products[0] - 1) / M[i][i], 0.0), upper) if M[i][i] else upper
    block = whole
    taken.append(block)
    log.append([v[i] for i in block])


def signed(i, value):
    return value * {"1": 1.0, "-1": -1.0, "labels": y[i]}[told.get("SIGN", "1")]


log = [
    [signed(i, value) for i, value in zip(block, row, strict=False)]
    for block, row in zip(taken, log, strict=False)
]
v = [signed(i, value) for i, value in enumerate(v)]
if told.get("WRITES") == "log":
    folder = Path(told["FOLDER"])
    (folder / "log.bin").write_bytes(b"".join(struct.pack(f"<{b}d", *row) for row in log))
    if told.get("DRAWS") == "logged" or told.get("LOGS"):
        (folder / "indices.txt").write_text("\n".join(" ".join(map(str, row)) for row in taken))
else:
    form = told.get("FORM", "hex")
    text = "\n".join(
        value.hex() if form == "hex" else form % value for value in v[: int(told.get("FIRST") or m)]
    )
    if told.get("FILE"):
        Path(told["FILE"]).write_text(text)
    else:
        print("alpha:\n" + text)
