"""Files and lines of `sstep-verify solve`: what they say twice, and of what they were given, must agree.

Values are compared by checks, as claims of a run. Here only what is to be the same is: of checkpoint and
result, of what is printed and what is written, of options and what was asked for.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify import __version__
from sstep_verify.adapters.shares import held_once, nonzeros_of, require_shares
from sstep_verify.errors import TOO_SMALL_TOLERANCE, ConductError
from sstep_verify.problems import Problem
from sstep_verify.problems.data.datasets import DENSE_ABOVE
from sstep_verify.problems.kernels import shortest
from sstep_verify.protocol import RunRequest
from sstep_verify.solver.data.partition import partition_of
from sstep_verify.solver.settings import OR, Settings
from sstep_verify.trajectory import BELOW_FLOAT64

ENDING = re.compile(
    r"^(tolerance reached|cap reached|tolerance (\S+) (?:is below|may be reached))\b.*[,:] "
    r"relative (?:gap|residual) (.+?), gap (.+?)(?:, residual (.+?))?, "
    r"after (\d+) iterations?(?:; .+)?$",
    re.MULTILINE,
)
"""The line that says how training ended: why, limits of relative value, gap and residual, iterations."""

REASONS = {"tolerance": "tolerance reached", "iterations": "cap reached"}
"""How it is printed why training ended; where float64 ends it the tolerance is in the words."""

SCORE = re.compile(r"^predictions: root mean square error (\S+), in ", re.MULTILINE)

ACCURACY = re.compile(r"^predictions: accuracy (\S+)% \((\d+) of (\d+)\), in ", re.MULTILINE)

SHARES = re.compile(
    r"^largest over mean of a rank: nonzeros (\d+\.\d+), work on panels (\d+\.\d+)", re.MULTILINE
)
"""The line that says how even several ranks share the columns."""

PANEL = "panel"
"""The phase in which panels are formed."""

PHASE = re.compile(
    rf"^({PANEL}|waiting|transfer|kernel function|gradient|recurrence)" + 3 * r" +(\d+\.\d+)" + "$",
    re.MULTILINE,
)
"""A line of the table of seconds: phase, then largest, mean and least over the ranks."""

PANEL_SECONDS = re.compile(
    r"^largest over mean of a rank: .*, seconds spent on panels (\d+\.\d+)$", re.MULTILINE
)
"""Largest over mean of the seconds that panels took, in the line on shares."""

ALL_ROWS = "all kernel rows"
"""Option `cache` of a run that keeps its Gram matrix."""

DIGITS = {"ending": 3, "score": 6}
"""Digits of printed numbers: limits are rounded up, a score to nearest."""

ACCURACY_UNIT, SHARES_UNIT, SECONDS_UNIT = 0.01, 0.001, 0.0001
"""Last decimal of a printed accuracy, in percent, of a share, of seconds; all are rounded to nearest."""

RELATIVE_COLUMN = 4
"""Place of the relative value among those of a measurement in a checkpoint."""


def given_options(
    request: RunRequest, settings: Settings, ranks: int, auto: bool, bias: float
) -> dict[str, Any]:
    """Options that a result and a checkpoint must name.

    Of what the command chooses itself these are the exchange that it tries first, and the cache.
    """
    problem, tuned = request.problem, settings.tuned
    given: dict[str, Any] = {
        "ranks": ranks,
        "kernel": repr(problem.kernel),
        "loss": repr(problem.loss),
        "block": request.stream.block,
        "s": "auto" if tuned else request.s,
        "seed": request.stream.seed,
        "interval": settings.interval,
        "timers": "separate" if settings.separate_timers else "joined",
        "version": __version__,
        "tolerance": settings.tolerance,
        "tolerance since": 0,
        "most iterations": request.start + request.iterations,
        "cache": ALL_ROWS if settings.keep_gram else settings.cache or 0,
        "exchange": settings.exchange,
    }
    if tuned and not auto:
        given["largest s"] = request.s
    if request.stream.kind != "uniform":
        given["stream"] = request.stream.kind
    if ranks > 1:
        given["partition"] = settings.partition
    return given | ({"bias": shortest(bias)} if bias else {})


def settings_of(settings: Settings, options: Mapping[str, Any]) -> Settings:
    """Settings with exchange, cache and largest s as the options of a result that was tuned name them."""
    exchanges, rows = tuple(str(options["exchange"]).split(OR)), options["cache"]
    return replace(
        settings,
        exchange=exchanges[0],
        exchanges=exchanges,
        keep_gram=rows == ALL_ROWS,
        cache=0 if rows == ALL_ROWS else rows,
        largest_s=options["largest s"],
    )


def history_of(path: Path) -> dict[int, float]:
    """Measured relative values of a result file, by iteration."""
    with np.load(path, allow_pickle=False) as file:
        rows = zip(file["measured_iterations"].tolist(), file["measured_relative"].tolist(), strict=True)
        return dict(rows)


def require_agreement(problem: Problem, room: Path, given: Mapping[str, Any], said: str, code: int) -> None:
    """ConductError where result, checkpoint, printed lines and exit code say different things."""
    with np.load(room / "result", allow_pickle=False) as file:
        result = dict(file)
    with np.load(room / "result.checkpoint", allow_pickle=False) as file:
        checkpoint = dict(file)
    for name, options in (("result", result), ("checkpoint", checkpoint)):
        _require_options(name, json.loads(str(options["options"])), given)
    _require_history(result, checkpoint)
    _require_ending(problem, result, said, code)


def _require_options(name: str, options: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    known = {*given, "largest s", "inner loops", "machine"}
    options = {**options, "exchange": str(options.get("exchange")).split(OR)[0]}
    differ = [key for key in given if options.get(key) != given[key]] + sorted(options.keys() - known)
    if differ:
        found, wanted = options.get(differ[0], "not set"), given.get(differ[0], "not set")
        raise ConductError(f"the {name} has the option {differ[0]} = {found!r}, and given was {wanted!r}")


def _require_history(result: Mapping[str, np.ndarray], checkpoint: Mapping[str, np.ndarray]) -> None:
    """What a checkpoint holds is the beginning of the result, or the whole of it, to the last bit."""
    count = checkpoint["iterations"].size
    pairs = {
        "iterations measured": (checkpoint["iterations"], result["measured_iterations"][:count]),
        "relative values": (checkpoint["values"][:, RELATIVE_COLUMN], result["measured_relative"][:count]),
        "digest of the data": (checkpoint["data"], result["data_digest"]),
    }
    if checkpoint["iterations"][-1] == result["iterations"]:
        names = ("gap", "primal", "dual", "residual", "relative")
        last = np.array([result[f"last_{name}"] for name in names])
        pairs |= {
            "alpha": (checkpoint["alpha"], result["alpha"]),
            "last values": (checkpoint["values"][-1], last),
        }
    for what, (kept, written) in pairs.items():
        if (
            kept.dtype != written.dtype
            or kept.shape != written.shape
            or kept.tobytes() != written.tobytes()
        ):
            raise ConductError(f"checkpoint and result do not have the same {what}")


def _require_ending(problem: Problem, result: Mapping[str, np.ndarray], said: str, code: int) -> None:
    """The line that says how training ended has the reason, the limits and the iterations of the result."""
    found, stopped = ENDING.search(said), str(result["stopped"])
    if found is None:
        raise ConductError(f"the command does not say how it ended: {said[-300:]}")
    reason, tolerance, relative, gap, residual, iterations = found.groups()
    if stopped in REASONS:
        same = reason == REASONS[stopped]
    else:  # A tolerance may be reached where only the proof fails.
        wide = stopped == "precision" and float(result["relative_at_least"]) <= float(tolerance or 0)
        same = reason.endswith(" may be reached" if wide else " is below")
    if not same or (stopped in BELOW_FLOAT64) != (code == TOO_SMALL_TOLERANCE):
        raise ConductError(
            f"the result has the reason {stopped!r}, exit code {code}, but printed is {reason!r}"
        )
    if int(iterations) != int(result["iterations"]):
        raise ConductError(
            f"the result has {result['iterations']} iterations, but printed are {iterations}"
        )
    printed = {"relative": relative, "gap": gap} | ({} if problem.is_svm else {"residual": residual})
    for name, text in printed.items():
        value = float(result[name])
        limit = (text or "nan").removeprefix("at most ")
        shown = math.inf if limit.startswith("unknown") else float(limit)
        # Three digits, rounded up: at most a hundredth more.
        above = value <= shown <= max(value, 1e-300) * (1 + 10.0 ** (1 - DIGITS["ending"])) * (1 + 2.0**-50)
        if not above and not (value == shown):
            raise ConductError(f"the result has a {name} of at most {value!r}, but printed is {text}")


def require_score(values: np.ndarray, targets: np.ndarray, said: str) -> None:
    """ConductError where the printed error of predictions is not that of the values in the file."""
    found = SCORE.search(said)
    error = math.sqrt(math.fsum((values - targets) ** 2) / targets.size)
    # Half a unit of the last digit, and some roundings.
    allowed = error * (0.5 * 10.0 ** (1 - DIGITS["score"]) + (targets.size + 8) * 2.0**-52)
    if found is None or not abs(float(found[1]) - error) <= allowed:
        raise ConductError(
            f"the predictions are off by {error!r} (root mean square), but printed is {found and found[1]}"
        )


def require_accuracy(values: np.ndarray, targets: np.ndarray, said: str) -> None:
    """ConductError where the printed accuracy of predictions is not that of the values in the file."""
    right, found = int(np.sum((values > 0) == (targets > 0))), ACCURACY.search(said)
    if found is None or (int(found[2]), int(found[3])) != (right, values.size):
        raise ConductError(
            f"{right} of {values.size} predictions are right, and the command does not say so: "
            f"{said[-300:]}"
        )
    if not abs(float(found[1]) - 100 * right / values.size) <= ACCURACY_UNIT * (0.5 + 1e-9):
        raise ConductError(f"{right} of {values.size} predictions are right, and printed is {found[1]} %")


def require_printed_shares(problem: Problem, said: str, ranks: int, how: str) -> None:
    """ConductError where the printed shares of ranks are not those of an even partition."""
    data: Any = sp.csc_array(problem.data)
    samples, features = data.shape
    if data.nnz > DENSE_ABOVE * samples * features:
        data = problem.dense
    counts = nonzeros_of(data)
    partition = partition_of(counts, ranks, how)
    owned = [np.arange(features)[partition.columns(rank)] for rank in range(ranks)]
    if not held_once(features, owned):
        return  # Every step shows it.
    require_shares(data, owned, how)
    found = SHARES.search(said)
    printed = found.groups() if found else (math.nan, math.nan)
    for text, power in zip(printed, (1, 2), strict=True):
        works = [float(np.sum(counts[columns].astype(np.float64) ** power)) for columns in owned]
        share = max(works) * ranks / sum(works) if any(works) else 1.0
        if not abs(float(text) - share) <= SHARES_UNIT * (0.5 + 1e-9):
            raise ConductError(
                f"the largest share of a rank is {share:.4f} of the mean, and printed is {text} "
                f"({'nonzeros' if power == 1 else 'work on panels'})"
            )


def require_seconds(said: str, ranks: int, taken: float) -> None:
    """ConductError where printed seconds of phases cannot be what they are called, over so many ranks.

    With a largest value a and a least value b, the mean of P ranks lies between ``(a + (P - 1) b) / P`` and
    ``((P - 1) a + b) / P``; of two ranks it is the middle. Phases follow each other, so that their means
    sum to less than the seconds `taken` by the whole command.
    """
    phases = {name: tuple(map(float, numbers)) for name, *numbers in PHASE.findall(said)}
    total = 0.0
    for name, (largest, mean, least) in phases.items():
        lower, upper = (largest + (ranks - 1) * least) / ranks, ((ranks - 1) * largest + least) / ranks
        # Each of three numbers is off by half a unit.
        if not lower - 1.01 * SECONDS_UNIT <= mean <= upper + 1.01 * SECONDS_UNIT:
            raise ConductError(
                f"printed seconds of {name} are {largest} at most, {mean} in the mean, {least} at least: "
                f"no {ranks} ranks can have these"
            )
        total += mean - SECONDS_UNIT
    if not phases or total > taken:
        raise ConductError(
            f"the command took {taken:.4f} s, and printed are seconds of {len(phases)} phases, in all "
            f"{total:.4f}"
        )
    _require_panel_share(said, ranks, phases.get(PANEL))


def _require_panel_share(said: str, ranks: int, seconds: tuple[float, ...] | None) -> None:
    """The share of the slowest rank is that of the table, as far as its decimals tell."""
    found, half = PANEL_SECONDS.search(said), SECONDS_UNIT / 2
    if ranks == 1 or seconds is None or seconds[1] <= half:
        return
    least, most = (seconds[0] - half) / (seconds[1] + half), (seconds[0] + half) / (seconds[1] - half)
    if found is None or not least - SHARES_UNIT <= float(found[1]) <= most + SHARES_UNIT:
        raise ConductError(
            f"panels took at most {seconds[0]} s and {seconds[1]} s in the mean, and the printed ratio is "
            f"{found and found[1]}"
        )
