"""The command `sstep-verify solve` as a solver under test: all goes through files, as a user has it."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify.adapters.callable import observed
from sstep_verify.adapters.measuring import require_measurements, used_at
from sstep_verify.adapters.printed import features_read, require_printed, require_printed_windows
from sstep_verify.adapters.scheduled import due_windows, require_counts
from sstep_verify.adapters.training import TrainingSolver, tuned_sequence
from sstep_verify.adapters.written import (
    given_options,
    history_of,
    require_accuracy,
    require_agreement,
    require_printed_shares,
    require_score,
    require_seconds,
    settings_of,
)
from sstep_verify.costs.messages import Counts
from sstep_verify.errors import ConductError, RunError
from sstep_verify.exchange import write_samples
from sstep_verify.problems import Problem
from sstep_verify.problems.kernels import identify
from sstep_verify.protocol import Observer, RunRequest
from sstep_verify.ranks.environment import launch_variables, launcher
from sstep_verify.solver.settings import EXCHANGES, OR, Options
from sstep_verify.solver.training.schedule import Segment, numbers_of, windows_of
from sstep_verify.standard_library import without_working_folder
from sstep_verify.trajectory import AT_LEAST, AT_MOST, RELATIVE, Claim, Trajectory

LIMIT = 300.0
"""Seconds that the command may take."""

VALUES = ("gap", "primal", "dual", "residual")
"""Numbers of the last measurement in a result file, which are claims of it; NaN where there is none."""

STATED = ("gap", "residual", "relative")
"""Numbers of which a result file has an upper and a lower limit."""

AGAIN = 3
"""Samples that are predicted a second time, so that a score over the samples trained on is another."""

ENDED = (0, 3)
"""Exit codes of a training that was made, the second where its tolerance is below what float64 can show."""

COUNTED = re.compile(
    r"^windows: (\d+) of .*, (\d+) (?:kernel|Gram) rows?, (\d+) collectives?, (\d+) words?", re.MULTILINE
)
"""What the command prints of its counts, in the order of `Counts`."""


class CommandSolver(TrainingSolver):
    """Runs ``sstep-verify solve`` in a process of its own, or under the launcher, on a file of the samples.

    A trajectory holds the first a, and the last as the result file has it; its claims are what that file
    says of it and of the way there, and the predictions for the training samples, by number, of which some
    are predicted twice; its counters are what the command prints. Its step log, and the a of iterations
    between, are those of the same training in this process, which ends in the same bits; there are none
    where the command tunes s. It takes no a0. What the files, and the lines that are printed, say twice
    must agree (`written`, `printed`). Where s is tuned, the windows that are counted are those of the
    sequence in the result (`scheduled`). Where there is a step log, what measurements form follows from it
    (`measuring`).

    `resumed` ends the first half early, and continues from its checkpoint, and it must refuse to continue
    with another seed; not `predicts`, it predicts no samples. `auto` leaves exchange, cache and,
    where several ranks tune s, the largest s to the command, which is to choose those of the options; the
    samples are those that it has under the problem's name. `bias` is the constant that is the last feature
    of the samples, which is left to the command; 0 for none. Where s is tuned, the command is given the
    windows of `tuned_sequence`; with `auto` it tunes, and later runs of a request make the windows of the
    first again, for what s is tuned to depends on time: `sequences` are files with those windows, by
    problem and s. The first is compared with training in this process that draws the stream asked for in
    those windows.
    """

    def __init__(
        self,
        ranks: int = 1,
        *,
        resumed: bool = False,
        predicts: bool = True,
        auto: bool = False,
        bias: float = 0.0,
        **options: Any,
    ):
        super().__init__(ranks, **options)
        self._resumed, self._predicts, self._auto, self._bias = resumed, predicts, auto, bias
        self.sequences: dict[tuple[str, int], bytes] = {}
        self.declaration = self.declared("solve", log=not (self._settings.tuned and auto))

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Run the command; `observe` looks at the result.

        RunError if it does not end with exit code 0 or 3 in time, ConductError if what it wrote and printed
        does not fit together, or not what it was given.
        """
        interval, last = self._interval * request.s, request.iterations
        ends = [last // 2 // interval * interval, last] if self._resumed else [last]
        key = request.problem.digest, request.s
        if self._settings.tuned and not self._auto:
            self.sequences[key] = self._given(request)
        sequence = self.sequences.get(key)
        with tempfile.TemporaryDirectory(prefix="sstep-verify-") as folder:
            room = Path(folder)
            data = request.problem.data[:, :-1] if self._bias else request.problem.data
            rows, targets = sp.csr_array(data), request.problem.targets
            write_samples(room / "samples", rows, targets)
            new = _predicted_samples(targets.size)
            write_samples(room / "new", rows[new], targets[new])
            words = self._words(request, room)
            if sequence is not None:
                (room / "sequence").write_bytes(sequence)
                most = "" if self._auto and self._ranks > 1 else f":{request.s}"
                words += ["--s", f"{room / 'sequence'}{most}"]
            for end in ends:
                more = ["--iterations", str(end), *(["--resume"] if self._resumed else [])]
                if end == last and self._predicts:
                    predicted = room / "predictions"
                    more += ["--test", str(room / "new"), "--predictions", str(predicted)]
                begin = time.perf_counter()
                code, said = self._call([*words, *more])
                taken = time.perf_counter() - begin
            if self._resumed:
                self._require_refused([*words, *more], request.stream.seed)
            result = (room / "result").read_bytes()
            if self._settings.tuned:
                _require_same_windows(sequence, result)
                self.sequences.setdefault(key, result)
            made = _trajectory(request, room, interval, said, self._predicts)
            given = given_options(request, self.settings(request), self._ranks, self._auto, self._bias)
            require_agreement(request.problem, room, given, said, code)
            history = history_of(room / "result")
        self._require_lines(request.problem, result, said)
        if made.counters:
            require_seconds(said, self._ranks, taken)
        if self._ranks > 1 and not self._bias:
            require_printed_shares(request.problem, said, self._ranks, self._settings.partition)
        if self._settings.tuned and not self._resumed:
            self._require_schedule(request, made, result)
        if request.log or (self.declaration.log and len(request.stops) > 2):
            made = _with_inside(made, super().run(request))
        if made.log is not None and not self._resumed:
            # The command has no option for panels of measurements.
            own = replace(self.settings(request), panel_words=Options.panel_words)
            used = used_at(request.stream, made.log, [*history])
            require_measurements(request.problem, own, used, [*history.values()], said)
        passed = {RELATIVE.format(k): Claim(history[k]) for k in made.iterations.tolist()}
        return observed(replace(made, claims={**made.claims, **passed}), request, observe, self.run)

    def _require_lines(self, problem: Problem, result: bytes, said: str) -> None:
        """ConductError where lines on sizes, kept rows or windows are not those of problem and result."""
        own = problem if self._auto else replace(problem, name="samples")
        data = problem.data[:, :-1] if self._bias else problem.data
        features = data.shape[1] if self._auto else features_read(data)
        with np.load(io.BytesIO(result), allow_pickle=False) as file:
            options = json.loads(str(file["options"]))
            require_printed(own, features + bool(self._bias), options, said)
            if self._settings.tuned:
                require_printed_windows(_segments(file), said)

    def _require_schedule(self, request: RunRequest, made: Trajectory, result: bytes) -> None:
        """ConductError where a command made other windows than those of its sequence, or drew otherwise.

        Draws of windows that the command tuned itself show in the last a, which training in this process
        has, too; those of others are in the step log.
        """
        settings = self.settings(request)
        with np.load(io.BytesIO(result), allow_pickle=False) as file:
            sequence = _segments(file)
            if self._auto:
                settings = settings_of(settings, json.loads(str(file["options"])))
        windows = due_windows(sequence, request, settings, self._ranks, made.length)
        require_counts(windows, made.counters, settings)
        if self._auto and self._predicts:
            again = self.trained(request, settings, sequence)
            same = again.length == made.length and again.stopped == made.stopped
            if not same or again.final.tobytes() != made.final.tobytes():
                raise ConductError(
                    f"the command ends after {made.length} iterations ({made.stopped}); training that draws"
                    f" the stream {request.stream.kind} in the same windows ends after {again.length} "
                    f"({again.stopped}), or with another vector"
                )

    def _given(self, request: RunRequest) -> bytes:
        """A file with the windows of `tuned_sequence`, as the command writes those of its own."""
        made, file = tuned_sequence(self.settings(request)), io.BytesIO()
        exchanges = OR.join(dict.fromkeys(segment.exchange for segment in made))
        options = {"s": "auto", "exchange": exchanges, "cache": self._settings.cache or 0}
        np.savez(file, sequence=numbers_of(made), options=json.dumps(options))
        return file.getvalue()

    def _words(self, request: RunRequest, room: Path) -> list[str]:
        problem, options, stream = request.problem, self._settings, request.stream
        data = problem.name if self._auto else room / "samples"
        timers = "separate" if options.separate_timers else "joined"
        # One rank that is given no largest s counts, and tunes nothing.
        s = "auto" if self._ranks > 1 else f"auto:{request.s}"
        words: list[object] = [
            sys.executable, *without_working_folder(), "-m", "sstep_verify", "solve", data,
            "--out", room / "result",
            "--task", problem.loss.task, "--s", s if options.tuned else request.s, "--block", stream.block,
            "--kernel", identify(problem.kernel), "--stream", stream.kind, "--seed", stream.seed,
            "--interval", self._interval * request.s,
            "--tolerance", options.tolerance, "--partition", options.partition, "--timers", timers,
            "--bias", self._bias,
        ]  # fmt: skip
        if not self._auto:
            rows = problem.samples**2 if options.keep_gram else options.cache or 0
            words += ["--exchange", "auto" if options.tuned else options.exchange, "--cache", rows]
        words += ["--C", problem.hinge.C] if problem.is_svm else ["--lambda", problem.ridge.penalty]
        launched = [launcher(), "-n", self._ranks] if self._ranks > 1 else []
        return [str(word) for word in (*launched, *words)]

    def _require_refused(self, words: Sequence[str], seed: int) -> None:
        """ConductError where a command continues with a checkpoint of a run that had another seed."""
        done = self._called([*words, "--seed", str(seed + 1)])
        told = f"made with --seed = {seed}, but this run has --seed = {seed + 1}"
        if done.returncode in ENDED or told not in done.stderr.decode(errors="replace"):
            raise ConductError(
                f"asked to continue with another seed, the command ends with exit code {done.returncode} "
                "and does not say that it rejects this"
            )

    def _call(self, words: Sequence[str]) -> tuple[int, str]:
        """Exit code of the command, and what it prints."""
        done = self._called(words)
        if done.returncode not in ENDED:
            said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines() or [""]
            raise RunError(f"{' '.join(words)}: exit code {done.returncode}: {said[-1]}")
        return done.returncode, done.stdout.decode(errors="replace")

    def _called(self, words: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        """A call of the command; RunError where it does not end."""
        variables = launch_variables()
        try:
            return subprocess.run(words, env=variables, timeout=LIMIT, capture_output=True, check=False)
        except subprocess.TimeoutExpired as error:
            raise RunError(f"{' '.join(words)}: no end after {LIMIT:g} seconds") from error


def _with_inside(made: Trajectory, whole: Trajectory) -> Trajectory:
    """A run with the step log, and the a of recorded iterations between its ends, of another run."""
    between = [k for k in whole.iterations.tolist() if 0 < k < made.length]
    alphas = [made.alphas[0], *map(whole.at, between), *made.alphas[1:]]
    iterations = np.array([0, *between, *made.iterations[1:]], dtype=np.int64)
    return replace(made, iterations=iterations, alphas=np.array(alphas), log=whole.log)


def _require_same_windows(given: bytes | None, result: bytes) -> None:
    """Raise ConductError where a result tells of other windows than it was given, or not of all it made."""
    with np.load(io.BytesIO(result)) as file:
        made, found = int(file["iterations"]), _windows(file)
    with np.load(io.BytesIO(given or result)) as file:
        wanted = [one for one in _windows(file) if one[0] < made]
    end = found[-1][1] if found else 0
    if found != wanted or end != made:
        raise ConductError(
            f"the result tells of {len(found)} windows until iteration {end}; made were, by those that it "
            f"was given, {len(wanted)} until {made}"
        )


def _windows(file: Mapping[str, np.ndarray]) -> list[tuple[int, int, str]]:
    """Windows by the segments in a file, as if no interval ended within one."""
    return list(windows_of(_segments(file), 1 << 62))


def _segments(file: Mapping[str, np.ndarray]) -> list[Segment]:
    """The segments in a file."""
    return [Segment(end, s, EXCHANGES[place]) for end, s, place in file["sequence"].tolist()]


def _trajectory(
    request: RunRequest, room: Path, interval: int, said: str, predicts: bool = True
) -> Trajectory:
    """What the files say; ConductError where measurements are lacking, or the last is not the result's."""
    with np.load(room / "result", allow_pickle=False) as file:
        found = dict(file)
    made = int(found["iterations"])
    due = sorted({*range(0, made, interval), made})
    measured, last = found["measured_iterations"].tolist(), float(found["measured_relative"][-1])
    if measured != due or not np.array_equal(last, found["last_relative"], equal_nan=True):
        raise ConductError(
            f"the result has measurements at {measured[:5]}..., the last {last}; {made} iterations in "
            f"intervals of {interval} have {len(due)}, the last {found['last_relative']}"
        )
    claims = {name: float(found[f"last_{name}"]) for name in VALUES}
    claims |= {f"{name}{AT_MOST}": float(found[name]) for name in ("gap", "primal", "residual", "relative")}
    claims |= {f"{name}{AT_LEAST}": float(found[f"{name}_at_least"]) for name in STATED}
    claims[f"dual{AT_LEAST}"] = float(found["dual"])
    if predicts:
        claims |= _predicted(request.problem, _predictions(request.problem, room), said)
    told = {name: Claim(value) for name, value in claims.items() if not np.isnan(value)}
    first, counted = np.zeros(request.problem.samples), COUNTED.search(said)
    return Trajectory(
        s=request.s,
        start=0,
        iterations=np.array([0, made] if made else [0], dtype=np.int64),
        alphas=np.array([first, found["alpha"]] if made else [found["alpha"]]),
        counters=Counts(*map(int, counted.groups())).counters if counted else {},
        stopped=str(found["stopped"]),
        claims=told | {"iterations": Claim(made)},
    )


def _predicted_samples(samples: int) -> np.ndarray:
    """Numbers of the samples that are predicted, among those trained on: all, and some again."""
    return np.arange(samples + AGAIN) % samples


def _predicted(problem: Problem, values: list[float], said: str) -> dict[str, float]:
    """Claims of predicted values; ConductError where the score that is printed is not theirs."""
    new = _predicted_samples(problem.samples)
    if len(values) != new.size:
        raise ConductError(f"{new.size} samples were to be predicted, and the file has {len(values)}")
    require = require_accuracy if problem.is_svm else require_score
    require(np.array(values), problem.targets[new], said)
    return {f"prediction {place}": value for place, value in enumerate(values[: problem.samples])}


def _predictions(problem: Problem, room: Path) -> list[float]:
    """Predicted values; ConductError where a class is another than the sign of its value says."""
    lines = [line.split() for line in (room / "predictions").read_text("ascii").splitlines()]
    values = [float(words[-1]) for words in lines]
    classes = ["+1" if value > 0 else "-1" for value in values] if problem.is_svm else []
    for place, (words, wanted) in enumerate(zip(lines, classes, strict=False)):
        if words[0] != wanted:
            raise ConductError(f"prediction {place} has the class {words[0]} and the value {words[1]}")
    return values
