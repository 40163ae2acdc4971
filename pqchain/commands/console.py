"""Code shared by the commands: output, exit codes, and options defined in TOML files.

Data goes to stdout, messages to stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

SUCCESS, CHECK_FAILED, USAGE_ERROR = 0, 1, 2  # exit codes of a command

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
    """Argument parser that raises an error if help cannot be written, which argparse ignores."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if message and file is sys.stdout:
            file.write(_encodable(message, file))
        elif message:
            print_stderr(message.rstrip("\n"))


def _encodable(text: str, stream: TextIO) -> str:
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    return text


def print_stdout(text: str) -> None:
    """Write data to stdout; replace characters that its encoding lacks."""
    sys.stdout.write(f"{_encodable(text, sys.stdout)}\n")


def print_json(value: Any) -> None:
    """Write a value as JSON to stdout."""
    # Escapes preserve all characters where stdout is not Unicode.
    escaped = not (sys.stdout.encoding or "utf-8").casefold().startswith("utf")
    text = json.dumps(value, indent=2, ensure_ascii=escaped, allow_nan=False, default=_json_type)
    print_stdout(text)


def _json_type(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as JSON types; missing values become None (null)."""
    # Numeric columns cannot contain None.
    plain = frame.astype(object).where(frame.notna(), None)
    return [{str(key): value for key, value in row.items()} for row in plain.to_dict("records")]


def print_stderr(text: str) -> None:
    """Write a message to stderr; if stderr is broken, drop the message."""
    try:
        sys.stderr.write(f"{_encodable(text, sys.stderr)}\n")
        sys.stderr.flush()
    except OSError:
        redirect_to_devnull(sys.stderr)


def redirect_to_devnull(stream: TextIO) -> None:
    """Redirect a broken stream to /dev/null."""
    # Python flushes the stream at exit, and would report the error again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def is_interactive() -> bool:
    """Return whether stderr is a terminal, so that progress bars are shown."""
    return sys.stderr.isatty()


def show(
    arguments: argparse.Namespace,
    data: Any,
    *outputs: Table | str,
    remarks: Iterable[str] = (),
    ok: bool = True,
) -> int:
    """Show data as JSON, or tables and texts with remarks on stderr; return the exit code.

    Schemes with a known attack that a table names are remarked upon.
    """
    if arguments.json:
        print_json(data)
    else:
        text = "\n\n".join(_formatted(arguments, outputs))
        print_stdout(text)
        cautions = (
            line for table in outputs if not isinstance(table, str) for line in table.cautions
        )
        for remark in dict.fromkeys([*remarks, *cautions]):
            # A study says it first, and LaTeX in a comment.
            if remark not in text:
                print_stderr(remark)
    return SUCCESS if ok else CHECK_FAILED


def show_measurements(
    arguments: argparse.Namespace, name: str, frame: pd.DataFrame, output: Table | str
) -> int:
    """Show measurements; return the exit code, 1 if a row failed or none succeeded."""
    provenance = frame.attrs["provenance"]
    machine = f"Machine: {provenance['machine_id']}, preset {provenance['preset']}"
    if "min_seconds" in frame.columns:
        from pqchain.bench import variation

        machine = f"Machine: {provenance['machine_id']}, {variation.quality(frame)}"
    data = {"provenance": provenance, name: records(frame)}
    return show(arguments, data, output, remarks=[machine], ok=all_ran(frame))


def all_ran(frame: pd.DataFrame) -> bool:
    """Return whether at least one row of a frame succeeded and none failed."""
    return bool((frame["status"] == "ok").any() and not (frame["status"] == "failed").any())


def wants_table_markup(arguments: argparse.Namespace) -> bool:
    """Return whether tables are requested as LaTeX or Markdown."""
    return bool(arguments.latex or arguments.markdown)


def _formatted(arguments: argparse.Namespace, outputs: Sequence[Table | str]) -> Iterator[str]:
    if arguments.latex and all(isinstance(output, str) for output in outputs):
        raise UsageError("--latex is for tables, and this command shows none; leave it out")
    # A table in a file or a pipe is not cut, because it would lose data.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for output in outputs:
        if not isinstance(output, str):
            in_markup = output.latex if arguments.latex else output.markdown
            yield in_markup() if wants_table_markup(arguments) else output.text(width)
        elif arguments.latex:
            yield "\n".join(f"% {latex.escaped(line)}" for line in output.splitlines())
        else:
            yield output


PLOT_FORMATS = ("pdf", "svg", "png", "pgf")


def plot_path(text: str) -> Path:
    """Check early that a plot can be written to a path; return the path. Raises UsageError."""
    path = Path(text)
    if path.suffix.removeprefix(".") not in PLOT_FORMATS:
        suffixes = ", ".join(f".{name}" for name in PLOT_FORMATS)
        raise UsageError(f"the file name of a plot must end in one of {suffixes}; got {path}")
    from pqchain import results

    results.check_writable(path)
    return path


def save_plot(axes: Any, path: Path) -> int:
    """Save a plot in the format of the file's suffix; return the size of the file in bytes."""
    from pqchain import plots, results

    file_format: Any = path.suffix.removeprefix(".")
    content = plots.figure_bytes(axes, file_format)
    results.write_atomically(path, content)
    return len(content)


def register_schemes(definitions: Iterable[str]) -> list[str]:
    """Register the schemes that --scheme defines; return their names.

    Called before each command, which finds the names as `arguments.user_schemes`, so that mistakes
    are reported at once.
    """
    if not definitions:
        return []
    from pqchain import schemes

    names = [name for definition in definitions for name in schemes.register(definition)]
    if duplicates := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"--scheme defines {', '.join(duplicates)} twice; use different names")
    return names


