"""What the commands share: output, exit codes, and options, also those that mirror a dataclass.

Data goes to stdout, talk to stderr.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqchain import checks
from pqchain.bench import presets
from pqchain.errors import UsageError
from pqchain.render import numbers

if TYPE_CHECKING:
    import pandas as pd

    from pqchain.render.table import Table

FINE, CHECK_FAILED, WRONG_USE = 0, 1, 2
"""Exit codes of a command."""

MOST_VALUES = 100_000
"""More of something than that are a slip of the keyboard rather than a question."""

_ASCII = str.maketrans(
    {"µ": "u", numbers.TIMES: "x", numbers.NARROW_SPACE: " ", numbers.MISSING: "-", "…": "~"}
    | {"─": "-"}
)
"""What a terminal without Unicode is shown instead."""

_METAVARS = {"bits_per_second": "BITS", "_per_second": "RATE", "_seconds": "S", "_bytes": "BYTES"}
"""What an option takes, by how its field ends; other numbers are N."""


FORMATTER = partial(argparse.RawDescriptionHelpFormatter, max_help_position=16)
"""Keeps line breaks of examples and gives every command one line."""


def write(text: str) -> None:
    """Write data to stdout, in the characters that it can show."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    sys.stdout.write(f"{text}\n")


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
    """Say something to the person, not to the pipe."""
    sys.stderr.write(f"{text}\n")


def show(arguments: argparse.Namespace, plain: Any, shown: Table | str, *remarks: str) -> None:
    """Write plain data as JSON, if that is wanted, else what is shown, and say the remarks."""
    if arguments.json:
        write_json(plain)
        return
    write(shown if isinstance(shown, str) else shown.text(width()))
    for remark in remarks:
        talk(remark)


def width() -> int | None:
    """Return the width to cut tables to; a file or a pipe gets whole lines."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def wrapped(text: str) -> str:
    """Break a remark into indented lines."""
    columns = min(shutil.get_terminal_size().columns, 100)
    return textwrap.fill(text, columns, initial_indent="  - ", subsequent_indent="    ")


def watched() -> bool:
    """Return whether a person looks on, for whom a bar is drawn."""
    return sys.stderr.isatty()


def measured(
    arguments: argparse.Namespace, name: str, frame: pd.DataFrame, shown: Table | str
) -> int:
    """Show measurements; the exit code: a failed row is a failure, and so is none that ran."""
    about = frame.attrs["provenance"]
    machine = f"Machine: {about['machine_id']}, preset {about['preset']}"
    show(arguments, {"provenance": about, name: records(frame)}, shown, machine)
    fine = (frame["status"] == "ok").any() and not (frame["status"] == "failed").any()
    return FINE if fine else CHECK_FAILED


def add_command(subparsers: Any, name: str, summary: str) -> argparse.ArgumentParser:
    """Add a command, or a command of a command, with its summary as description."""
    sentence = f"{summary[0].upper()}{summary[1:]}."
    added: argparse.ArgumentParser = subparsers.add_parser(
        name, help=summary, description=sentence, formatter_class=FORMATTER
    )
    return added


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json, which every command has."""
    parser.add_argument("--json", action="store_true", help="write JSON to stdout, nothing else")


def add_preset(parser: argparse._ActionsContainer, meaning: str) -> None:
    """Add --preset, with what the presets mean."""
    parser.add_argument("--preset", choices=tuple(presets.PRESETS), help=meaning)


def add_measuring_preset(parser: argparse.ArgumentParser, quick: str) -> None:
    """Add --preset, with how long the quick one takes; without it the environment decides."""
    default = "default: $PQCHAIN_PRESET, else quick"
    add_preset(parser, f"quick: {quick}; paper: numbers to quote ({default})")


def add_output(parser: argparse._ActionsContainer) -> None:
    """Add --output for a table."""
    add_options(parser, "FILE.csv", Path, output="save, with its provenance in FILE.json")


def add_flags(parser: argparse._ActionsContainer, **meanings: str) -> None:
    """Add options without a value: `all="what it means"`."""
    for name, meaning in meanings.items():
        parser.add_argument(f"--{name}", action="store_true", help=meaning)


def add_options(
    parser: argparse._ActionsContainer, metavar: str, kind: type = str, **meanings: str
) -> None:
    """Add options with a value of that kind, None if they are not given."""
    for name, meaning in meanings.items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=kind, metavar=metavar, help=meaning)


def add_names(parser: argparse._ActionsContainer, metavar: str, **meanings: str) -> None:
    """Add options that may be repeated and hold commas."""
    for name, meaning in meanings.items():
        option = f"--{name}"
        parser.add_argument(option, action="extend", type=names, metavar=metavar, help=meaning)


