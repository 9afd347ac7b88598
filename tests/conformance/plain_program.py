"""A classical K-SVM-L1 with RBF kernel in plain Python; its start takes no time. "last" spoils the last step."""

import math
import struct
import sys

folder, mistake = sys.argv[1], (sys.argv[2:] or [""])[0]
with open(f"{folder}/problem.txt") as file:
    given = dict(line.split() for line in file)
m, n, C, sigma = int(given["samples"]), int(given["features"]), float(given["C"]), float(given["sigma"])
assert (given["task"], given["kernel"]) == ("svm-l1", "rbf"), sys.exit(65)


def numbers(name, count, kind="d"):
    with open(f"{folder}/{name}.bin", "rb") as file:
        return struct.unpack(f"<{count}{kind}", file.read())


flat, y = numbers("data", m * n), numbers("targets", m)
rows = [flat[i * n : (i + 1) * n] for i in range(m)]
norms = [math.fsum(x * x for x in row) for row in rows]


def kernel(i, j):
    product = sum(p * q for p, q in zip(rows[i], rows[j], strict=True))
    return math.exp(-sigma * max(norms[i] + norms[j] - 2 * product, 0.0))


K = [[kernel(i, j) for j in range(m)] for i in range(m)]
a, log = list(numbers("initial", m)), []
for i in numbers("indices", int(given["iterations"]), "q"):
    gradient = y[i] * sum(K[i][j] * (y[j] * a[j]) for j in range(m)) - 1
    a[i] = min(max(a[i] - gradient / K[i][i], 0.0), C)
    log.append(a[i])
if mistake == "last":
    log[-1] += 1e-9
with open(f"{folder}/log.bin", "wb") as file:
    file.write(struct.pack(f"<{len(log)}d", *log))
