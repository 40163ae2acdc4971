"""Help of the commands, from their signatures and docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

from pqchain.render import terminal

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.argument import Argument

DESCRIPTION = """\
Post-quantum cryptography in blockchains: measure signature schemes and blocks, model consensus and
whole chains, and compare with published works."""

EXAMPLES = """\
Examples:
  pqchain doctor                        check this installation
  pqchain bench --algorithm Falcon-512  time one scheme
  pqchain papers pqdpol table4          show a published table
  pqchain reproduce                     compare all works with this machine: results/index.html
  pqchain study ethereum --page a.html  compare signature schemes on a whole chain

Exit codes: 0 success, 1 a check failed, 2 invalid use. Every command has --json."""

_INDENT = 16  # column of the descriptions

_PLACEHOLDERS = {"bits_per_second": "BITS", "_per_second": "RATE", "seconds": "S", "bytes": "BYTES"}
"""Placeholder of a number by the end of its name."""


def overview(targets: Mapping[str, str], width: int) -> str:
    """Return the help of `pqchain`; `targets` are commands with "module:name"."""
    rows = [
        line for name, target in targets.items() for line in _entry(name, _summary(target), width)
    ]
    return "\n\n".join([
        "usage: pqchain COMMAND ... | --version | --completion {bash,zsh,fish}",
        *_prose(DESCRIPTION, width), "commands:\n" + "\n".join(rows), *_prose(EXAMPLES, width),
    ])  # fmt: skip


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


def command(app: App, words: Sequence[str], width: int, *, everything: bool) -> str:
    """Return the help of a command; with `everything` also its rarer options."""
    usage = " ".join(["usage: pqchain", *words])
    if app.default_command is None:
        first, _, rest = inspect.cleandoc(app.help).partition("\n\n")
        listed = [line for name in app for line in _entry(name, _doc(app[name])[0], width)]
        parts = [f"{usage} COMMAND ...", *_prose(first, width), "commands:\n" + "\n".join(listed)]
        return "\n\n".join([*parts, *_prose(rest, width)])
    _, description, described, examples = _doc(app)
    # A parameter that only groups others has the name *.
    collected = app.assemble_argument_collection()
    arguments = [row for row in collected if row.parse and "*" not in row.name]
    shown = [row for row in arguments if row.show or everything]
    places = [row for row in shown if row.index is not None]
    positional = [row.name if row.required else f"[{row.name}]" for row in places]
    groups: dict[str, list[str]] = {"arguments": [], "options": []}
    for row in shown:
        title = _group(row) if row.index is None else "arguments"
        groups.setdefault(title, []).extend(_entry(_usage(row), _about(row, described), width))
    if not all(row.show for row in arguments):
        groups["output"] += _entry("--help-all", "show the rarer options, too", width)
    return "\n\n".join([
        " ".join([usage, *positional, "[OPTIONS]"]), *_prose(description, width),
        *("\n".join([f"{title}:", *lines]) for title, lines in groups.items() if lines),
        *_prose(examples, width),
    ])  # fmt: skip


def _group(row: Argument) -> str:
    groups: Any = row.parameter.group or ("Parameters",)
    name = getattr(groups[0], "name", groups[0])
    return "options" if name in ("Parameters", "Arguments") else str(name)


def _doc(app: App) -> tuple[str, str, dict[str, str], str]:
    """Return first line, description, texts of the parameters, and examples of a docstring."""
    doc = inspect.getdoc(app.default_command) or ""
    start = re.search(r"\n\n(?:Args:\n|(?=Examples:))", doc)
    description = doc[: start.start()] if start else doc
    lines = doc[start.end() :].splitlines() if start else []
    end = next((at for at, line in enumerate(lines) if line and line[0] != " "), len(lines))
    texts = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", "\n".join(lines[:end]), re.MULTILINE)
    return doc.partition("\n")[0], description, dict(texts), "\n".join(lines[end:])


def _usage(row: Argument) -> str:
    """Return the name of a parameter with a placeholder of its value."""
    if row.index is not None:
        return row.name
    types = [kind for kind in (row.hint, *get_args(row.hint)) if kind is not type(None)]
    placeholder = "VALUE"
    if choices := row.get_choices():
        placeholder = f"{{{','.join(choices)}}}"
    elif bool in types:
        return row.name
    elif any(get_origin(kind) is tuple for kind in types):
        numbers = tuple[int, ...], tuple[float, ...]
        if set(numbers) & set(types):
            placeholder = "LIST"
        elif row.parameter.consume_multiple:
            placeholder = "FILE ..."
        elif row.parameter.converter:  # which splits a text at commas
            placeholder = "NAME,..."
    elif int in types or float in types:
        name = row.name.replace("-", "_")
        placeholder = next((text for end, text in _PLACEHOLDERS.items() if name.endswith(end)), "N")
    elif Path in types:
        placeholder = "FILE"
    return f"{row.name} {placeholder}"


def _about(row: Argument, described: Mapping[str, str]) -> str:
    """Return the description of a parameter with its default."""
    text = row.parameter.help or described.get(row.field_info.name, "")
    default = row.field_info.default
    if isinstance(default, tuple):
        default = ",".join(map(str, default))
    # Of a flag there is no default to show, and a text may explain it.
    if isinstance(default, bool) or not isinstance(default, (int, float, str)) or default == "":
        return text
    number = f"{default:g}" if isinstance(default, float) else str(default)
    return text if "default" in text else f"{text}; default: {number}"


def _entry(head: str, text: str, width: int) -> Iterator[str]:
    lines = _wrap(text, width - _INDENT)
    if len(head) + 4 <= _INDENT and lines:
        yield f"  {head:<{_INDENT - 2}}{lines.pop(0)}"
    else:
        yield f"  {head}"
    yield from (f"{'':<{_INDENT}}{line}" for line in lines)


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()), width, break_long_words=False, break_on_hyphens=False
    )


def _prose(text: str, width: int) -> Iterator[str]:
    """Yield the paragraphs of a text, filled; indented lines and titles before them are lines."""
    for paragraph in filter(None, text.strip("\n").split("\n\n")):
        if "\n " in f"\n{paragraph}":
            yield "\n".join(part for line in paragraph.splitlines() for part in _row(line, width))
        else:
            yield "\n".join(_wrap(paragraph, width))


def _row(line: str, width: int) -> Iterator[str]:
    """Yield a line of a list; one that is too long has its explanation on lines of its own."""
    command, *about = re.split(r"(?<=\S) {3,}", line, maxsplit=1)
    if len(line) <= width or not command.startswith("  pqchain"):
        yield terminal.wrapped(line, width)
        return
    yield command  # longer than the terminal rather than broken, so that it can be copied
    yield from (f"      ({text})" for text in about)
