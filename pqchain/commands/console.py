"""Shared parts of the commands: output, exit codes, and options, which TOML files describe.

Data goes to stdout, messages to stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TextIO

from pqchain import checks, figures
from pqchain.bench import presets
from pqchain.commands import values
from pqchain.errors import UsageError
from pqchain.render import latex

if TYPE_CHECKING:
    import pandas as pd

    from pqchain.render.table import Table

FINE, CHECK_FAILED, WRONG_USE = 0, 1, 2
"""Exit codes of a command."""

_ASCII = str.maketrans(
    {"µ": "u", figures.TIMES: "x", figures.NARROW_SPACE: " ", figures.MISSING: "-", "…": "~"}
    | {"─": "-"}
)
"""Replacements of characters that a terminal without Unicode cannot show."""

_METAVARS = {"bits_per_second": "BITS", "_per_second": "RATE", "_seconds": "S", "_bytes": "BYTES"}
"""Placeholder of an option's value by the suffix of its field; other numbers are N."""


FORMATTER = partial(argparse.RawDescriptionHelpFormatter, max_help_position=16)
"""Keeps the line breaks of examples, and shows each command on one line."""


class Parser(argparse.ArgumentParser):
    """Argument parser that raises an error if help cannot be written; argparse ignores it."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if message and file is sys.stdout:
            file.write(_shown(message, file))
        elif message:
            talk(message.rstrip("\n"))


def write(text: str) -> None:
    """Write data to stdout, with characters replaced that its encoding lacks."""
    sys.stdout.write(f"{_shown(text, sys.stdout)}\n")


def _shown(text: str, stream: TextIO) -> str:
    """Return a text, with characters replaced that the encoding of a stream lacks."""
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    return text


def write_json(value: Any) -> None:
    """Write a value as JSON to stdout."""
    # Escapes preserve all characters where stdout is not Unicode.
    escaped = not (sys.stdout.encoding or "utf-8").casefold().startswith("utf")
    write(json.dumps(value, indent=2, ensure_ascii=escaped, allow_nan=False, default=_plain))


def _plain(value: Any) -> Any:
    """Convert numbers of numpy and paths to JSON types."""
    return value.item() if hasattr(value, "item") else str(value)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as JSON types; missing values become None (null)."""
    # Numeric columns cannot contain None.
    plain = frame.astype(object).where(frame.notna(), None)
    return [{str(key): value for key, value in row.items()} for row in plain.to_dict("records")]


def talk(text: str) -> None:
    """Write a message to stderr; without a working stderr only the exit code remains."""
    try:
        sys.stderr.write(f"{_shown(text, sys.stderr)}\n")
        sys.stderr.flush()
    except OSError:
        abandon(sys.stderr)


def abandon(stream: TextIO) -> None:
    """Redirect a broken stream to /dev/null."""
    # Python flushes the stream at exit, and would report the error again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def show(
    arguments: argparse.Namespace,
    plain: Any,
    *shown: Table | str,
    remarks: Iterable[str] = (),
    fine: bool = True,
) -> int:
    """Write plain data as JSON if requested, else tables and texts, with remarks on stderr.

    Returns the exit code.
    """
    if arguments.json:
        write_json(plain)
    else:
        write("\n\n".join(_in_form(arguments, shown)))
        for remark in remarks:
            talk(remark)
    return FINE if fine else CHECK_FAILED


def for_paper(arguments: argparse.Namespace) -> bool:
    """Return whether tables are requested as LaTeX or Markdown."""
    return bool(arguments.latex or arguments.markdown)


def _in_form(arguments: argparse.Namespace, shown: Iterable[Table | str]) -> Iterator[str]:
    """Yield tables and texts in the requested form; in LaTeX, texts are comments."""
    if not for_paper(arguments):
        yield from (each if isinstance(each, str) else each.text(width()) for each in shown)
        return
    several = list(shown)
    if arguments.latex and all(isinstance(each, str) for each in several):
        raise UsageError("--latex is for tables, and this shows none; leave it out")
    for each in several:
        if not isinstance(each, str):
            yield each.latex() if arguments.latex else each.markdown()
        elif arguments.markdown:
            yield each
        else:
            yield "\n".join(f"% {latex.escaped(line)}" for line in each.splitlines())


def width() -> int | None:
    """Return the width in columns to cut tables to; None (no limit) for a file or a pipe."""
    # A table that is cut would lose data in a file.
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def wrapped(text: str) -> str:
    """Return a remark as indented lines."""
    columns = min(shutil.get_terminal_size().columns, 100)
    return textwrap.fill(text, columns, initial_indent="  - ", subsequent_indent="    ")


