"""Entry point of the command line: commands, signals and exit codes."""

from __future__ import annotations

import ast
import inspect
import io
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from inspect import BoundArguments
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqchain import algorithms
from pqchain.commands import console
from pqchain.errors import DataError, InvalidResult, PqchainError, UnknownName, UsageError
from pqchain.installation import VERSION, missing

if TYPE_CHECKING:
    from cyclopts import App

_MODULES = {
    "chains": ("study", "whatif"),
    "comparing": ("compare", "plot"),
    "installed": ("algorithms", "doctor"),
    "measuring": ("bench", "chain", "gas"),
    "publications": ("papers", "reproduce"),
    **{name: (name,) for name in ("consensus", "falcon", "reencode")},
}
"""Commands by the module that defines them."""

_USAGE = """\
usage: pqchain COMMAND ... | --version | --completion {bash,zsh,fish}

Post-quantum cryptography in blockchains: measure signature schemes and blocks, model consensus and
whole chains, and compare with published works."""

_EXAMPLES = """\
Examples:
  pqchain doctor                        check this installation
  pqchain bench --algorithm Falcon-512  time one scheme
  pqchain papers pqdpol table4          show a published table
  pqchain reproduce                     compare all works with this machine: results/index.html
  pqchain study ethereum --page a.html  compare signature schemes on a whole chain

Exit codes: 0 success, 1 a check failed, 2 invalid use. Every command has --json."""

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
    from cyclopts import App, Parameter  # here, because `pqchain --help` does without them

    from pqchain.commands import values

    # No option has a negative, such as --no-json.
    common = Parameter(negative=(), show_default=values.shown_default)
    root = App(name="pqchain", default_parameter=common, help_flags=(), version_flags=())
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
    from cyclopts import CycloptsError

    try:
        function, bound, _ = app().parse_args(
            argv, exit_on_error=False, print_error=False, verbose=False
        )
    except CycloptsError as error:
        message, command = str(error).strip(), " ".join(["pqchain", *(error.command_chain or ())])
        end = "" if message.endswith((".", "?")) else "."
        raise UsageError(f"{message}{end} See `{command} --help`.") from None
    return function, bound


def help_of(words: Sequence[str], *, width: int = 80) -> str:
    """Return the help of a command, or of `pqchain`, which is quick: it imports no command."""
    if not words:
        rows = [f"  {name:<12}{_summary(target)}" for name, target in targets().items()]
        return "\n".join([_USAGE, "", "commands:", *rows, "", _EXAMPLES])
    from rich.console import Console

    written = io.StringIO()
    app().help_print(words, console=Console(file=written, width=width))
    _, apps, _ = app().parse_commands(list(words))
    # cyclopts shows the description and the parameters of a docstring.
    doc = inspect.getdoc(apps[-1].default_command) or inspect.cleandoc(apps[-1].help)
    _, title, examples = doc.partition("\nExamples:")
    return written.getvalue() + (title + examples).strip("\n")


def _summary(target: str) -> str:
    """Return the first line of a command's function or module, which is not imported."""
    module, _, name = target.partition(":")
    tree = _parsed(module)
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    found = next((node for node in functions if node.name == name), tree)
    return (ast.get_docstring(found) or "").partition("\n")[0]


@cache
def _parsed(module: str) -> ast.Module:
    place = find_spec(module)
    assert place is not None and place.origin is not None
    return ast.parse(Path(place.origin).read_text(encoding="utf-8"))


def _execute(argv: list[str]) -> int:
    if argv[:1] == ["--version"]:
        console.print_stdout(f"pqchain {VERSION}")
        return console.SUCCESS
    if argv[:1] == ["--completion"]:
        if argv[1:] not in (["bash"], ["zsh"], ["fish"]):
            raise UsageError("--completion must be bash, zsh or fish")
        shell: Any = argv[1]
        console.print_stdout(app().generate_completion(shell=shell))
        return console.SUCCESS
    options = argv[: argv.index("--")] if "--" in argv else argv
    words = [word for word in argv if not word.startswith("-")]
    if words and words[0] not in targets():
        if words[0] in console.DISTRIBUTIONS:
            raise console.not_installed(words[0])
        raise UnknownName("command", words[0], targets(), "`pqchain --help`.")
    if {"-h", "--help"} & set(options):
        width = min(max(40, shutil.get_terminal_size().columns), 1000)  # of COLUMNS, or 80
        console.print_stdout(help_of(words, width=width))
        return console.SUCCESS
    # A process may run several commands, and schemes of one must not reach the next.
    with algorithms.temporary_registrations():
        try:
            function, bound = parse(argv)
            if getattr(function, "__name__", "") == "help_print":  # of a group of commands
                raise UsageError(f"name a COMMAND; see `{' '.join(['pqchain', *words])} --help`")
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
