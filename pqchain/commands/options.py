"""Options of the commands, which TOML files define: parsers, kinds of options, help, completion."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pqchain import checks
from pqchain.bench import presets
from pqchain.commands import console, values
from pqchain.errors import DataError, UsageError
from pqchain.render import terminal

if TYPE_CHECKING:
    import pandas as pd

_METAVARS = {"bits_per_second": "BITS", "_per_second": "RATE", "_seconds": "S", "_bytes": "BYTES"}
"""Placeholder of an option's value by the suffix of its field; other numbers are N."""


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Help in the width of the terminal, broken between words; examples stay commands."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=16)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return _wrap(" ".join(text.split()), width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        prose: list[str] = []
        # Lines without indent are prose, whose breaks in the file mean nothing.
        for line in [*text.strip("\n").splitlines(), ""]:
            if line and not line.startswith(" ") and not line.endswith(":"):
                prose.append(line)
                continue
            lines += _wrap(" ".join(prose), width) if prose else []
            prose = []
            is_example = line.startswith("  ") and line.lstrip().startswith(("pqchain", "make"))
            lines += _example(line, width) if is_example else [terminal.wrapped(line, width)]
        return "\n".join(lines).rstrip("\n")


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _example(line: str, width: int) -> list[str]:
    """Return an example in lines that fit, which a shell joins; its explanation comes below."""
    if len(line) <= width:
        return [line]
    command, *abouts = re.split(r" {3,}", line.strip(), maxsplit=1)
    # Breaks are at spaces outside quotation marks.
    words = re.findall(r"(?:[^\s\"]|\"[^\"]*\")+", command)
    lines = ["  "]
    for word in words:
        if lines[-1].strip() and len(lines[-1]) + len(word) + 3 > width:
            lines[-1] += " \\"
            lines.append("     ")
        lines[-1] += f"{' ' if lines[-1].strip() else ''}{word}"
    return [*lines, *(f"      ({about})" for about in abouts)]


class HelpAll(argparse.Action):
    """Option --help-all: print the help with the options that --help leaves out."""

    def __call__(self, parser: argparse.ArgumentParser, *given: Any, **named: Any) -> None:
        """Print the whole help and exit."""
        reveal(parser)
        parser.print_help()
        parser.exit()


class Parser(argparse.ArgumentParser):
    """Argument parser that raises an error if help cannot be written, which argparse ignores."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.rare_help: list[tuple[argparse.Action, str]] = []
        """Options that --help leaves out, with their help."""
        self.more = ""
        """Text of --help-all in addition to the epilog."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if message and file is sys.stdout:
            file.write(console.encodable(message, file))
        elif message:
            console.print_stderr(message.rstrip("\n"))


PLOT_FORMATS = ("pdf", "svg", "png", "pgf")


def plot_path(text: str) -> Path:
    """Check early that a plot can be written to a path; return the path. Raises UsageError."""
    path = Path(text)
    if path.suffix.removeprefix(".") not in PLOT_FORMATS:
        suffixes = ", ".join(f".{name}" for name in PLOT_FORMATS)
        raise UsageError(f"the file name of a plot must end in one of {suffixes}; got {path}")
    from pqchain.results.files import check_writable

    check_writable(path, only_ours=True)
    return path


def add_command(subparsers: Any, name: str, summary: str) -> Parser:
    """Add a command or a subcommand; its summary becomes its description."""
    sentence = f"{summary[0].upper()}{summary[1:]}."
    added: Parser = subparsers.add_parser(
        name, help=summary, description=sentence, formatter_class=Formatter
    )
    return added


