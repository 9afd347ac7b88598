"""Worker processes of a campaign: they end with its process; one that is lost loses its case alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from campaign.lost_units import KIND
from daily import some
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sstep_verify.campaign.model import INTERNAL, NOTED, REFUSED, Definition, Plan, Said, Step, Unit
from sstep_verify.campaign.pool import spread

UNIT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

ENDLESS = """
import os, time
from pathlib import Path
from types import SimpleNamespace
from sstep_verify.campaign.model import Definition, Plan, Unit
from sstep_verify.campaign.pool import spread

def work(unit, plan):
    Path(unit.keys[0]).write_text(str(os.getpid()))
    time.sleep(600)
    yield

KIND = SimpleNamespace(run=work, key=str)

if __name__ == "__main__":
    units = [Unit(("one.pid",), None), Unit(("two.pid",), None)]
    for _ in spread(KIND, units, Plan(Definition("mine", "mine", ""), jobs=2)):
        pass
"""


INTERRUPTED = """
import os, signal
if __name__ != "__main__":
    os.kill(os.getpid(), signal.SIGINT)
"""


def plan(jobs):
    return Plan(Definition("mine", "mine", ""), jobs=jobs)


def _running(process: int) -> bool:
    """Whether a process is there and no zombie that nobody has waited for."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text("ascii", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def _wait(condition, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_an_interrupt_while_workers_start_leaves_no_traceback_of_theirs(tmp_path):
    """A terminal interrupts the whole group; here each worker interrupts itself while it imports."""
    (tmp_path / "endless.py").write_text(f"{INTERRUPTED}\n{ENDLESS}", "utf-8")
    done = subprocess.Popen(
        [sys.executable, "endless.py"], cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        assert _wait(lambda: (tmp_path / "one.pid").exists() and (tmp_path / "two.pid").exists(), 120)
    finally:
        os.killpg(done.pid, signal.SIGKILL)
    _, said = done.communicate(timeout=60)
    assert said == b""


def test_workers_end_when_the_campaign_is_killed(tmp_path):
    (tmp_path / "endless.py").write_text(ENDLESS, encoding="utf-8")
    files = [tmp_path / "one.pid", tmp_path / "two.pid"]
    campaign = subprocess.Popen([sys.executable, "endless.py"], cwd=tmp_path)
    workers: list[int] = []
    try:
        assert _wait(lambda: all(path.exists() and path.read_text() for path in files), 120)
        workers = [int(path.read_text()) for path in files]
        assert campaign.pid not in workers
        assert all(_running(worker) for worker in workers)
        campaign.kill()
        campaign.wait(30)
        assert _wait(lambda: not any(_running(worker) for worker in workers), 30)
    finally:
        for process in [*workers, *([] if campaign.poll() is not None else [campaign.pid])]:
            if _running(process):
                os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize("external", [True, False])
def test_a_unit_that_loses_its_process_loses_one_outcome(external):
    heard: list[Step] = []
    units = [Unit(("first", "leaves", "last"), None, external=external)]
    # An external unit has a process of its own even where the campaign has one.
    found = list(spread(KIND, units, plan(1 if external else 2), heard.append))
    assert [message.outcome for message in found if message.outcome] == ["first", "last"]
    (lost,) = [message for message in found if message.error]
    assert lost.kind == (REFUSED if external else INTERNAL)
    # Whether it left, or was killed by somebody else, cannot be known.
    ended = "the process of the solver ended (" if external else "a worker process died ("
    assert lost.error.startswith(f"leaves, run s=4: {ended}")
    assert "exit code 0" in lost.error
    assert Step("leaves", 0.5, "run s=4", run="s=4") in heard


@pytest.mark.parametrize(
    "name", ["KeyboardInterrupt", pytest.param("GeneratorExit", marks=pytest.mark.nightly)]
)
def test_what_a_solver_raises_to_end_its_process_is_named_with_the_problem(name, capfd):
    units = [Unit(("first", f"raises {name}", "last"), None, external=True)]
    found = list(spread(KIND, units, plan(1)))
    assert [message.outcome for message in found if message.outcome] == ["first", "last"]
    (lost,) = [message for message in found if message.error]
    assert lost.kind == REFUSED
    assert f"raises {name}, run s=4: " in lost.error
    assert f"it raised {name}" in lost.error
    assert capfd.readouterr().err == "", "no traceback of ours"


@pytest.mark.parametrize("external", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_a_run_that_crashes_is_not_made_again_but_its_outcome_is(external):
    units = [Unit(("first", "crashes", "last"), None, external=external)]
    found = list(spread(KIND, units, plan(1 if external else 2)))
    assert not [message.error for message in found if message.error]
    crashed = (("crashes", "s=4", "signal 11"),)
    assert [message.outcome for message in found] == ["first", f"crashes {crashed}", "last"]


@pytest.mark.nightly
def test_a_process_that_dies_with_nothing_to_do_loses_nothing_and_is_reported():
    units = [Unit(("dies later",), None), Unit(("slow",), None)]
    found = list(spread(KIND, units, plan(2)))
    assert {message.outcome for message in found if message.outcome} == {"dies later", "slow"}
    (note,) = [message for message in found if message.error]
    assert note.kind == NOTED
    assert "exit code 3" in note.error
    # One that another lost process leaves work for is begun again before it gets it.
    units = [Unit(("dies later",), None), Unit(("slow leaves", "last"), None)]
    found = list(spread(KIND, units, plan(2)))
    assert {message.outcome for message in found if message.outcome} == {"dies later", "last"}


@pytest.mark.nightly
def test_a_unit_that_takes_too_long_loses_one_outcome():
    units = [Unit(("hangs", "last"), None, external=True)]
    heard: list[Step | Said] = []
    found = list(spread(KIND, units, plan(1), heard.append))
    assert Said("a line, after which the time of the run goes on") in heard
    assert {message.outcome or message.error for message in found} == {
        "hangs, run s=4: did not end within 0.3 s (time_limit), so its process was ended", "last",
    }  # fmt: skip


@pytest.mark.parametrize("external", [True, False])
def test_compiling_is_said_when_it_begins(external):
    heard: list[Step | Said] = []
    found = list(spread(KIND, [Unit(("compiles",), None, external=external)], plan(1), heard.append))
    (line,) = [one.line for one in heard if isinstance(one, Said)]
    assert line.startswith("compiling inner loops")
    assert found[0].compiling > 0


@pytest.mark.nightly
def test_a_solver_may_start_processes():
    """It may where it is called elsewhere: its own pool must not be refused by what we start it in."""
    done = list(spread(KIND, [Unit(("starts processes",), None, external=True)], plan(1)))
    assert [(one.outcome, one.error) for one in done] == [("starts processes", "")]


PRINTS = """
import sys
from campaign.lost_units import KIND
from sstep_verify.campaign.model import Definition, Plan, Unit
from sstep_verify.campaign.pool import spread

if __name__ == "__main__":
    units = [Unit((f"prints {text}",), None, external=True) for text in TEXTS]
    made = list(spread(KIND, units, Plan(Definition("mine", "mine", ""), jobs=1)))
    with open("made", "w", encoding="ascii") as file:
        file.write(repr([(one.outcome, one.error) for one in made]))
"""


@pytest.mark.parametrize(
    "streams", some([">/dev/full", "2>/dev/full", ">&- 2>&-", "> >(true) 2> >(true)", ">/dev/null"], of=3)
)
@settings(max_examples=1, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(st.characters(exclude_characters="\0"), min_size=1), min_size=8, max_size=12))
def test_what_a_solver_prints_and_nobody_can_take_is_no_error_of_it(tmp_path, streams, texts):
    """On a full disk, in an encoding that has no letter for it, or to a reader that is gone."""
    (tmp_path / "prints.py").write_text(f"TEXTS = {texts!a}\n{PRINTS}", "ascii")
    line = f"PYTHONIOENCODING=ascii PYTHONPATH=$PYTHONPATH:{UNIT} {sys.executable} prints.py {streams}"
    ended = subprocess.run(["bash", "-c", line], cwd=tmp_path, check=False, timeout=120)
    assert ended.returncode == 0
    assert (tmp_path / "made").read_text() == repr([(f"prints {text}", "") for text in texts])
