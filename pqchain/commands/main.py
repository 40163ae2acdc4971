"""The command line: which commands there are, and which exit code answers."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from importlib import import_module

from pqchain.commands import console
from pqchain.errors import PqchainError, UnknownName, UsageError
from pqchain.installation import VERSION

COMMANDS = {
    "doctor": "say what is present, what is missing and the command that mends it",
    "algorithms": "list algorithms with sizes, status and implementations",
    "papers": "list the reproduced works, or show one, or one of its tables",
    "bench": "time operations on this machine",
    "chain": "measure a block: wallets, bytes, signatures, validation on several threads",
    "reencode": "replay how nodes recover and re-encode blocks after a failure",
    "reproduce": "measure, compare with the published tables, write a report",
    "falcon": "sign in parts: liboqs, kernels, a board; and what an engine would take",
    "consensus": "model PQ-DPoL: latency and throughput by scheme, network and size",
    "study": "ask what a whole chain gives and takes, and get one page",
}
"""Every command with its summary. The module of that name here has `add(parser)`, which describes
its options, and `run(arguments)`, which returns the exit code."""

_INTERRUPTED = 128 + signal.SIGINT
"""Exit code after Ctrl-C, as in shells."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 fine, 1 a check failed, 2 wrong use."""
    if threading.current_thread() is not threading.main_thread():
        return _run(argv)  # Python hears signals in the main thread only
    received: list[int] = []

    def end(number: int, frame: object) -> None:
        received.append(number)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a script
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    # A SIGTERM ends a run as Ctrl-C does, so that its folders and processes are not left behind.
    before = signal.signal(signal.SIGTERM, end)
    try:
        code = _run(argv)
    finally:
        signal.signal(signal.SIGTERM, before)
    return 128 + received[0] if received and code == _INTERRUPTED else code


def parser(command: str = "") -> argparse.ArgumentParser:
    """Describe all commands in a line each, and the one that is asked for in full.

    Only its module is imported.
    """
    root = argparse.ArgumentParser(
        prog="pqchain",
        description="Post-quantum cryptography in blockchains: measure it, and set the numbers\n"
        "of published works beside those of this machine.",
        epilog="""examples:
  pqchain doctor                        what works here, and how to mend what does not
  pqchain bench --algorithm Falcon-512  time one scheme
  pqchain papers pqdpol table4          a table as printed
  pqchain reproduce                     everything side by side, in results/index.html
  pqchain study ethereum --page a.html  what a whole chain gives and takes, on one page

exit codes: 0 fine, 1 a check failed, 2 wrong use.  Every command has --json.""",
        formatter_class=console.FORMATTER,
    )
    root.add_argument("--version", action="version", version=f"pqchain {VERSION}")
    subparsers = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        added = console.add_command(subparsers, name, summary)
        if name == command:
            module = import_module(f"pqchain.commands.{name}")
            added.set_defaults(run=module.run)
            module.add(added)
    return root


def _run(argv: Sequence[str] | None) -> int:
    """Run one command; whatever goes wrong becomes a line and an exit code."""
    if sys.stderr is None:  # closed by the caller; nobody listens
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123
    if sys.stdout is None:
        console.talk("pqchain: stdout is closed; leave it open, or send it to /dev/null")
        return console.WRONG_USE
    words = sys.argv[1:] if argv is None else argv
    command = next((word for word in words if not word.startswith("-")), "")
    try:
        if command and command not in COMMANDS:
            raise UnknownName("command", command, COMMANDS, "`pqchain --help`.")
        arguments = parser(command).parse_args(words)
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except SystemExit as end:  # argparse has written its message or help
        return end.code if isinstance(end.code, int) else console.WRONG_USE
    except PqchainError as error:
        console.talk(f"pqchain: {error}")
        return console.WRONG_USE if isinstance(error, UsageError) else console.CHECK_FAILED
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough. Nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return console.FINE
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        console.talk(f"pqchain: cannot read or write{where}: {error.strerror or error}")
        return console.CHECK_FAILED
    except MemoryError as error:
        console.talk(f"pqchain: out of memory ({error}); ask for less at a time")
        return console.CHECK_FAILED
    except KeyboardInterrupt:
        console.talk("pqchain: interrupted")
        return _INTERRUPTED
    return code
