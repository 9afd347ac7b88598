"""A program that ends, or leaves, as its last argument says."""

import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

folder, mode = Path(sys.argv[1]), sys.argv[2]
given = dict(line.split(" ", 1) for line in (folder / "problem.txt").read_text().splitlines())
count = int(given["iterations"]) * int(given["block"])


def leave(name, content):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


if mode == "crash":
    os.kill(os.getpid(), signal.SIGSEGV)
elif mode == "hang":
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(sys.argv[3]).write_text(str(child.pid))
    time.sleep(600)
elif mode == "refuse":
    print("no such kernel here", file=sys.stderr)
    sys.exit(65)
elif mode == "three":
    print("a bad thing", file=sys.stderr)
    sys.exit(3)
elif mode == "printed":
    print("first\nsecond\nthird\n\nlast")
    sys.exit(3)
elif mode == "memory":
    bytearray(1 << 31)
elif mode == "nan":
    leave("log.txt", "nan\n" * count)
elif mode == "short":
    leave("log.txt", "0.0\n" * (count - 1))
elif mode == "long":
    leave("log.bin", bytes(8 * count + 8))
elif mode == "huge":
    leave("log.bin", bytes(8 * count + 4096))
elif mode == "word":
    leave("log.txt", "0.0\n" * (count - 1) + "x\n")
elif mode == "digits":
    leave("log.txt", "".join(f"{k / 3:.3f}\n" for k in range(count)))
elif mode == "both":
    leave("log.txt", "0.0\n" * count)
    leave("log.bin", bytes(8 * count))
elif mode == "link":
    os.symlink("/etc/hostname", folder / "log.txt")
elif mode == "fifo":
    os.mkfifo(folder / "log.bin")
elif mode == "counters":
    leave("log.bin", bytes(8 * count))
    leave("counters.txt", "collectives many\n")
elif mode == "counted":
    leave("log.bin", bytes(8 * count))
    leave("counters.txt", "collectives 5\nwords 70\n")
elif mode == "hex":
    leave("log.txt", "".join((k / 3).hex() + " " for k in range(count)))
elif mode == "decimal":
    leave("log.txt", "".join(f"{k / 3:.17g}\n" for k in range(count)))
elif mode == "binary":
    leave("log.bin", struct.pack(f"<{count}d", *(k / 3 for k in range(count))))
elif mode == "apart":
    leave("log.bin", bytes(8 * count))
    leave("final.bin", struct.pack("<d", 1.0) * int(given["samples"]))