PICTURES = ("pdf", "svg", "png", "pgf")
"""Formats of plots, which are the suffixes of their files."""


def picture(path: Path | None, option: str) -> Path | None:
    """Check that a plot can be written, before the work; return its path. Raises UsageError."""
    if path is None:
        return None
    if path.suffix.removeprefix(".") not in PICTURES:
        endings = ", ".join(f".{each}" for each in PICTURES)
        raise UsageError(f"{option} {path}: give a file that ends in {endings}")
    from pqchain import results

    results.check_writable(path)
    return path


def format_of(path: Path) -> Any:
    """Return the format of a plot's file."""
    return path.suffix.removeprefix(".")


def own_schemes(texts: Iterable[str]) -> list[str]:
    """Register the schemes of --scheme; return their names.

    Called before each command, which finds the names as `arguments.own`, so that mistakes are
    reported at once.
    """
    if not texts:
        return []
    from pqchain import schemes

    names = [name for text in texts for name in schemes.register(text)]
    if twice := {name for name in names if names.count(name) > 1}:
        raise UsageError(f"--scheme gives {', '.join(sorted(twice))} twice; give each its own name")
    return names


def beside(names: Iterable[str], own: Iterable[str]) -> list[str]:
    """Return canonical names of requested schemes, then of user-defined ones, each once."""
    from pqchain import algorithms

    return list(dict.fromkeys([*(algorithms.get(name).name for name in names), *own]))


def watched() -> bool:
    """Return whether stderr is a terminal, so that progress bars are shown."""
    return sys.stderr.isatty()


def measured(
    arguments: argparse.Namespace, name: str, frame: pd.DataFrame, shown: Table | str
) -> int:
    """Show measurements; return the exit code.

    A failed row is a failure, and so is a frame without a successful row.
    """
    about = frame.attrs["provenance"]
    machine = f"Machine: {about['machine_id']}, preset {about['preset']}"
    plain = {"provenance": about, name: records(frame)}
    fine = (frame["status"] == "ok").any() and not (frame["status"] == "failed").any()
    return show(arguments, plain, shown, remarks=[machine], fine=bool(fine))


def add_command(subparsers: Any, name: str, summary: str) -> argparse.ArgumentParser:
    """Add a command or a subcommand, with its summary as description."""
    sentence = f"{summary[0].upper()}{summary[1:]}."
    added: argparse.ArgumentParser = subparsers.add_parser(
        name, help=summary, description=sentence, formatter_class=FORMATTER
    )
    return added


def describe(parser: argparse.ArgumentParser, module: ModuleType, said: Mapping[str, Any]) -> None:
    """Add the texts, options and subcommands of a command's TOML file to its parser.

    `module` has what the file names: functions to run, words in braces, and dataclasses whose
    fields are options.
    """
    parser.description = said.get("description", parser.description)
    parser.epilog = said.get("epilog", "").format_map(vars(module))
    if "commands" in said:
        actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
        for name, command in said["commands"].items():
            shown = command if "epilog" in command else command | _examples(parser, name)
            describe(add_command(actions, name, command["summary"]), module, shown)
        return
    parser.set_defaults(run=getattr(module, said.get("run", "run")))
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="write JSON to stdout, nothing else")
    forms.add_argument("--latex", action="store_true", help="write tables for LaTeX (booktabs)")
    forms.add_argument("--markdown", action="store_true", help="write tables in Markdown")
    _add_options(parser, module, said.get("options", {}))
    for title, options in said.get("groups", {}).items():
        _add_options(parser.add_argument_group(title), module, options)


def _examples(parser: argparse.ArgumentParser, name: str) -> dict[str, str]:
    """Return as an epilog the examples of a command that show one subcommand."""
    lines = (parser.epilog or "").splitlines()
    own = [line for line in lines if f"{line} ".startswith(f"  {parser.prog} {name} ")]
    return {"epilog": "\n".join(["", "examples:", *own])} if own else {}


def _add_options(
    place: argparse._ActionsContainer, module: ModuleType, options: Mapping[str, Mapping[str, Any]]
) -> None:
    """Add options: keywords of argparse, and `kind`, `field` and `exclusive`."""
    either: argparse._ActionsContainer | None = None
    for flags, said in options.items():
        keywords, target = dict(said), place
        # All exclusive options of a group exclude each other.
        if keywords.pop("exclusive", False):
            target = either = either or place.add_mutually_exclusive_group()
        if "field" in keywords:
            keywords = _mirrored(module, **keywords)
        kind = dict(_KINDS[keywords.pop("kind", "text")]) | keywords
        if "choices" in kind and "type" not in kind:
            kind["type"] = _folded(kind["choices"])
        target.add_argument(*flags.split(), **kind)


