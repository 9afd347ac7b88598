"""The shell script of a batch: it makes each run once, hands words over as they are, and tells how runs ended."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from sstep_verify.adapters.program import Program, ProgramFile
from sstep_verify.adapters.program.batch import PLACE, StoredRun
from sstep_verify.campaign.elsewhere import Batch, shell_script, slurm_script
from sstep_verify.campaign.profile import Selection


def batch(*runs: StoredRun, **program) -> Batch:
    described = ProgramFile(Program("mine", ("./mine", "{dir}"), **program))
    return Batch("smoke", Selection((1, 4)), "", described, runs)


def script_of(asked: Batch) -> str:
    return shell_script(asked.program.program, asked.runs)


@pytest.mark.parametrize(
    ("line", "code", "limit"),
    [("kill -9 $$", "137", 30.0), ("trap '' TERM; while :; do :; done", "124", 1.0)],
)
def test_the_script_tells_a_kill_from_a_program_that_does_not_end_when_asked(tmp_path, line, code, limit):
    """Of both, ``timeout`` says 137."""
    run = StoredRun("one-1", ("sh", "-c", line), {}, 1)
    (tmp_path / "solve.sh").write_text(script_of(batch(run, time_limit=limit)))
    (tmp_path / "runs" / run.name).mkdir(parents=True)
    subprocess.run(["sh", tmp_path / "solve.sh"], capture_output=True, check=False)
    assert (tmp_path / "runs" / run.name / "exit").read_text() == f"{code}\n"


def test_the_script_hands_over_every_word_as_it_is_and_makes_a_run_once(tmp_path):
    nasty = ("a b", "it's", '"$HOME"', "`id`", "*", "\\", "ü", "-n", f"x{PLACE}/y")
    code = "import json, os, sys; json.dump([sys.argv[1:], os.environ['HERE']], open(sys.argv[1] + '/said', 'x'))"
    words = (sys.executable, "-S", "-c", code, PLACE, *nasty)
    (tmp_path / "with a 'space").mkdir()
    place = tmp_path / "with a 'space"
    script = batch(StoredRun("one-1", words, {"HERE": f"{PLACE};"}, 1), StoredRun("lost-1", words, {}, 1))
    (place / "solve.sh").write_text(script_of(script), "utf-8")
    (place / "runs" / "one-1").mkdir(parents=True)
    for _ in range(2):  # The second time `open` would fail.
        done = subprocess.run(["sh", place / "solve.sh"], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "lost-1 is missing" in done.stderr
    folder = place / "runs" / "one-1"
    said, here = json.loads((folder / "said").read_text("utf-8"))
    assert said == [str(folder), *nasty[:-1], f"x{folder}/y"]
    assert here == f"{folder};"
    assert (folder / "exit").read_text() == "0\n"


def test_the_parts_of_a_batch_make_every_run_once(tmp_path):
    runs = [StoredRun(f"r-{k}", ("sh", "-c", f"echo {k} >> {tmp_path}/made"), {}, 1) for k in range(7)]
    (tmp_path / "solve.sh").write_text(script_of(batch(*runs)))
    for run in runs:
        (tmp_path / "runs" / run.name).mkdir(parents=True)
    for part in (1, 2, 3):
        for run in runs:  # As on three machines, of which none sees what the others made.
            (tmp_path / "runs" / run.name / "exit").unlink(missing_ok=True)
        subprocess.run(["sh", tmp_path / "solve.sh", str(part), "3"], check=True)
    assert sorted((tmp_path / "made").read_text().split()) == [str(k) for k in range(7)]


def test_a_failing_run_says_so_and_does_not_end_the_others(tmp_path):
    runs = [StoredRun(f"r-{k}", ("sh", "-c", f"echo {k}; echo no >&2; exit {k}"), {}, 1) for k in (3, 0)]
    (tmp_path / "solve.sh").write_text(script_of(batch(*runs, setup=("touch", str(tmp_path / "built")))))
    for run in runs:
        (tmp_path / "runs" / run.name).mkdir(parents=True)
    done = subprocess.run(["sh", tmp_path / "solve.sh"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "r-3: exit code 3" in done.stderr
    assert [(tmp_path / "runs" / run.name / "exit").read_text() for run in runs] == ["3\n", "0\n"]
    assert (tmp_path / "runs" / "r-3" / "stdout").read_text() == "3\n"
    assert (tmp_path / "built").exists()


def test_the_slurm_script_is_a_shell_script_with_its_directives():
    text = slurm_script("mine", 4, "my runs")
    assert "#SBATCH --ntasks=4\n" in text
    assert "BATCH=${BATCH:-$SLURM_SUBMIT_DIR/'my runs'}" in text
    assert subprocess.run(["sh", "-n"], input=text, text=True, check=False).returncode == 0
