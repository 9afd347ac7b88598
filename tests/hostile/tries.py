"""Try malformed files, options, campaigns, artefacts, certificates, checkpoints, destinations and solvers.

Each try runs one command in a process and a folder of its own and counts what must not be: a traceback or an
internal error, a hang, a file lost that was there, a stray file, an untrue statement, an error without words.
Usage: ``python tests/hostile/tries.py [--tries 4000] [--first 0] [--jobs 2] [--only KIND[:NUMBER]]``; exit code 1 if
anything was found, each with the command line and the number that draws it again.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "meta")]

import drawn  # noqa: E402
import materials  # noqa: E402

LIMIT = 90.0
"""Seconds after which a try is taken to hang."""

MEMORY = 8 << 30
"""Bytes of address space a try may take."""

CODES = (0, 1, 2, 3, 4, 130)
WRONG = 97
"""Exit code of a try whose statement was found untrue; the reason stands in its output."""


def schedule(tries: int) -> Iterator[tuple[str, int]]:
    """Kinds with their numbers, in their shares."""
    done = Counter()
    for _ in range(tries):
        kind = min(drawn.KINDS, key=lambda name: (done[name] + 1) / drawn.KINDS[name][1])
        yield kind, done[kind]
        done[kind] += 1


def digests(folder: Path) -> dict[str, str]:
    """Digests of the regular files below a folder, by their paths in it."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.is_symlink()
    }


def attempt(kind: str, number: int, folder: Path) -> None:
    """Prepare and make one try in this process, which it ends."""
    code = 98
    try:
        os.setsid()
        os.chdir(folder)
        said = os.open("../said", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(said, 1)
        os.dup2(said, 2)
        draw = np.random.Generator(np.random.PCG64([number, *kind.encode()]))
        this = drawn.KINDS[kind][0](draw)
        Path("../words").write_text(
            repr((this.name, this.words, this.outputs)), "utf-8", "backslashreplace"
        )
        before = digests(folder)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        code = command(this.words)
        sys.stdout.flush()
        code = judged(this, code, before, folder)
    except BaseException:
        print("PROGRAM OF THE TRIES:", file=sys.stderr)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def command(words: tuple[str, ...]) -> int:
    """Exit code of the command line, run here."""
    from sstep_verify.cli.main import main
    from sstep_verify.vectors.__main__ import command as vectors

    sys.argv = ["sstep-verify", *words]
    try:
        vectors(words[1:]) if words[0] == "vectors" else main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def judged(this: drawn.Try, code: int, before: dict[str, str], folder: Path) -> int:
    """The code, or `WRONG` with the reason printed."""
    os.chdir(folder)
    found = []
    after = digests(folder)
    for name, digest in before.items():
        owned = any(name == output or name.startswith(f"{output}/") for output in this.outputs)
        if after.get(name) != digest and not owned:
            found.append(f"LOST: {name}")
    stray = [
        name for name in after if name not in before and ".partial" in name and "rep.partial/" not in name
    ]
    found += [f"STRAY: {name}" for name in stray]
    if code == 0:
        untrue = this.untrue(Path("../said").read_text("utf-8", "replace"))
        found += [f"UNTRUE: {untrue}"] if untrue else []
    for line in found:
        print(line)
    return WRONG if found else code


def fault(code: int, said: str) -> str:
    """What must not be in the outcome of a try; empty if nothing is."""
    if code == WRONG:
        return next(word for word in ("LOST", "UNTRUE", "STRAY") if f"{word}: " in said).lower()
    if code == 98:
        return "program of the tries"
    if any(not one.isprintable() and one not in "\n\t\r\ufffd" for one in said):
        return "control character"
    if "Traceback (most recent call last)" in said or "internal error" in said:
        return "traceback"
    if code not in CODES:
        return f"exit code {code}"
    if code == 2 and not any(word in said for word in ("error: ", "Error: ")):
        return "no words"
    return ""


def start(kind: str, number: int, base: Path, place: Path) -> int:
    """Start a try in a child; its process id."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(base, place / "folder", symlinks=True)
    child = os.fork()
    if child == 0:
        attempt(kind, number, place / "folder")
    return child


def tried(
    chosen: list[tuple[str, int]], base: Path, room: Path, jobs: int
) -> Iterator[tuple[str, int, int, float, Path]]:
    """Kind, number, exit code (-1: hang), seconds and folder of each try, as they end."""
    left, running = chosen[::-1], {}
    places = [room / f"place-{job}" for job in range(jobs)]
    while left or running:
        while left and places:
            kind, number = left.pop()
            place = places.pop()
            running[start(kind, number, base, place)] = (kind, number, time.monotonic(), place)
        for child, (kind, number, begun, place) in list(running.items()):
            late = time.monotonic() - begun > LIMIT
            if late:
                os.killpg(child, signal.SIGKILL)
            ended, status = os.waitpid(child, 0 if late else os.WNOHANG)
            if ended:
                del running[child]
                code = -1 if late else os.waitstatus_to_exitcode(status)
                yield kind, number, code, time.monotonic() - begun, place
                places.append(place)
        time.sleep(0.002)


def main() -> int:
    """Make the tries, and say what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tries", type=int, default=4000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help="KIND or KIND:NUMBER")
    parser.add_argument("--first", type=int, default=0, help="number of the first try of each kind")
    parser.add_argument("--words", action="store_true", help="print what every try said")
    asked = parser.parse_args()
    chosen = [(kind, number + asked.first) for kind, number in schedule(asked.tries)]
    kind, _, number = asked.only.partition(":")
    if number:
        chosen = [(kind, int(number))]
    elif kind:
        chosen = [(kind, number + asked.first) for number in range(asked.tries)]
    counts, codes = Counter(), Counter()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as held:
        room = Path(held)
        os.environ["XDG_CACHE_HOME"] = str(room / "cache")
        (room / "base").mkdir()
        materials.make(room / "base")
        for kind, number, code, seconds, place in tried(chosen, room / "base", room, asked.jobs):
            said = (place / "said").read_text("utf-8", "replace") if (place / "said").exists() else ""
            found = "hang" if code == -1 else fault(code, said)
            counts[found or "well"] += 1
            codes[kind, code] += 1
            if found:
                words = (place / "words").read_text() if (place / "words").exists() else "?"
                print(
                    f"{found}: {kind}:{number} exit {code}, {seconds:.1f} s: {words[:400]}\n    {said[-700:].strip()}",
                    flush=True,
                )
            if asked.only.endswith(f":{number}") or asked.words:
                print(
                    f"{kind}:{number} exit {code}: {(place / 'words').read_text()[:300]}\n    {said[-400:].strip()}"
                )
    table = {kind: dict(sorted((c, n) for (k, c), n in codes.items() if k == kind)) for kind in drawn.KINDS}
    for kind, row in table.items():
        print(f"{kind:13} exit codes {row}")
    print(f"{sum(counts.values())} tries in {time.monotonic() - begun:.0f} s: {dict(counts)}")
    return int(set(counts) != {"well"})


if __name__ == "__main__":
    sys.exit(main())
