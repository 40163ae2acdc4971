"""Entry point of the command line: commands, signals and exit codes."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pqchain.commands import completion, console, distributions, options
from pqchain.errors import DataError, InvalidResult, PqchainError, UnknownName, UsageError
from pqchain.installation import HOME, VERSION, missing, read_toml

_MAIN = "main"

# Listed from the folder, so that a new command needs no line here.
COMMANDS = tuple(
    path.stem for path in sorted((HOME / "commands").glob("*.toml")) if path.stem != _MAIN
)
"""The commands of pqchain. The module of each has `run(arguments)`, which returns the exit code."""

_INTERRUPTED = 128 + signal.SIGINT  # exit code after Ctrl-C, as in shells


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 success, 1 a check failed, 2 invalid use."""
    if os.environ.get(completion.VARIABLE):
        completion.answer(parser, [*COMMANDS, *distributions.commands()])
    if threading.current_thread() is not threading.main_thread():
        return _run(argv)  # Python handles signals in the main thread only
    received: list[int] = []

    def end(number: int, frame: object) -> None:
        received.append(number)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # shells ignore it in background jobs
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    # A SIGTERM ends a run as Ctrl-C does, so that its folders and processes are not left behind.
    before = signal.signal(signal.SIGTERM, end)
    try:
        code = _run(argv)
    finally:
        signal.signal(signal.SIGTERM, before)
    # As in shells, the exit code after a signal is 128 and its number.
    return 128 + received[0] if received and code == _INTERRUPTED else code


def content(name: str) -> dict[str, Any]:
    """Return the TOML file of a command, next to its module: summary, help texts and options."""
    if name in (*COMMANDS, _MAIN):
        return read_toml(HOME / "commands" / f"{name}.toml")
    spec = find_spec(_module(name))
    assert spec is not None and spec.origin is not None
    return read_toml(Path(spec.origin).with_suffix(".toml"))


def _module(command: str) -> str:
    if command in COMMANDS:
        return f"pqchain.commands.{command}"
    return distributions.commands()[command]


def parser(command: str = "") -> options.Parser:
    """Return the parser of one command with its options, or of all commands without options."""
    texts = content(_MAIN)
    root = options.Parser(
        prog="pqchain",
        description=texts["description"],
        epilog=texts["epilog"],
        formatter_class=options.Formatter,
    )
    root.add_argument("--version", action="version", version=f"pqchain {VERSION}")
    subparsers = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    # With a command, neither modules nor files of the others are read: help stays fast.
    for name in [command] if command else sorted({*COMMANDS, *distributions.commands()}):
        texts = content(name)
        added = options.add_command(subparsers, name, texts["summary"])
        if command:
            options.configure(added, import_module(_module(name)), texts)
    return root


def _temporary_schemes(argv: Sequence[str]) -> AbstractContextManager[None]:
    # A process may run several commands, and schemes of one must not reach the next.
    if not any(argument.startswith("--scheme") for argument in argv):
        return nullcontext()
    from pqchain import algorithms

    return algorithms.temporary_registrations()


def _run_command(command: str, argv: Sequence[str]) -> int:
    try:
        arguments = parser(command).parse_args(argv)
    except SystemExit as end:  # argparse has written its message or help
        return end.code if isinstance(end.code, int) else console.USAGE_ERROR
    with _temporary_schemes(argv):
        try:
            arguments.user_schemes = console.register_schemes(getattr(arguments, "scheme", ()))
            code: int = arguments.run(arguments)
        except SystemExit as end:  # raised by a library or by user code
            from pqchain.crypto import isolation  # slow to import

            console.print_stderr(f"pqchain: {isolation.describe(end)} ended the command")
            return console.CHECK_FAILED
    return code


def _run(argv: Sequence[str] | None) -> int:
    if sys.stderr is None:  # closed by the caller
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123
    if sys.stdout is None:
        console.print_stderr("pqchain: stdout is closed; open it, or redirect it to /dev/null")
        return console.USAGE_ERROR
    argv = sys.argv[1:] if argv is None else argv
    # The command must be known before argparse runs: only its module is imported.
    command = next((argument for argument in argv if not argument.startswith("-")), "")
    try:
        if (
            command
            and command not in COMMANDS
            and command not in (installed := distributions.commands())
        ):
            if command in distributions.COMMANDS:
                raise distributions.not_installed(command)
            raise UnknownName("command", command, [*COMMANDS, *installed], "`pqchain --help`.")
        # Flushing here reports a full disk or a closed pipe before Python exits.
        code = _run_command(command, argv)
        sys.stdout.flush()
    except PqchainError as error:
        console.print_stderr(f"pqchain: {error}")
        wrong_input = isinstance(error, (UsageError, DataError))
        if wrong_input and not isinstance(error, InvalidResult):
            return console.USAGE_ERROR
        return console.CHECK_FAILED
    except ModuleNotFoundError as error:
        console.print_stderr(f"pqchain: {missing(error)}")
        return console.CHECK_FAILED
    except BrokenPipeError:
        # The reader of the pipe, such as `head`, has closed it, which is not an error.
        console.redirect_to_devnull(sys.stdout)
        return console.SUCCESS
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        console.print_stderr(f"pqchain: cannot read or write{where}: {error.strerror or error}")
        try:
            sys.stdout.flush()
        except OSError:
            console.redirect_to_devnull(sys.stdout)
        is_input = isinstance(error, (FileNotFoundError, PermissionError, IsADirectoryError))
        return console.USAGE_ERROR if is_input else console.CHECK_FAILED
    except MemoryError as error:
        console.print_stderr(f"pqchain: out of memory ({error}); ask for less at a time")
        return console.CHECK_FAILED
    except KeyboardInterrupt:
        console.print_stderr("pqchain: interrupted")
        return _INTERRUPTED
    return code