def configure(parser: Parser, module: ModuleType, content: Mapping[str, Any]) -> None:
    """Add the texts, options and subcommands of a command's TOML file to its parser.

    `module` defines what the file refers to: functions to run, texts for names in braces, and
    dataclasses whose fields are options.
    """
    parser.description = content.get("description", parser.description)
    parser.epilog = content.get("epilog", "").format_map(vars(module))
    if "commands" in content:
        subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
        for name, command in content["commands"].items():
            texts = {"epilog": _examples(parser, name)} | command
            configure(add_command(subparsers, name, command["summary"]), module, texts)
        return
    parser.set_defaults(run=getattr(module, content.get("run", "run")))
    parser.more = content.get("more", "").format_map(vars(module))
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument("--json", action="store_true", help="write JSON to stdout, nothing else")
    # A command that shows no table has no option to show it otherwise.
    parser.set_defaults(latex=False, markdown=False)
    if content.get("tables", True):
        markup = {"latex": "tables for LaTeX (booktabs)", "markdown": "tables in Markdown"}
        for name, what in markup.items():
            formats.add_argument(f"--{name}", action="store_true", help=f"write {what}")
    _add_options(parser, module, content.get("options", {}), parser.rare_help)
    for title, options in content.get("groups", {}).items():
        _add_options(parser.add_argument_group(title), module, options, parser.rare_help)
    if parser.rare_help or parser.more:
        parser.add_argument(
            "--help-all", action=HelpAll, nargs=0, help="show the rarer options, too"
        )


def reveal(parser: argparse.ArgumentParser) -> None:
    """Add the rarer options of a command to its help."""
    if isinstance(parser, Parser):
        for action, text in parser.rare_help:
            action.help = text
        parser.epilog = f"{parser.more.rstrip()}\n\n{(parser.epilog or '').lstrip()}".lstrip()


def _examples(parser: argparse.ArgumentParser, name: str) -> str:
    prefix = f"  {parser.prog} {name} "
    examples = [row for row in (parser.epilog or "").splitlines() if f"{row} ".startswith(prefix)]
    return "\n".join(["", "examples:", *examples]) if examples else ""


def _add_options(
    group: argparse._ActionsContainer,
    module: ModuleType,
    options: Mapping[str, Mapping[str, Any]],
    rare_help: list[tuple[argparse.Action, str]],
) -> None:
    exclusive: argparse._ActionsContainer | None = None
    for flags, settings in options.items():
        keywords, target = dict(settings), group
        # All exclusive options of a group exclude each other.
        if keywords.pop("exclusive", False):
            target = exclusive = exclusive or group.add_mutually_exclusive_group()
        is_rare = keywords.pop("rare", False)
        if "field" in keywords:
            keywords = _field_option(module, **keywords)
        keywords = {**_KINDS[keywords.pop("kind", "text")], **keywords}
        if "choices" in keywords and "type" not in keywords:
            keywords["type"] = partial(values.canonical_case, known=keywords["choices"])
        complete = keywords.pop("complete", "")
        action = target.add_argument(*flags.split(), **keywords)
        if complete:
            # The attribute that argcomplete reads.
            action.completer = partial(_matches, candidates[complete])  # type: ignore[attr-defined]
        if is_rare:
            rare_help.append((action, str(action.help)))
            action.help = argparse.SUPPRESS


def _algorithms() -> Iterable[str]:
    from pqchain import algorithms

    return algorithms.names("signature")


def _studies() -> Iterable[str]:
    from pqchain.study import ready_names

    return ready_names()


def _plots() -> Iterable[str]:
    from pqchain.plots import KINDS

    return KINDS


def _works() -> Iterable[str]:
    from pqchain import installation

    return sorted(path.parent.name for path in installation.data("papers").glob("*/paper.toml"))


candidates: Mapping[str, Callable[[], Iterable[str]]] = {
    "algorithms": _algorithms, "studies": _studies, "plots": _plots, "works": _works,
}  # fmt: skip
"""What a shell completes for an option with this `complete`."""


def _matches(names: Callable[[], Iterable[str]], prefix: str, **given: Any) -> list[str]:
    """Return the names that complete the last one of a list separated by commas."""
    before, comma, last = prefix.rpartition(",")
    folded = last.casefold()
    return [f"{before}{comma}{name}" for name in names() if name.casefold().startswith(folded)]


def work_key(text: str) -> str:
    """Parse the key of a work, ignoring case; raise UnknownPaper before slow imports."""
    from pqchain.errors import UnknownPaper

    # Folder names suffice here; reading the works would take longer.
    known = _works()
    if text.casefold() not in known:
        raise UnknownPaper("paper", text, known, "`pqchain papers`.")
    return text.casefold()


