"""What the commands share: output, exit codes, and options, which TOML files describe.

Data goes to stdout, talk to stderr.
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
"""What a terminal without Unicode is shown instead."""

_METAVARS = {"bits_per_second": "BITS", "_per_second": "RATE", "_seconds": "S", "_bytes": "BYTES"}
"""What an option takes, by how its field ends; other numbers are N."""


FORMATTER = partial(argparse.RawDescriptionHelpFormatter, max_help_position=16)
"""Keeps line breaks of examples and gives every command one line."""


class Parser(argparse.ArgumentParser):
    """Tells when help cannot be written; argparse passes over that in silence."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if message and file is sys.stdout:
            file.write(_shown(message, file))
        elif message:
            talk(message.rstrip("\n"))


def write(text: str) -> None:
    """Write data to stdout, in the characters that it can show."""
    sys.stdout.write(f"{_shown(text, sys.stdout)}\n")


def _shown(text: str, stream: TextIO) -> str:
    """Return a text in the characters that a stream can show."""
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    return text


def write_json(value: Any) -> None:
    """Write the only thing that a reader of JSON may see."""
    escaped = not (sys.stdout.encoding or "utf-8").casefold().startswith("utf")
    write(json.dumps(value, indent=2, ensure_ascii=escaped, allow_nan=False, default=_plain))


def _plain(value: Any) -> Any:
    """Turn numbers of numpy and paths into what JSON knows."""
    return value.item() if hasattr(value, "item") else str(value)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as plain JSON: what is missing is null."""
    plain = frame.astype(object).where(frame.notna(), None)
    return [{str(key): value for key, value in row.items()} for row in plain.to_dict("records")]


def talk(text: str) -> None:
    """Say something to the person, not to the pipe; the exit code says it where nobody can."""
    try:
        sys.stderr.write(f"{_shown(text, sys.stderr)}\n")
        sys.stderr.flush()
    except OSError:
        abandon(sys.stderr)


def abandon(stream: TextIO) -> None:
    """Write no more to a stream that takes nothing; Python would complain about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def show(
    arguments: argparse.Namespace,
    plain: Any,
    *shown: Table | str,
    remarks: Iterable[str] = (),
    fine: bool = True,
) -> int:
    """Write plain data as JSON, if that is wanted, else what is shown, and say the remarks.

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
    """Return whether tables are wanted in another form than a terminal's."""
    return bool(arguments.latex or arguments.markdown)


def _in_form(arguments: argparse.Namespace, shown: Iterable[Table | str]) -> Iterator[str]:
    """Yield what is shown, in the form that is wanted; of texts LaTeX has comments."""
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
    """Return the width to cut tables to; a file or a pipe gets whole lines."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def wrapped(text: str) -> str:
    """Break a remark into indented lines."""
    columns = min(shutil.get_terminal_size().columns, 100)
    return textwrap.fill(text, columns, initial_indent="  - ", subsequent_indent="    ")


PICTURES = ("pdf", "svg", "png", "pgf")
"""Formats of plots, by the endings of their files."""


def picture(path: Path | None, option: str) -> Path | None:
    """Return where a plot goes, refused before the work if it cannot. Raises UsageError."""
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
    """Add the schemes of --scheme to the registry; return their names.

    It comes before each command, which finds them as `arguments.own`: a slip is told at once.
    """
    if not texts:
        return []
    from pqchain import schemes

    names = [name for text in texts for name in schemes.register(text)]
    if twice := {name for name in names if names.count(name) > 1}:
        raise UsageError(f"--scheme gives {', '.join(sorted(twice))} twice; give each its own name")
    return names


def beside(names: Iterable[str], own: Iterable[str]) -> list[str]:
    """Return the canonical names of schemes that were asked for, and of one's own, each once."""
    from pqchain import algorithms

    return list(dict.fromkeys([*(algorithms.get(name).name for name in names), *own]))


def watched() -> bool:
    """Return whether a person looks on, for whom a bar is drawn."""
    return sys.stderr.isatty()


def measured(
    arguments: argparse.Namespace, name: str, frame: pd.DataFrame, shown: Table | str
) -> int:
    """Show measurements; the exit code: a failed row is a failure, and so is none that ran."""
    about = frame.attrs["provenance"]
    machine = f"Machine: {about['machine_id']}, preset {about['preset']}"
    plain = {"provenance": about, name: records(frame)}
    fine = (frame["status"] == "ok").any() and not (frame["status"] == "failed").any()
    return show(arguments, plain, shown, remarks=[machine], fine=bool(fine))


