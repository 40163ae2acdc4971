"""The command line: which commands there are, and which exit code answers."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module

from pqchain import isolation
from pqchain.commands import console
from pqchain.errors import PqchainError, UnknownName, UsageError
from pqchain.installation import HOME, VERSION, missing, read_toml

_SAID = read_toml(HOME / "commands" / "main.toml")

COMMANDS: dict[str, str] = _SAID["commands"]
"""Every command with its summary. Of that name there are here a TOML file that describes its
options, and a module with `run(arguments)`, which returns the exit code."""

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
    root = console.Parser(
        prog="pqchain",
        description=_SAID["description"],
        epilog=_SAID["epilog"],
        formatter_class=console.FORMATTER,
    )
    root.add_argument("--version", action="version", version=f"pqchain {VERSION}")
    subparsers = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        added = console.add_command(subparsers, name, summary)
        if name == command:
            module = import_module(f"pqchain.commands.{name}")
            said = read_toml(HOME / "commands" / f"{name}.toml")
            console.describe(added, module, said)
    return root


def _forgetting(words: Sequence[str]) -> AbstractContextManager[None]:
    """Forget the user's own schemes after the command, for whoever calls several in a process."""
    if not any(word.startswith("--scheme") for word in words):
        return nullcontext()
    from pqchain import algorithms

    return algorithms.forgetting()


def _answer(command: str, words: Sequence[str]) -> int:
    try:
        arguments = parser(command).parse_args(words)
    except SystemExit as end:  # argparse has written its message or help
        return end.code if isinstance(end.code, int) else console.WRONG_USE
    with _forgetting(words):
        try:
            arguments.own = console.own_schemes(getattr(arguments, "scheme", ()))
            code: int = arguments.run(arguments)
        except SystemExit as end:  # of a library or of user code: not the end of our command
            console.talk(f"pqchain: {isolation.describe(end)} ended the command")
            return console.CHECK_FAILED
    return code


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
        code = _answer(command, words)
        sys.stdout.flush()
    except PqchainError as error:
        console.talk(f"pqchain: {error}")
        return console.WRONG_USE if isinstance(error, UsageError) else console.CHECK_FAILED
    except ModuleNotFoundError as error:
        console.talk(f"pqchain: {missing(error)}")
        return console.CHECK_FAILED
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough.
        console.abandon(sys.stdout)
        return console.FINE
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        console.talk(f"pqchain: cannot read or write{where}: {error.strerror or error}")
        try:
            sys.stdout.flush()
        except OSError:
            console.abandon(sys.stdout)
        return console.CHECK_FAILED
    except MemoryError as error:
        console.talk(f"pqchain: out of memory ({error}); ask for less at a time")
        return console.CHECK_FAILED
    except KeyboardInterrupt:
        console.talk("pqchain: interrupted")
        return _INTERRUPTED
    return code