def names(text: str) -> list[str]:
    """Read names between commas, of an option that may be repeated."""
    given = [name.strip() for name in text.split(",") if name.strip()]
    if not given:
        raise argparse.ArgumentTypeError(f"{text!r} holds no name; leave it out for all")
    return given


def whole_numbers(text: str, option: str, *, least: int = 0, most: int = 2**63) -> list[int]:
    """Return the whole numbers of a list such as "1..5,8", each once. Raises UsageError."""
    values: dict[int, None] = {}
    for part in map(str.strip, text.split(",")):
        low, dots, high = part.partition("..")
        try:
            first, last = int(low), int(high if dots else low)
        except ValueError:
            raise UsageError(
                f"{option} {text}: {part!r} is neither a whole number nor a range; "
                "expected such as 1..5 or 1,2,8"
            ) from None
        if last < first:
            raise UsageError(f"{option} {text}: {part} runs backwards; give {last}..{first}")
        for value in (first, last):
            if not least <= value <= most:
                raise UsageError(f"{option} has {value}; expected {least} to {most}")
        if last - first >= MOST_VALUES:
            raise UsageError(f"{option} {text}: more than {MOST_VALUES} values; give fewer")
        values |= dict.fromkeys(range(first, last + 1))
    return list(values)


def assigned(cls: type, entries: Iterable[str], option: str) -> dict[str, Any]:
    """Return the fields of a dataclass that an option FIELD=VALUE gave. Raises UsageError."""
    declared = checks.meanings(cls)
    values: dict[str, Any] = {}
    for entry in entries:
        name, equals, text = entry.partition("=")
        if not equals or name not in declared:
            raise UsageError(f"{option} {entry}: expected FIELD=VALUE with one of {list(declared)}")
        if name in values:
            raise UsageError(f"{option} {name} was given twice; give all its ranks with commas")
        kind = checks.kind(declared[name][0])
        if kind is tuple:
            values[name] = tuple(whole_numbers(text, f"{option} {name}"))
            continue
        try:
            values[name] = kind(text)
        except ValueError:
            expected = "a whole number" if kind is int else "a number"
            raise UsageError(f"{option} {entry}: expected {expected} after =") from None
    return values


def check_output(output: Path | None, *beside: Path) -> None:
    """Refuse tables that cannot be written, before anything is measured. Raises UsageError."""
    if output is None:
        return
    if output.suffix != ".csv":
        raise UsageError(f"--output {output} should end in .csv; its provenance goes to a .json")
    from pqchain import results

    for path in (output, *beside):
        results.check_writable(path)
        results.check_writable(path.with_suffix(".json"))


def save(
    frame: pd.DataFrame, output: Path | None, *, provenance: Mapping[str, Any] | None = None
) -> None:
    """Save a table, if that is wanted, and say where."""
    if output is not None:
        from pqchain import results

        results.save(frame, output, provenance=provenance)
        talk(f"Saved: {output}")


def add_fields(
    parser: argparse._ActionsContainer,
    cls: type,
    names: Iterable[str] | Mapping[str, str],
    *,
    defaults: bool = True,
) -> None:
    """Add options that mirror fields of a dataclass, with their meaning, bounds and defaults.

    `names` are those of the fields, or map them to options that are called otherwise. Without
    `defaults` none are shown: those of a network depend on its law.
    """
    declared = checks.meanings(cls)
    for name in names:
        each, meaning = declared[name]
        option = names[name] if isinstance(names, Mapping) else f"--{name.replace('_', '-')}"
        more: dict[str, Any] = {"action": "store_true"}
        if meaning.choices:
            more = {"choices": meaning.choices}
        elif checks.kind(each) is not bool:
            metavars = (short for end, short in _METAVARS.items() if name.endswith(end))
            more = {"type": checks.kind(each), "metavar": next(metavars, "N")}
        text = described(meaning, each.default if defaults else None).replace("%", "%%")
        parser.add_argument(option, dest=name, default=None, help=text, **more)


def described(meaning: checks.Meaning, default: object) -> str:
    """Say what a field means, its bounds, and its default unless that is None or a flag's."""
    number = f"{default:g}" if isinstance(default, float) else str(default)
    shown = "" if default is None or isinstance(default, (bool, tuple)) else number
    by_default = ", ".join(part for part in (shown, meaning.by_default) if part)
    parts = (meaning.help, meaning.bounds, f"default: {by_default}" if by_default else "")
    return "; ".join(part for part in parts if part)


def changes(arguments: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return the fields of `add_fields` that were given."""
    values = {name: getattr(arguments, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}