def add_command(subparsers: Any, name: str, summary: str) -> argparse.ArgumentParser:
    """Add a command, or a command of a command, with its summary as description."""
    sentence = f"{summary[0].upper()}{summary[1:]}."
    added: argparse.ArgumentParser = subparsers.add_parser(
        name, help=summary, description=sentence, formatter_class=FORMATTER
    )
    return added


def describe(parser: argparse.ArgumentParser, module: ModuleType, said: Mapping[str, Any]) -> None:
    """Give a command the texts, options and commands that its TOML file says.

    The module holds what the file names: what runs, words in braces, and dataclasses whose fields
    are options.
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
    """Return as an epilog those examples of a command that show one of its commands."""
    lines = (parser.epilog or "").splitlines()
    own = [line for line in lines if f"{line} ".startswith(f"  {parser.prog} {name} ")]
    return {"epilog": "\n".join(["", "examples:", *own])} if own else {}


def _add_options(
    place: argparse._ActionsContainer, module: ModuleType, options: Mapping[str, Mapping[str, Any]]
) -> None:
    """Add options: keywords of argparse, but for `kind`, `field`, and `exclusive` of each other."""
    either: argparse._ActionsContainer | None = None
    for flags, said in options.items():
        keywords, target = dict(said), place
        if keywords.pop("exclusive", False):
            target = either = either or place.add_mutually_exclusive_group()
        if "field" in keywords:
            keywords = _mirrored(module, **keywords)
        kind = dict(_KINDS[keywords.pop("kind", "text")]) | keywords
        if "choices" in kind and "type" not in kind:
            kind["type"] = _folded(kind["choices"])
        target.add_argument(*flags.split(), **kind)


def _folded(choices: Iterable[str]) -> Callable[[str], str]:
    """Return what reads one of the choices in any case of letters."""
    return lambda text: values.folded(text, choices)


def work(text: str) -> str:
    """Read the key of a work in any case of letters, and refuse another before anything loads."""
    from pqchain import installation
    from pqchain.errors import UnknownPaper

    known = {path.parent.name for path in installation.data("papers").glob("*/paper.toml")}
    if text.casefold() not in known:
        raise UnknownPaper("paper", text, sorted(known), "`pqchain papers`.")
    return text.casefold()


def works(text: str) -> list[str]:
    """Read keys of works between commas."""
    return list(map(work, names(text)))


def _mirrored(module: ModuleType, field: str, show_default: bool = True) -> dict[str, Any]:
    """Describe an option that mirrors a field, such as Scenario.blocks, with meaning and bounds.

    Without `show_default` none is shown: those of a network depend on its law.
    """
    owner, _, name = field.partition(".")
    each, meaning = checks.meanings(getattr(module, owner))[name]
    text = described(meaning, each.default if show_default else None).replace("%", "%%")
    option: dict[str, Any] = {"dest": field, "default": None, "help": text}
    if meaning.choices:
        return option | {"choices": meaning.choices, "type": _folded(meaning.choices)}
    if checks.kind(each) is bool:
        return option | {"action": "store_true"}
    metavars = (short for end, short in _METAVARS.items() if name.endswith(end))
    return option | {"type": checks.kind(each), "metavar": next(metavars, "N")}


def described(meaning: checks.Meaning, default: object) -> str:
    """Say what a field means, its bounds, and its default unless that is None or a flag's."""
    number = f"{default:g}" if isinstance(default, float) else str(default)
    shown = "" if default is None or isinstance(default, (bool, tuple)) else number
    by_default = ", ".join(part for part in (shown, meaning.by_default) if part)
    parts = (meaning.help, meaning.bounds, f"default: {by_default}" if by_default else "")
    return "; ".join(part for part in parts if part)


def changes(arguments: argparse.Namespace, cls: type) -> dict[str, Any]:
    """Return the fields of a dataclass that were given by options that mirror them."""
    prefix = f"{cls.__name__}."
    return {
        name.removeprefix(prefix): value
        for name, value in vars(arguments).items()
        if name.startswith(prefix) and value is not None
    }


def names(text: str) -> list[str]:
    """Read names between commas, of an option that may be repeated."""
    given = [name.strip() for name in text.split(",") if name.strip()]
    if not given:
        raise UsageError(f"{text!r} holds no name; leave it out for all")
    return given


def table(path: str | Path) -> Path:
    """Read where a table goes, and refuse it before the work if it cannot. Raises UsageError."""
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
"""What an option takes; but for flags None, if it is not given and has no default."""


def save(
    frame: pd.DataFrame, output: Path | None, *, provenance: Mapping[str, Any] | None = None
) -> None:
    """Save a table, if that is wanted, and say where."""
    if output is not None:
        from pqchain import results

        results.save(frame, output, provenance=provenance)
        talk(f"Saved: {output}")
