"""What is stated follows from the recorded runs: none of them can be changed, left out, or be elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from sstep_verify.campaign.artefact.files import read_artefact, write_artefact, write_digests
from sstep_verify.campaign.statement.files import StatementError, files_of, read_statement
from sstep_verify.campaign.statement.verify import prove_statement


def altered_runs(path: Path, change) -> None:
    """Change a recorded run, and mend every digest."""
    (folder,) = (path / "artefacts").iterdir()
    kept = read_artefact(folder)
    change(kept)
    shutil.rmtree(folder)
    assert write_artefact(kept, folder.parent).name == folder.name
    write_digests(path, files_of(path))


def test_runs_of_a_wrong_solver_do_not_prove_a_right_ones_statement(right_copied):
    def move(kept):
        kept.trajectories["s=7"].alphas[3] *= 1 + 1e-9

    altered_runs(right_copied, move)
    read_statement(right_copied)  # All digests are in order.
    with pytest.raises(StatementError, match=r"outcome: is 'passed', but the recorded runs give 'failed'"):
        prove_statement(right_copied)


def test_a_run_that_is_left_out_is_missed(right_copied):
    altered_runs(right_copied, lambda kept: kept.trajectories.pop("s=7"))
    with pytest.raises(StatementError, match=r"no such run is recorded"):
        prove_statement(right_copied)


def test_bytes_of_the_recorded_runs_are_compared(right_copied):
    (folder,) = (right_copied / "artefacts").iterdir()
    for name in ("artefact.json", "problem.npz", "trajectories.npz", "SHA256SUMS"):
        whole = (folder / name).read_bytes()
        for place in np.linspace(0, len(whole) - 1, 8).astype(int).tolist():
            (folder / name).write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            with pytest.raises(StatementError, match=rf"refused: artefacts/{folder.name[:20]}"):
                read_statement(right_copied)
        for content in (whole[:-7], b"", whole + b"x"):
            (folder / name).write_bytes(content)
            with pytest.raises(StatementError):
                read_statement(right_copied)
        (folder / name).unlink()
        with pytest.raises(StatementError):
            read_statement(right_copied)
        (folder / name).write_bytes(whole)
    read_statement(right_copied)


def test_links_strangers_and_a_changed_badge_are_refused(right_copied, tmp_path):
    runs = right_copied / "artefacts"
    (folder,) = runs.iterdir()
    for name, told in (("more", "is no folder of recorded runs"), (f"a{folder.name}", "does not list")):
        shutil.copytree(folder, runs / name)
        with pytest.raises(StatementError, match=told):
            read_statement(right_copied)
        if told == "does not list":
            write_digests(right_copied, files_of(right_copied))
            with pytest.raises(StatementError, match="runs of no problem, or twice"):
                read_statement(right_copied)
        shutil.rmtree(runs / name)
    write_digests(right_copied, files_of(right_copied))
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StatementError, match="is no folder of recorded runs"):
        read_statement(right_copied)
    folder.unlink()
    (tmp_path / "elsewhere").rename(folder)
    badge = right_copied / "badge.svg"
    badge.write_text(badge.read_text("utf-8").replace("s = 7", "s = 64"), "utf-8")
    with pytest.raises(StatementError, match=r"badge\.svg: is not the badge"):
        read_statement(right_copied)
    badge.unlink()
    read_statement(right_copied)


@pytest.mark.parametrize("name", ["../mine.runs", "/etc", ".", "a/b-every-check-s0", "x-every-check-s1"])
def test_a_folder_of_runs_elsewhere_is_not_read(right_copied, name):
    with open(right_copied / "SHA256SUMS", "a") as file:
        file.write(f"{0:064}  artefacts/{name}/SHA256SUMS\n")
    with pytest.raises(StatementError, match="lists the unknown file"):
        read_statement(right_copied)


def test_the_list_of_digests_is_compared_to_the_byte(right_copied):
    place = right_copied / "SHA256SUMS"
    lines = place.read_bytes().splitlines(keepends=True)
    for content in (
        b"".join([*lines, lines[0]]),
        b"".join(lines[::-1]),
        b"\r\n".join(map(bytes.strip, lines)),
    ):
        place.write_bytes(content)
        with pytest.raises(StatementError, match="SHA256SUMS"):
            read_statement(right_copied)
