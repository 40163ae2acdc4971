"""Code shared by the commands: output, exit codes, and options defined in TOML files.

Data goes to stdout, messages to stderr.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from pqchain import figures
from pqchain.errors import UsageError
from pqchain.escapes import markdown, visible
from pqchain.render import latex, terminal

if TYPE_CHECKING:
    import pandas as pd

    from pqchain.render.table import Table
    from pqchain.results.checkpoint import Checkpoint

SUCCESS, CHECK_FAILED, USAGE_ERROR = 0, 1, 2  # exit codes of a command

_ASCII = str.maketrans(
    {"µ": "u", figures.TIMES: "x", figures.NARROW_SPACE: " ", figures.MISSING: "-", "…": "~"}
    | {"─": "-"}
)
"""Replacements of characters that a terminal without Unicode cannot show."""


def encodable(text: str, stream: TextIO) -> str:
    """Return a text that a stream can encode, with replacements of other characters."""
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    return text


def print_stdout(text: str) -> None:
    """Write data to stdout; replace characters that its encoding lacks."""
    sys.stdout.write(f"{encodable(text, sys.stdout)}\n")


def print_json(value: Any) -> None:
    """Write a value as JSON to stdout."""
    # Escapes preserve all characters where stdout is not Unicode.
    escaped = not (sys.stdout.encoding or "utf-8").casefold().startswith("utf")
    text = json.dumps(value, indent=2, ensure_ascii=escaped, allow_nan=False, default=_json_type)
    print_stdout(visible(text))  # the escapes are those of JSON


def _json_type(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as JSON types; missing values become None (null)."""
    # Numeric columns cannot contain None.
    plain = frame.astype(object).where(frame.notna(), None)
    return [{str(key): value for key, value in row.items()} for row in plain.to_dict("records")]


def print_stderr(text: str) -> None:
    """Write a message to stderr; if stderr is broken, drop the message."""
    text = visible(text)
    try:
        if (width := terminal_width(sys.stderr)) is not None:
            text = terminal.wrapped(text, width, colour=has_colour(sys.stderr))
        sys.stderr.write(f"{encodable(text, sys.stderr)}\n")
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
    verbatim: bool = False,
) -> int:
    """Show data as JSON, or tables and texts with remarks on stderr; return the exit code.

    Texts are wrapped on a terminal unless they are `verbatim`, as code is. Schemes with a known
    attack that a table names are remarked upon.
    """
    if arguments.json:
        print_json(data)
    else:
        text = "\n\n".join(_formatted(arguments, outputs, verbatim))
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
    """Show measurements, warnings first; return the exit code, 1 if a row failed or none ran."""
    from pqchain.bench import variation

    warnings = variation.warnings(frame)
    provenance = frame.attrs["provenance"]
    machine = f"Machine: {provenance['machine_id']}, preset {provenance['preset']}"
    if "min_seconds" in frame.columns:
        machine = f"Machine: {provenance['machine_id']}, {variation.quality(frame)}"
    data = {"provenance": provenance, "warnings": warnings, name: records(frame)}
    first = ["\n".join(warnings)] if warnings else []
    return show(arguments, data, *first, output, remarks=[machine], ok=all_ran(frame))


def all_ran(frame: pd.DataFrame) -> bool:
    """Return whether at least one row of a frame succeeded and none failed."""
    return bool((frame["status"] == "ok").any() and not (frame["status"] == "failed").any())


def wants_table_markup(arguments: argparse.Namespace) -> bool:
    """Return whether tables are requested as LaTeX or Markdown."""
    return bool(arguments.latex or arguments.markdown)


def terminal_width(stream: TextIO) -> int | None:
    """Return the columns of the terminal that a stream writes to; None for a file or a pipe."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def has_colour(stream: TextIO) -> bool:
    """Return whether a stream writes to a terminal with colours; NO_COLOR turns them off."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not is_plain


def _formatted(
    arguments: argparse.Namespace, outputs: Sequence[Table | str], verbatim: bool
) -> Iterator[str]:
    if arguments.latex and all(isinstance(output, str) for output in outputs):
        raise UsageError("--latex is for tables, and this command shows none; leave it out")
    width, colour = terminal_width(sys.stdout), has_colour(sys.stdout)
    for output in outputs:
        if not isinstance(output, str):
            in_markup = output.latex if arguments.latex else output.markdown
            is_markup = wants_table_markup(arguments)
            yield in_markup() if is_markup else output.text(width, colour=colour)
        elif arguments.latex:
            yield "\n".join(f"% {latex.escaped(line)}" for line in visible(output).splitlines())
        elif arguments.markdown and not verbatim:
            yield markdown(output)
        elif verbatim or width is None:
            yield visible(output)
        else:
            yield terminal.wrapped(visible(output), width, colour=colour)


def save_plot(axes: Any, path: Path) -> int:
    """Save a plot in the format of the file's suffix; return the size of the file in bytes."""
    from pqchain import plots
    from pqchain.results.files import write_atomically

    file_format: Any = path.suffix.removeprefix(".")
    content = plots.figure_bytes(axes, file_format)
    write_atomically(path, content)
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


@contextmanager
def resumable(
    arguments: argparse.Namespace, command: str, options: Sequence[str]
) -> Iterator[Checkpoint]:
    """Yield the checkpoint of a command with these options; remove it if the block succeeds.

    `options` are those on which the measured values depend, besides preset, machine, version and
    the content of the user's files. If the block fails or is interrupted, the user is told that the
    values are kept.
    """
    from pqchain import libraries, machine
    from pqchain.bench import presets
    from pqchain.results.checkpoint import Checkpoint

    settings = {name: getattr(arguments, name) for name in options}
    settings |= {"command": command, "preset": arguments.preset or presets.preset()}
    settings["scheme"] = [[text, _content_digest(text)] for text in arguments.scheme]
    provenance = machine.provenance()
    settings |= {name: provenance[name] for name in ("machine_id", "commit")}
    settings["native"] = libraries.installed()
    checkpoint = Checkpoint(settings, resume=arguments.resume)
    try:
        yield checkpoint
    except BaseException:
        if number := len(checkpoint):
            print_stderr(
                f"pqchain: kept what was measured ({number} parts); to go on, run the same command "
                "with --resume"
            )
        raise
    checkpoint.finish()


def _content_digest(scheme: str) -> str:
    """Return the digest of the file that defines a scheme; "" for numbers and modules."""
    path = Path(scheme if scheme.endswith((".so", ".dylib")) else scheme.rpartition(":")[0])
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def save(
    frame: pd.DataFrame, output: Path | None, *, provenance: Mapping[str, Any] | None = None
) -> None:
    """Save a table if `output` is not None, and report the path on stderr."""
    if output is not None:
        from pqchain import results

        results.save(frame, output, provenance=provenance)
        print_stderr(f"Saved: {output}")
