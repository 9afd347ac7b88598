"""A slow link between two network namespaces: every frame is carried over after a while.

It opens one TAP device in each namespace, which so are two ends of a wire, and hands every frame that comes
out of one to the other when it is due. Needs root and /dev/net/tun, but no kernel module for network
emulation. Usage: ``python tap_relay.py NAMESPACE NAMESPACE DEVICE MICROSECONDS``; it says "ready" and ends
with its input.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import struct
import sys
import time
from collections import deque

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
CLONE_NEWNET = 0x40000000
PR_SET_TIMERSLACK = 29
FRAME = 65536
NAMESPACES = "/run/netns"

libc = ctypes.CDLL(None, use_errno=True)


def enter(path: str) -> None:
    """Go into a network namespace."""
    descriptor = os.open(path, os.O_RDONLY)
    if libc.setns(descriptor, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f"setns {path}")
    os.close(descriptor)


def tap(namespace: str, device: str) -> int:
    """Make a TAP device in a namespace; its descriptor."""
    enter(f"{NAMESPACES}/{namespace}")
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TAP | IFF_NO_PI))
    return descriptor


def relay(ends: tuple[int, int], delay: float) -> None:
    """Carry frames from each end to the other, each after the delay, until standard input ends."""
    libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    with contextlib.suppress(OSError):  # a wire does not wait for ranks that spin on every core
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    other = {ends[0]: ends[1], ends[1]: ends[0]}
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


def main() -> None:
    first, second, device, microseconds = sys.argv[1:]
    ends = tap(first, device), tap(second, device)
    print("ready", flush=True)
    relay(ends, float(microseconds) * 1e-6)


if __name__ == "__main__":
    main()
