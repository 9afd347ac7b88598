"""A result of training as a model, which predicts new samples without its training set being named."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.files import Output, claim, write_whole
from sstep_verify.problems import Problem, kernel_from, loss_from
from sstep_verify.problems.kernels import parameters_of
from sstep_verify.problems.problem import fingerprint
from sstep_verify.solver.communicator import Communicator, held_by_first_rank, on_all_ranks, on_first_rank
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training.checkpoint import UNREADABLE, require_archive
from sstep_verify.solver.training.files import (
    data_digest,
    input_files,
    prediction_seconds,
    read,
    reading_seconds,
)
from sstep_verify.solver.training.predictions import as_text, predict, score


class Model(NamedTuple):
    """A dual vector, what `described` says of its problem, and its file."""

    alpha: np.ndarray
    described: dict[str, Any]
    path: Path


def described(settings: Settings, problem: Problem, ranks: int, digest: str) -> str:
    """What a result says of its problem, in JSON: where its data are, and all that a prediction needs.

    The `digest` is that of the parts of the data that so many ranks had.
    """
    data, directory = settings.data, settings.directory
    return json.dumps(
        {
            "data": os.path.abspath(data) if os.path.exists(data) else data,
            "directory": os.path.abspath(directory) if directory else None,
            "task": settings.loss.task,
            "parameter": settings.loss.parameter,
            "kernel": {"name": settings.kernel.name, **parameters_of(settings.kernel)},
            "bias": settings.bias,
            "partition": settings.partition,
            "ranks": ranks,
            "digest": digest,
            "targets": fingerprint(problem.targets),
        }
    )


def read_model(path: Path) -> Model:
    """The result of `solve` in a file; InputError if it is none, or is of an earlier version."""
    try:
        require_archive(path)
        with np.load(path, allow_pickle=False) as file:
            alpha, found = np.asarray(file["alpha"]), json.loads(str(file["problem"]))
        if alpha.ndim != 1 or alpha.dtype != np.float64 or not np.isfinite(alpha).all():
            raise ValueError("its alpha is no vector of finite numbers")
        return Model(alpha, {**found, "kernel": dict(found["kernel"])}, path)
    except (*UNREADABLE, TypeError) as error:
        raise InputError(
            f"{path}: is no result of sstep-verify solve that says what it was trained on ({error}); train "
            "it with this version"
        ) from error


def apply(
    model: Model,
    test: str,
    predictions: str,
    communicator: Communicator,
    listener: Any,
    *,
    data: str | None = None,
    force: bool = False,
) -> list[str]:
    """Predict the samples of a file by a model, and write that; called by all ranks together.

    The training data are read from where they were, or from `data`. Returns what was done, in lines. Raises
    InputError on all ranks if the data are not there, or are not those of the model.
    """
    settings = on_all_ranks(communicator, lambda: _settings(model, test, predictions, data, force))
    inputs = on_first_rank(communicator, lambda: list(input_files(settings)))
    named = [(words, path) for words, path in [*inputs, ("MODEL", model.path)] if path is not None]
    outputs = [Output("--predictions", predictions, force)]
    with held_by_first_rank(communicator, lambda: claim(outputs, named)):
        listener.expect(on_first_rank(communicator, lambda: reading_seconds(path for _, path in inputs)))
        local, problem, new = read(settings, communicator)
        assert new is not None
        if not _is_trained_on(model, problem, communicator):
            raise InputError(
                f"{model.path}: was trained on other data than {settings.data} holds now; name its "
                "training data by --on"
            )
        listener.expect(prediction_seconds(local, new.targets.size))
        values = predict(problem, model.alpha, new, settings.rbf, communicator)
        text = as_text(problem, values, local.classes)
        on_first_rank(communicator, lambda: write_whole(predictions, lambda handle: handle.write(text)))
        return [f"predictions: {score(problem, values, new.targets, local.classes)}, in {predictions}"]


def _is_trained_on(model: Model, problem: Problem, communicator: Communicator) -> bool:
    """Whether the data are those of a model; on other ranks by number and targets of the samples."""
    found, digest = model.described, data_digest(problem, communicator)
    if communicator.size == found["ranks"] and digest != found["digest"]:
        return False
    return model.alpha.size == problem.samples and fingerprint(problem.targets) == found["targets"]


def _settings(model: Model, test: str, predictions: str, data: str | None, force: bool) -> Settings:
    """The settings of the training, as far as predictions need them."""
    found = model.described
    try:
        if data is None and os.path.isabs(found["data"]) and not os.path.exists(found["data"]):
            raise InputError(
                f"{model.path}: its training data, {found['data']}, are not there; name them by --on"
            )
        kernel = kernel_from(**found["kernel"])
        loss = loss_from(found["task"], found["parameter"])
        return Settings(
            data=data or found["data"],
            directory=None if data else found["directory"],
            kernel=kernel,
            loss=loss,
            bias=found["bias"],
            partition=found["partition"],
            out="",
            test=test,
            predictions=predictions,
            force=force,
        )
    except (LookupError, TypeError) as error:
        raise InputError(f"{model.path}: what it says of its problem cannot be used: {error}") from error
