"""The command ``sstep-verify``, also as ``python -m sstep_verify``, which ends quietly if interrupted."""

from __future__ import annotations

import os
import sys

from sstep_verify.standard_library import hiding, put_working_folder_last

if __name__ == "__main__":
    put_working_folder_last()

import signal

TYPE_CHECKING = False  # As in the package itself.
if TYPE_CHECKING:
    from typing import NoReturn

INTERRUPTED = 130
"""Exit code of a command that was interrupted (128 + SIGINT)."""

UNUSABLE = 2
"""Exit code where the user has to change something before a command can begin."""


def end_at_once(*_: object) -> NoReturn:
    """Say that the command was interrupted, and end; nothing has begun that would have to be cleared.

    Modules are being imported: an exception would leave some of them half-way, and show its traceback.
    """
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(INTERRUPTED)


def without_prompt() -> None:
    """Begin again where a variable asks for a prompt after the program; -i on the command line stays.

    Python then ends with the exit code of the prompt, and so do the processes that inherit the variable.
    """
    if sys.flags.inspect and os.environ.pop("PYTHONINSPECT", ""):
        os.write(2, b"note: PYTHONINSPECT is set, but exit codes would be lost; it is left out\n")
        os.execv(sys.executable, sys.orig_argv)


def main() -> None:
    """Run the command line (`sstep_verify.cli.main`), which has its own end for an interrupt."""
    without_prompt()
    # A shell lets a command in its background ignore interrupts: that stays.
    handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if handled:
        signal.signal(signal.SIGINT, end_at_once)
    try:
        from sstep_verify.cli.main import main as command
    except Exception as error:
        if not (found := hiding(error)):
            raise
        os.write(2, f"error: {found}\n".encode(errors="backslashreplace"))
        sys.exit(UNUSABLE)

    try:
        if handled:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        command()
    except KeyboardInterrupt:  # Just before the command has begun, or once it has ended.
        end_at_once()


if __name__ == "__main__":
    main()