def algorithm_names(arguments: argparse.Namespace, default: Sequence[str] = ()) -> list[str]:
    """Return canonical names from --algorithm and --scheme, without duplicates."""
    from pqchain import algorithms

    names = (algorithms.get(name).name for name in arguments.algorithm or default)
    return list(dict.fromkeys([*names, *arguments.user_schemes]))


def add_command(subparsers: Any, name: str, summary: str) -> argparse.ArgumentParser:
    """Add a command or a subcommand; its summary becomes its description."""
    sentence = f"{summary[0].upper()}{summary[1:]}."
    added: argparse.ArgumentParser = subparsers.add_parser(
        name, help=summary, description=sentence, formatter_class=FORMATTER
    )
    return added


def configure(
    parser: argparse.ArgumentParser, module: ModuleType, content: Mapping[str, Any]
) -> None:
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
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument("--json", action="store_true", help="write JSON to stdout, nothing else")
    formats.add_argument("--latex", action="store_true", help="write tables for LaTeX (booktabs)")
    formats.add_argument("--markdown", action="store_true", help="write tables in Markdown")
    _add_options(parser, module, content.get("options", {}))
    for title, options in content.get("groups", {}).items():
        _add_options(parser.add_argument_group(title), module, options)


def _examples(parser: argparse.ArgumentParser, name: str) -> str:
    prefix = f"  {parser.prog} {name} "
    examples = [row for row in (parser.epilog or "").splitlines() if f"{row} ".startswith(prefix)]
    return "\n".join(["", "examples:", *examples]) if examples else ""


def _add_options(
    group: argparse._ActionsContainer, module: ModuleType, options: Mapping[str, Mapping[str, Any]]
) -> None:
    exclusive: argparse._ActionsContainer | None = None
    for flags, settings in options.items():
        keywords, target = dict(settings), group
        # All exclusive options of a group exclude each other.
        if keywords.pop("exclusive", False):
            target = exclusive = exclusive or group.add_mutually_exclusive_group()
        if "field" in keywords:
            keywords = _field_option(module, **keywords)
        keywords = {**_KINDS[keywords.pop("kind", "text")], **keywords}
        if "choices" in keywords and "type" not in keywords:
            keywords["type"] = partial(values.canonical_case, known=keywords["choices"])
        target.add_argument(*flags.split(), **keywords)


def work_key(text: str) -> str:
    """Parse the key of a work, ignoring case; raise UnknownPaper before slow imports."""
    from pqchain import installation
    from pqchain.errors import UnknownPaper

    # Folder names suffice here; reading the works would take longer.
    known = {path.parent.name for path in installation.data("papers").glob("*/paper.toml")}
    if text.casefold() not in known:
        raise UnknownPaper("paper", text, sorted(known), "`pqchain papers`.")
    return text.casefold()


def work_keys(text: str) -> list[str]:
    """Parse keys of works separated by commas."""
    return list(map(work_key, name_list(text)))


def _field_option(module: ModuleType, field: str, show_default: bool = True) -> dict[str, Any]:
    # Without `show_default` no default is shown: those of a network depend on its kind.
    class_name, _, name = field.partition(".")
    declared, meaning = checks.meanings(getattr(module, class_name))[name]
    # argparse formats help texts with %.
    text = field_help(meaning, declared.default if show_default else None).replace("%", "%%")
    # None marks an option that was not given, so that `changed_fields` returns only given ones.
    option: dict[str, Any] = {"dest": field, "default": None, "help": text}
    if meaning.choices:
        return option | {"choices": meaning.choices}
    if checks.value_type(declared) is bool:
        return option | {"action": "store_true"}
    metavars = (short for suffix, short in _METAVARS.items() if name.endswith(suffix))
    return option | {"type": checks.value_type(declared), "metavar": next(metavars, "N")}


def field_help(meaning: checks.Meaning, default: object) -> str:
    """Return a field's meaning, bounds and default; no default for None and for flags."""
    number = f"{default:g}" if isinstance(default, float) else str(default)
    value = "" if default is None or isinstance(default, (bool, tuple)) else number
    by_default = ", ".join(part for part in (value, meaning.by_default) if part)
    parts = (meaning.help, meaning.bounds, f"default: {by_default}" if by_default else "")
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


def existing_file(text: str) -> Path:
    """Check that a file to read exists; return its path. Raises UsageError."""
    path = Path(text)
    if not path.is_file():
        raise UsageError(f"{path} does not exist; name a table saved by pqchain")
    return path


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
    "work": {"type": work_key},
    "works": {"type": work_keys, "action": "extend", "metavar": "KEY,..."},
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
        "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms,source=..., a library.so (see "
        "`pqchain native`), or file.py:Class; may be repeated",
    },
}
"""Kinds of options. Without a value or a default an option is None, a flag False."""


def save(
    frame: pd.DataFrame, output: Path | None, *, provenance: Mapping[str, Any] | None = None
) -> None:
    """Save a table if `output` is not None, and report the path on stderr."""
    if output is not None:
        from pqchain import results

        results.save(frame, output, provenance=provenance)
        print_stderr(f"Saved: {output}")