def work_keys(text: str) -> list[str]:
    """Parse keys of works separated by commas."""
    return list(map(work_key, name_list(text)))


def _field_option(module: ModuleType, field: str, show_default: bool = True) -> dict[str, Any]:
    # Without `show_default` no default is shown: those of a network depend on its kind.
    class_name, _, name = field.partition(".")
    row = checks.declarations(getattr(module, class_name))[name]
    # argparse formats help texts with %.
    text = field_help(row, show_default=show_default).replace("%", "%%")
    # None marks an option that was not given, so that `changed_fields` returns only given ones.
    option: dict[str, Any] = {"dest": field, "default": None, "help": text}
    if row.choices:
        return option | {"choices": row.choices}
    if row.type is bool:
        return option | {"action": "store_true"}
    metavars = (short for suffix, short in _METAVARS.items() if name.endswith(suffix))
    return option | {"type": row.type, "metavar": next(metavars, "N")}


def field_help(row: checks.Declaration, *, show_default: bool = True) -> str:
    """Return a field's meaning, bounds and default; no default for None and for flags."""
    default = row.default
    value = f"{default:g}" if isinstance(default, float) else str(default)
    is_shown = show_default and default is not None and not isinstance(default, (bool, tuple))
    parts = (row.help, row.bounds, f"default: {value}" if is_shown else "")
    return "; ".join(part for part in parts if part)


def changed_fields(arguments: argparse.Namespace, cls: type) -> dict[str, Any]:
    """Return the values of a dataclass's fields that options set."""
    prefix = f"{cls.__name__}."
    return {
        name.removeprefix(prefix): value
        for name, value in vars(arguments).items()
        if name.startswith(prefix) and value is not None
    }


def name_list(text: str) -> list[str]:
    """Parse names separated by commas. Raises UsageError if there is none."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise UsageError(f"expected names separated by commas; got {text!r}")
    return names


def existing_file(text: str | Path) -> Path:
    """Check that a file to read exists; return its path. Raises UsageError."""
    path = Path(text)
    if path.is_dir():
        raise UsageError(f"{path} must be a file; got a folder. Name a table in it.")
    if not path.is_file():
        raise UsageError(f"{path} does not exist; name a table saved by pqchain")
    return path


def load_table(path: Path | None) -> pd.DataFrame | None:
    """Return the table that an option names, or None. Raises UsageError if it is not readable."""
    from pqchain import results

    try:
        return None if path is None else results.load(path)
    except DataError as error:
        raise UsageError(str(error)) from error


def table_path(path: str | Path) -> Path:
    """Check early that a table can be written to a path; return the path. Raises UsageError."""
    path = Path(path)
    if path.suffix != ".csv":
        raise UsageError(f"the file name of a table must end in .csv; got {path}")
    from pqchain import results

    results.check_table(path)
    return path


_KINDS: Mapping[str, Mapping[str, Any]] = {
    "text": {},
    "flag": {"action": "store_true"},
    "int": {"type": int, "metavar": "N"},
    "float": {"type": float},
    "path": {"type": Path, "metavar": "FILE"},
    "measurements": {
        "type": existing_file,
        "metavar": "FILE.csv",
        "help": "file of `pqchain bench --output`, instead of measuring now",
    },
    "names": {"type": name_list, "action": "extend", "metavar": "NAME,..."},
    "preset": {"choices": tuple(presets.PRESETS)},
    "work": {"type": work_key, "complete": "works"},
    "works": {"type": work_keys, "complete": "works", "action": "extend", "metavar": "KEY,..."},
    "plot": {"type": plot_path, "metavar": "FILE"},
    "table": {
        "type": table_path,
        "metavar": "FILE.csv",
        "help": "save the table here, and its provenance in FILE.json",
    },
    "scheme": {
        "action": "append",
        "default": [],
        "metavar": "SCHEME",
        "help": "add your own signature scheme: numbers such as "
        "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms (and source=TEXT), a library.so "
        "(see `pqchain native`), or file.py:Class; may be repeated",
    },
}
"""Kinds of options. Without a value or a default an option is None, a flag False."""
