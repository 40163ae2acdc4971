"""Code shared by the commands: output, exit codes, schemes of the user.

Data goes to stdout, messages to stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqchain import figures
from pqchain.errors import UsageError, visible
from pqchain.render import latex, terminal
from pqchain.render.terminal import is_interactive as is_interactive
from pqchain.render.terminal import print_json as print_json
from pqchain.render.terminal import print_stderr as print_stderr
from pqchain.render.terminal import print_stdout as print_stdout
from pqchain.render.terminal import redirect_to_devnull as redirect_to_devnull
from pqchain.render.terminal import terminal_width as terminal_width

if TYPE_CHECKING:
    import pandas as pd

    from pqchain.commands.values import Format
    from pqchain.render.table import Table

SUCCESS, CHECK_FAILED, USAGE_ERROR = 0, 1, 2  # exit codes of a command


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as JSON types; missing values become None (null)."""
    # Numeric columns cannot contain None.
    plain = frame.astype(object).where(frame.notna(), None)
    return [{str(key): value for key, value in row.items()} for row in plain.to_dict("records")]


def show(
    form: Format,
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
    if form.json:
        print_json(data)
    else:
        text = "\n\n".join(_formatted(form, outputs, verbatim))
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
    form: Format,
    name: str,
    frame: pd.DataFrame,
    *outputs: Table | str,
    rows: Any = None,
    remarks: Iterable[str] = (),
    **more: Any,
) -> int:
    """Show measurements, warnings first; return the exit code, 1 if a row failed or none ran.

    `rows` is the frame of the JSON if that is another one than of the measurements, `more` further
    values in it. Without remarks the machine is named.
    """
    from pqchain.bench import variation

    warnings = variation.warnings(frame)
    provenance = frame.attrs["provenance"]
    machine = f"Machine: {provenance['machine_id']}, preset {provenance['preset']}"
    if "min_seconds" in frame.columns:
        machine = f"Machine: {provenance['machine_id']}, {variation.quality(frame)}"
    data = {"provenance": provenance, "warnings": warnings}
    data |= {name: records(frame if rows is None else rows), **more}
    first = ["\n".join(warnings)] if warnings else []
    return show(form, data, *first, *outputs, remarks=remarks or [machine], ok=all_ran(frame))


def all_ran(frame: pd.DataFrame) -> bool:
    """Return whether at least one row of a frame succeeded and none failed."""
    return bool((frame["status"] == "ok").any() and not (frame["status"] == "failed").any())


def _formatted(form: Format, outputs: Sequence[Table | str], verbatim: bool) -> Iterator[str]:
    if form.latex and all(isinstance(output, str) for output in outputs):
        raise UsageError("--latex is for tables, and this command shows none; leave it out")
    width = terminal_width(sys.stdout)
    for output in outputs:
        if not isinstance(output, str):
            yield output.latex() if form.latex else output.text(width)
        elif form.latex:
            yield "\n".join(f"% {latex.escaped(line)}" for line in visible(output).splitlines())
        elif verbatim or width is None:
            yield visible(output)
        else:
            yield terminal.wrapped(visible(output), width)


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

    Called first by each command, so that mistakes are reported at once.
    """
    if not definitions:
        return []
    from pqchain import schemes

    names = [name for definition in definitions for name in schemes.register(definition)]
    if duplicates := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"--scheme defines {', '.join(duplicates)} twice; use different names")
    return names


def algorithm_names(names: Iterable[str], added: Iterable[str] = ()) -> list[str]:
    """Return canonical names of algorithms and of the user's schemes, without duplicates."""
    from pqchain import algorithms

    return list(dict.fromkeys([*(algorithms.get(name).name for name in names), *added]))


@contextmanager
def resumable(*, preset: Any, resume: bool) -> Iterator[dict[str, Any]]:
    """Yield the options of a measurement: preset, progress, and whether to measure all anew.

    If the block is interrupted or fails, the user is told that what it has measured is kept.
    """
    from pqchain.bench import presets

    preset = preset or presets.preset()
    try:
        yield {"preset": preset, "progress": is_interactive(), "fresh": not resume}
    except UsageError:
        raise
    except BaseException:
        print_stderr(
            "pqchain: what was measured is kept; to go on, run the same command with --resume"
        )
        raise


def save(
    frame: pd.DataFrame, output: Path | None, *, provenance: Mapping[str, Any] | None = None
) -> None:
    """Save a table if `output` is not None, and report the path on stderr."""
    if output is not None:
        from pqchain import results

        results.save(frame, output, provenance=provenance)
        print_stderr(f"Saved: {output}")


DISTRIBUTIONS = {"conform": "conform", "engine": "engines"}
"""Commands of other distributions of this project, with the extra of pqchain that installs each."""


def not_installed(command: str, purpose: str = "") -> UsageError:
    """Return the error about a command of DISTRIBUTIONS that is not installed."""
    extra = DISTRIBUTIONS[command]
    purpose = purpose or f"`pqchain {command}`"
    return UsageError(
        f"pqchain-{extra} must be installed for {purpose}; it is not. Run "
        f'`pip install "pqchain[{extra}]"`, in a checkout `make`.'
    )


def cluster_remarks(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on the machines of a run on a cluster, and on their clocks."""
    if facts:
        yield (
            f"Cluster of {facts['workers']} workers on {facts['computers']} computers; times are "
            "as the workers reported them, with an error of at most "
            f"{figures.SECONDS.text(facts['clock_error_seconds'])} between two of them."
        )
