"""One point of `perf latency` on a real slow link: two ranks in two network namespaces, 1 + 1.

Each namespace has a TAP device, and a process carries every frame that comes out of one over to the other
after a while: no library delays anything, and no kernel module for network emulation is needed. Next to the
times stand those predicted from the same ranks over shared memory: of each iteration the collectives that
were counted, times what one of as many words alone takes longer. Skipped, with the reason, without root,
/dev/net/tun, `ip`, or MPICH. Usage: ``python benchmarks relay --data DIR``.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from grid import Report

from sstep_verify.errors import MissingExtraError
from sstep_verify.problems import kernel_from, loss_from
from sstep_verify.ranks.environment import implementation
from sstep_verify.timing.measure import Delay
from sstep_verify.timing.ranks import OurSolver, Wanted

OPTIONS: dict[str, dict[str, Any]] = {
    "--repeats": {"default": 9},
    "--set": {"default": "duke", "help": "data set (default: duke), K-SVM-L1, RBF kernel"},
    "--delay": {"type": float, "default": 100.0, "help": "microseconds one way (default: 100)"},
}
DOCUMENT = {"format": "sstep-verify relay 1", "skipped": {}}
COLUMNS = ()

ADDRESSES = ("10.77.0.1", "10.77.0.2")
DEVICE, NAMESPACES = "eth0", "/run/netns/"
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
CLONE_NEWNET = 0x40000000
PR_SET_TIMERSLACK = 29
FRAME = 65536


def missing() -> str:
    """Why this cannot be measured here; empty if it can."""
    if os.geteuid() != 0:
        return "namespaces and TAP devices need root"
    if not os.path.exists("/dev/net/tun"):
        return "there is no /dev/net/tun"
    if shutil.which("ip") is None:
        return "there is no command ip (Debian: apt-get install iproute2)"
    if implementation() != "MPICH":
        return f"mpiexec is of {implementation()}; only MPICH is known to go over namespaces"
    tried = f"sv-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", tried], capture_output=True, text=True)
    if made.returncode:
        return f"no namespace can be made: {made.stderr.strip()}"
    _ip("netns", "del", tried)
    return ""


def enter(place: str) -> ctypes.CDLL:
    """Go into a network namespace, by its file; what is started from now on is there too."""
    libc, entered = ctypes.CDLL(None, use_errno=True), os.open(place, os.O_RDONLY)
    if libc.setns(entered, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f"setns {place}")
    os.close(entered)
    return libc


def carry(names: list[str], delay: float) -> None:
    """Say "ready"; hand each frame that comes out of one namespace to the other after so many seconds.

    It ends with standard input.
    """
    ends = []
    for name in names:
        libc = enter(NAMESPACES + name)
        ends.append(os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK))
        fcntl.ioctl(ends[-1], TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TAP | IFF_NO_PI))
    print("ready", flush=True)
    libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    with contextlib.suppress(OSError):  # a wire does not wait for ranks that spin on every core
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    other = dict(zip(ends, reversed(ends), strict=True))
    under_way: deque[tuple[float, int, bytes]] = deque()
    # select, whose timeout has microseconds: that of poll and epoll has milliseconds.
    while True:
        wait = max(under_way[0][0] - time.monotonic(), 0.0) if under_way else None
        ready, _, _ = select.select([*ends, 0], [], [], wait)
        for end in ready:
            if end == 0:
                return
            under_way.append((time.monotonic() + delay, other[end], os.read(end, FRAME)))
        while under_way and under_way[0][0] <= time.monotonic():
            _, end, frame = under_way.popleft()
            with contextlib.suppress(OSError):  # an end that is not up yet loses what is sent to it
                os.write(end, frame)


@contextlib.contextmanager
def linked(microseconds: float) -> Iterator[dict[str, str]]:
    """Two namespaces with a link that takes so long one way; this process is in the first meanwhile.

    Yields what lets ranks that are started here be one in each of them.
    """
    names = (f"sv-{os.getpid()}-a", f"sv-{os.getpid()}-b")
    relay, own = None, f"/proc/{os.getpid()}/fd/{os.open('/proc/self/ns/net', os.O_RDONLY)}"
    try:
        for name in names:
            _ip("netns", "add", name)
        words = [sys.executable, __file__, *names, str(microseconds * 1e-6)]
        relay = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert relay.stdout is not None
        if relay.stdout.readline().strip() != "ready":
            raise RuntimeError("the relay did not start")
        for name, address in zip(names, ADDRESSES, strict=True):
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", DEVICE)
            _ip("-n", name, "link", "set", DEVICE, "up")
            _ip("-n", name, "link", "set", "lo", "up")
        enter(NAMESPACES + names[0])
        with tempfile.NamedTemporaryFile("w") as hosts:
            hosts.write("".join(f"{address}:1\n" for address in ADDRESSES))
            hosts.flush()
            yield {
                "MPIR_CVAR_CH4_NETMOD": "ucx", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": DEVICE,
                "HYDRA_LAUNCHER": "ssh", "HYDRA_HOST_FILE": hosts.name, "HYDRA_IFACE": DEVICE,
                "HYDRA_LAUNCHER_EXEC": str(Path(__file__).parent / "native" / "in_namespace.sh"),
                "SSTEP_NAMESPACES": " ".join(map("=".join, zip(ADDRESSES, names, strict=True))),
            }  # fmt: skip
    finally:
        enter(own)
        if relay is not None:
            relay.communicate()
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


STEPS, SECONDS = (1, 8, 32, 256), 0.25
"""The s that are timed; the length of a segment, about."""


def found(ours: OurSolver, repeats: int) -> dict[str, np.ndarray]:
    """What `perf latency` times, of two ranks.

    Of a collective of one word the seconds; of each s, for every repeat, seconds and collectives of an
    iteration, and seconds of a collective of as many words as a window has on average.
    """
    asked: dict[str, Any] = {"ranks": 2, "delay": Delay(), "seconds": SECONDS}

    def of(s: int) -> tuple[float, float, float]:
        seconds, calls, words = ours.sample(s, **asked)
        return seconds, calls, ours.collective(**asked, words=round(words / calls))

    rounds = [
        {"1 word": ours.collective(**asked), **{str(s): of(s) for s in STEPS}} for _ in range(repeats)
    ]
    return {name: np.array([one[name] for one in rounds]) for name in rounds[0]}


def lines(near: dict, far: dict, microseconds: float) -> Iterator[str]:
    """What was found."""
    words = 1e6 * np.median(near["1 word"]), 1e6 * np.median(far["1 word"])
    yield (
        f"two ranks in two network namespaces, {microseconds:g} us one way; a collective of one word alone "
        f"takes {words[1]:.0f} us over the link, {words[0]:.1f} us over shared memory"
    )
    yield "     s   us over the link         predicted  error   speed-up  collectives  each longer by"
    classical = np.median(far["1"][:, 0])
    for s in (name for name in far if name != "1 word"):
        low, middle, high = 1e6 * np.quantile(far[s][:, 0], (0.25, 0.5, 0.75))
        free, calls, alone = np.median(near[s], axis=0)
        longer = np.median(far[s][:, 2]) - alone
        predicted = 1e6 * (free + calls * longer)
        yield (
            f"{s:>6}{middle:10.1f} [{low:.1f}, {high:.1f}]".ljust(34)
            + f"{predicted:9.1f}{predicted / middle - 1:+7.0%}{1e6 * classical / middle:10.1f}x"
            + f"{calls:13.4f}{1e6 * longer:13.0f} us"
        )


def measure(report: Report) -> None:
    chosen = report.chosen
    if reason := missing():
        report.skip("relay", reason)
        return
    wanted = Wanted(chosen.set, chosen.data, kernel_from("rbf"), loss_from("svm-l1"))
    try:
        near = found(OurSolver(wanted), chosen.repeats)
    except MissingExtraError as error:
        report.skip("relay", error)
        return
    with linked(chosen.delay) as link:
        far = found(OurSolver(wanted, **link), chosen.repeats)
    for place, times in (("near", near), ("far", far)):
        report.document[place] = {s: taken.tolist() for s, taken in times.items()}
    report.say("\n".join([f"{chosen.set}, K-SVM-L1, RBF kernel", *lines(near, far, chosen.delay)]))


if __name__ == "__main__":
    carry(sys.argv[1:3], float(sys.argv[3]))