def _folded(choices: Iterable[str]) -> Callable[[str], str]:
    """Return a parser of choices in any case of letters."""
    return lambda text: values.folded(text, choices)


def work(text: str) -> str:
    """Parse the key of a work in any case of letters; raise UnknownPaper before anything loads."""
    from pqchain import installation
    from pqchain.errors import UnknownPaper

    # Folder names suffice here; reading the works would take longer.
    known = {path.parent.name for path in installation.data("papers").glob("*/paper.toml")}
    if text.casefold() not in known:
        raise UnknownPaper("paper", text, sorted(known), "`pqchain papers`.")
    return text.casefold()


def works(text: str) -> list[str]:
    """Parse keys of works separated by commas."""
    return list(map(work, names(text)))


def _mirrored(module: ModuleType, field: str, show_default: bool = True) -> dict[str, Any]:
    """Return the option for a field such as Scenario.blocks, with its meaning and bounds.

    Without `show_default` no default is shown: those of a network depend on its law.
    """
    owner, _, name = field.partition(".")
    each, meaning = checks.meanings(getattr(module, owner))[name]
    # argparse formats help texts with %.
    text = described(meaning, each.default if show_default else None).replace("%", "%%")
    # None marks an option that was not given, so that `changes` returns only given ones.
    option: dict[str, Any] = {"dest": field, "default": None, "help": text}
    if meaning.choices:
        return option | {"choices": meaning.choices, "type": _folded(meaning.choices)}
    if checks.value_type(each) is bool:
        return option | {"action": "store_true"}
    metavars = (short for end, short in _METAVARS.items() if name.endswith(end))
    return option | {"type": checks.value_type(each), "metavar": next(metavars, "N")}


def described(meaning: checks.Meaning, default: object) -> str:
    """Return a field's meaning, bounds, and default unless that is None or a flag's."""
    number = f"{default:g}" if isinstance(default, float) else str(default)
    shown = "" if default is None or isinstance(default, (bool, tuple)) else number
    by_default = ", ".join(part for part in (shown, meaning.by_default) if part)
    parts = (meaning.help, meaning.bounds, f"default: {by_default}" if by_default else "")
    return "; ".join(part for part in parts if part)


def changes(arguments: argparse.Namespace, cls: type) -> dict[str, Any]:
    """Return the fields of a dataclass whose options were given."""
    prefix = f"{cls.__name__}."
    return {
        name.removeprefix(prefix): value
        for name, value in vars(arguments).items()
        if name.startswith(prefix) and value is not None
    }


def names(text: str) -> list[str]:
    """Parse names separated by commas; the option may be repeated."""
    given = [name.strip() for name in text.split(",") if name.strip()]
    if not given:
        raise UsageError(f"{text!r} holds no name; leave it out for all")
    return given


def table(path: str | Path) -> Path:
    """Check that a table can be written, before the work; return its path. Raises UsageError."""
    path = Path(path)
    if path.suffix != ".csv":
        raise UsageError(f"--output {path} should end in .csv; its provenance goes to a .json")
    from pqchain import results

    results.check_table(path)
    return path


_KINDS: Mapping[str, Mapping[str, Any]] = {
    "text": {},
    "flag": {"action": "store_true"},
    "int": {"type": int},
    "float": {"type": float},
    "path": {"type": Path},
    "names": {"type": names, "action": "extend"},
    "preset": {"choices": tuple(presets.PRESETS)},
    "work": {"type": work},
    "works": {"type": works, "action": "extend"},
    "table": {"type": table, "metavar": "FILE.csv"},
    "scheme": {
        "action": "append",
        "default": [],
        "metavar": "SCHEME",
        "help": "a scheme of your own: numbers such as "
        "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms,source=..., a library.so (see "
        "`pqchain native`), or file.py:Class; may be repeated",
    },
}
"""Kinds of options. Without a value or a default an option is None, a flag False."""


def save(
    frame: pd.DataFrame, output: Path | None, *, provenance: Mapping[str, Any] | None = None
) -> None:
    """Save a table if `output` is given, and report where."""
    if output is not None:
        from pqchain import results

        results.save(frame, output, provenance=provenance)
        talk(f"Saved: {output}")
