"""Entry point of the command line: commands, signals and exit codes."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from inspect import BoundArguments
from typing import TYPE_CHECKING, Any

from cyclopts import App, CycloptsError, Parameter
from cyclopts import exceptions as problems

from pqchain import algorithms
from pqchain.commands import console, help_text
from pqchain.errors import (
    DataError,
    InvalidResult,
    PqchainError,
    UnknownName,
    UsageError,
    short_repr,
)
from pqchain.installation import VERSION, missing

if TYPE_CHECKING:
    from cyclopts import Token

_MODULES = {
    "chains": ("study", "whatif"),
    "comparing": ("compare", "plot"),
    "installed": ("algorithms", "doctor"),
    "measuring": ("bench", "chain", "gas"),
    "publications": ("papers", "reproduce"),
    **{name: (name,) for name in ("consensus", "falcon", "reencode")},
}
"""Commands by the module that defines them."""

_INTERRUPTED = 128 + signal.SIGINT  # exit code after Ctrl-C, as in shells


@cache
def targets() -> Mapping[str, str]:
    """Return "module:name" of the function or the App of each command, by name.

    Installed packages add commands by the entry-point group "pqchain.commands".
    """
    added = {point.name: point.value for point in entry_points(group="pqchain.commands")}
    core = {
        name: f"pqchain.commands.{module}:{name}"
        for module, names in _MODULES.items()
        for name in names
    }
    return dict(sorted((added | core).items()))


@cache
def app() -> App:
    """Return the App of all commands, each of which is imported when it is first used."""
    # Help is written by `pqchain.commands.help_text`. No option has a negative, such as --no-json.
    no_negative = Parameter(negative=())
    root = App(name="pqchain", default_parameter=no_negative, help_flags=(), version_flags=())
    for name, target in targets().items():
        root.command(target, name=name)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 success, 1 a check failed, 2 invalid use."""
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


def parse(argv: Sequence[str]) -> tuple[Callable[..., int], BoundArguments]:
    """Return the function of a command line and the arguments by name. Raises UsageError."""
    try:
        function, bound, _ = app().parse_args(
            argv, exit_on_error=False, print_error=False, verbose=False
        )
    except CycloptsError as error:
        raise _usage_error(error) from None
    return function, bound


def help_of(words: Sequence[str], *, width: int = 80, everything: bool = False) -> str:
    """Return the help of a command, or of `pqchain`; with `everything` also the rarer options."""
    if not words:
        return help_text.overview(targets(), width)
    chain, apps, _ = app().parse_commands(list(words))
    return help_text.command(apps[-1], chain, width, everything=everything)


def _usage_error(error: CycloptsError) -> UsageError:
    """Return an error of cyclopts as one of pqchain."""
    see = f"`pqchain {' '.join(error.command_chain or ())} --help`"
    token: Token | None = getattr(error, "token", None)
    option = (token and token.keyword) or (error.argument and error.argument.name) or "the argument"
    text = token.value if token else ""
    if isinstance(error, problems.UnknownOptionError):
        known = {name for row in error.argument_collection for name in row.names if "--" in name}
        name = error.token.keyword or error.token.value
        return UnknownName("option", name, sorted(known), f"{see}.")
    message = f"{option} must not be {short_repr(text)}"
    if isinstance(error, problems.UnusedCliTokensError):
        message = f"unexpected argument {short_repr((error.unused_tokens or [''])[0])}"
    elif isinstance(error, problems.RepeatArgumentError):
        message = f"{option} must be given once; got {short_repr(text)}, too"
    elif isinstance(error, problems.MissingArgumentError):
        message = f"{option} must be given a value; got none"
    return UsageError(f"{message}. See {see}.")


def _execute(argv: list[str]) -> int:
    options = argv[: argv.index("--")] if "--" in argv else argv
    asked = {"-h", "--help", "--help-all"} & set(options)
    if argv[:1] == ["--version"]:
        console.print_stdout(f"pqchain {VERSION}")
        return console.SUCCESS
    if argv[:1] == ["--completion"]:
        if argv[1:] not in (["bash"], ["zsh"], ["fish"]):
            raise UsageError("--completion must be bash, zsh or fish")
        shell: Any = argv[1]
        console.print_stdout(app().generate_completion(shell=shell))
        return console.SUCCESS
    first = next((word for word in argv if not word.startswith("-")), "")
    if first and first not in targets():
        if first in console.DISTRIBUTIONS:
            raise console.not_installed(first)
        raise UnknownName("command", first, targets(), "`pqchain --help`.")
    words = [word for word in options if not word.startswith("-")]
    if asked:
        width = max(40, shutil.get_terminal_size().columns)  # of COLUMNS, or 80
        everything = "--help-all" in asked
        console.print_stdout(help_of(words, width=width, everything=everything))
        return console.SUCCESS
    chain, apps, rest = app().parse_commands(argv)
    if apps[-1].default_command is None:
        see = f"`{' '.join(('pqchain', *chain))} --help`"
        if rest and not rest[0].startswith("-"):
            raise UnknownName("command", rest[0], list(apps[-1]), f"{see}.")
        raise UsageError(f"name a COMMAND: {', '.join(apps[-1])}; see {see}")
    # A process may run several commands, and schemes of one must not reach the next.
    with algorithms.temporary_registrations():
        try:
            function, bound = parse(argv)
            return function(*bound.args, **bound.kwargs)
        except SystemExit as end:  # raised by a library or by user code
            from pqchain.crypto import isolation  # slow to import

            console.print_stderr(f"pqchain: {isolation.describe(end)} ended the command")
            return console.CHECK_FAILED


def _run(argv: Sequence[str] | None) -> int:
    if sys.stderr is None:  # closed by the caller
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123
    if sys.stdout is None:
        console.print_stderr("pqchain: stdout is closed; open it, or redirect it to /dev/null")
        return console.USAGE_ERROR
    try:
        # Flushing here reports a full disk or a closed pipe before Python exits.
        code = _execute(list(sys.argv[1:] if argv is None else argv))
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
