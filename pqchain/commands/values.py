"""Types of the parameters of commands: how a text becomes a value, and the help of shared options.

A converter raises ValueError with the condition and the value; cyclopts adds the option.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cyclopts import App, Parameter
from typing_extensions import TypedDict

from pqchain import checks
from pqchain.errors import UnknownPaper, UsageError, short_repr

if TYPE_CHECKING:
    import pandas as pd
    from cyclopts import Token

    from pqchain.wire.drivers.cluster import Cluster

MAX_VALUES = 100_000  # maximum number of values of a list option


def command_group(name: str, about: str | None) -> App:
    """Return a command whose functions are subcommands; `about` is its help."""
    return App(name=name, help=about, help_flags=(), version_flags=())


def canonical_case(name: str, known: Iterable[str]) -> str:
    """Return the known spelling of a name, ignoring case; return an unknown name unchanged."""
    return {spelling.casefold(): spelling for spelling in known}.get(name.casefold(), name)


def _converted(convert: Callable[[Any, Sequence[Token]], Any], **settings: Any) -> Parameter:
    return Parameter(converter=convert, n_tokens=1, accepts_keys=False, **settings)


def parsed(parse: Callable[[str], Any], **settings: Any) -> Parameter:
    """Return a parameter whose text is parsed by `parse`; cyclopts names it in a ValueError."""
    return _converted(lambda _, tokens: parse(tokens[-1].value), **settings)


def listed(parse: Callable[[str], Iterable[Any]], **settings: Any) -> Parameter:
    """Return a parameter that may be repeated, with several values in each text."""

    def convert(_: Any, tokens: Sequence[Token]) -> tuple[Any, ...]:
        # A dict keeps the order and drops duplicates.
        return tuple(dict.fromkeys(value for token in tokens for value in parse(token.value)))

    return _converted(convert, **settings)


def _whole_number(text: str) -> int:
    # cyclopts would round 2.5.
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"must be a whole number; got {short_repr(text)}") from None


def name_list(text: str) -> list[str]:
    """Parse names separated by commas. Raises ValueError if there is none."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ValueError(f"must be names separated by commas; got {short_repr(text)}")
    return names


def integers(text: str) -> list[int]:
    """Parse integers such as "1..5,8". Raises ValueError."""
    values: list[int] = []
    for part in map(str.strip, text.split(",")):
        low, dots, high = part.partition("..")
        try:
            first, last = int(low), int(high if dots else low)
        except ValueError:
            raise ValueError(
                "must be whole numbers or ranges, such as 1..5 or 1,2,8; got " + short_repr(part)
            ) from None
        if last < first:
            raise ValueError(f"must be an ascending range: {last}..{first}; got {part}")
        # Checked before the range is expanded, which would take memory in proportion.
        if last - first >= MAX_VALUES:
            raise ValueError(f"must have at most {MAX_VALUES} values; got {part}")
        values += range(first, last + 1)
    return values


def within(option: str, values: Iterable[int], least: int, most: int = 2**63) -> None:
    """Raise UsageError unless all values are from `least` to `most`."""
    for value in values:
        if not least <= value <= most:
            raise UsageError(f"{option} must be from {least} to {most}; got {short_repr(value)}")


def options_of(
    cls: type,
    fields: str,
    *,
    group: str,
    prefix: str = "",
    defaults: bool = True,
    **names: str,
) -> Any:
    """Return the type of a parameter whose options are `fields` of a declared class.

    Its value is a dict of the fields that were given. `names` are the options whose name is not
    that of the field. Without `defaults` no default is shown: those of a network depend on its
    kind.
    """
    rows = checks.declarations(cls)
    hints: dict[str, Any] = {}
    for name in fields.split():
        row = rows[name]
        default = shown_default(row.default) if defaults and "default" not in row.help else ""
        texts = [row.help, row.bounds, f"default: {default}" if default else ""]
        mark = Parameter(
            name=f"--{prefix}{names.get(name, name).replace('_', '-')}",
            help="; ".join(filter(None, texts)),
            group=group,
        )
        literal: Any = Literal
        kind = literal[row.choices] if row.choices else _KINDS.get(row.type, row.type)
        hints[name] = Annotated[kind, mark]
    make: Any = TypedDict
    return Annotated[make(f"{cls.__name__}Options", hints, total=False), Parameter(name="*")]


def shown_default(default: object) -> str | None:
    """Return the default of an option as text; None for flags, None and what is empty."""
    if isinstance(default, tuple) and default:
        return ",".join(map(str, default))
    if default == "" or isinstance(default, bool) or not isinstance(default, (int, float, str)):
        return None
    return f"{default:g}" if isinstance(default, float) else f"{default}"


FILES = Parameter(consume_multiple=True)
"""Marks an option with several values, which may be repeated."""


def existing_file(path: Path) -> Path:
    """Check that a file to read exists; return its path. Raises UsageError."""
    if path.is_dir():
        raise UsageError(f"{path} must be a file; got a folder. Name a table in it.")
    if not path.is_file():
        raise UsageError(f"{path} does not exist; name a table saved by pqchain")
    return path


def _measurements(text: str) -> pd.DataFrame:
    path = existing_file(Path(text))
    from pqchain import results

    return results.load(path)


def table_path(text: str) -> Path:
    """Check early that a table can be written; return its path. Raises UsageError, ValueError."""
    if (path := Path(text)).suffix != ".csv":
        raise ValueError(f"must end in .csv; got {path}")
    from pqchain import results

    results.check_table(path)
    return path


def plot_path(text: str) -> Path:
    """Check early that a plot can be written; return its path. Raises UsageError, ValueError."""
    if (path := Path(text)).suffix not in (".pdf", ".svg", ".png", ".pgf"):
        raise ValueError(f"must end in .pdf, .svg, .png or .pgf; got {path}")
    from pqchain.results.files import check_writable

    check_writable(path, only_ours=True)
    return path


def _work_key(text: str) -> str:
    """Parse the key of a work, ignoring case; raise UnknownPaper before slow imports."""
    from pqchain import installation

    # Folder names suffice here; reading the works would take longer.
    folders = sorted(path.parent.name for path in installation.data("papers").glob("*/paper.toml"))
    if text.casefold() not in folders:
        raise UnknownPaper("paper", text, folders, "`pqchain papers`.")
    return text.casefold()


Whole: TypeAlias = Annotated[int, parsed(_whole_number)]
Names: TypeAlias = Annotated[tuple[str, ...], listed(name_list)]
"""Names separated by commas; the option may be repeated. Empty if it is not given."""
Integers: TypeAlias = Annotated[tuple[int, ...], listed(integers)]
Work: TypeAlias = Annotated[str, parsed(_work_key)]
Works: TypeAlias = Annotated[tuple[str, ...], listed(lambda text: map(_work_key, name_list(text)))]
PlotFile: TypeAlias = Annotated[Path, parsed(plot_path)]
TableFile: TypeAlias = Annotated[Path, parsed(table_path)]
Preset: TypeAlias = Annotated[
    Literal["quick", "paper"],
    Parameter(help="duration of the measurement; default: $PQCHAIN_PRESET, else quick"),
]
Output: TypeAlias = Annotated[
    Path, parsed(table_path, help="save the table here, and its provenance in FILE.json")
]
# Not Any: with the default None, Python 3.10 makes it Optional, which hides the converter.
Measurements: TypeAlias = Annotated[
    object, parsed(_measurements, help="file of `pqchain bench --output`, instead of measuring now")
]
Schemes: TypeAlias = Annotated[
    tuple[str, ...],
    Parameter(
        help="add your own signature scheme: numbers such as "
        "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms (and source=TEXT), a library.so "
        "(see `pqchain doctor --example`), or file.py:Class; may be repeated"
    ),
]

_KINDS: dict[Any, Any] = {int: Whole, tuple: Integers}
"""Types of options by the type of a field."""


@Parameter(name="*", group="output")
@dataclass(frozen=True)
class Format:
    """Format of the data on stdout: text, or one of these."""

    json: Annotated[bool, Parameter(help="write JSON to stdout, nothing else")] = False
    latex: Annotated[bool, Parameter(help="write tables for LaTeX (booktabs)")] = False

    def __post_init__(self) -> None:
        if self.json and self.latex:
            raise UsageError("--json and --latex exclude each other; give one")


TEXT = Format()


@Parameter(name="*", group="cluster")
@dataclass(frozen=True)
class ClusterOptions:
    """Options of mode "cluster"."""

    scheduler: Annotated[
        str | None,
        Parameter(help="address of the scheduler of a Dask cluster, such as tls://host:8786"),
    ] = None
    nodes_per_worker: Annotated[
        Whole | None, Parameter(help="maximum number of nodes on a worker; default: 1")
    ] = None
    first_port: Annotated[
        Whole | None, Parameter(help="node i listens on this port plus i; default: any port")
    ] = None

    def cluster(self, mode: str) -> Cluster | None:
        """Return the cluster; None in other modes than "cluster", whose options raise UsageError.

        So does a missing scheduler.
        """
        from pqchain.wire.drivers.cluster import Cluster

        given = {name: value for name, value in vars(self).items() if value is not None}
        if mode == "cluster":
            return Cluster(**given) if "scheduler" in given else Cluster.of(None)
        for name, value in given.items():
            option = f"--{name.replace('_', '-')} {value}"
            raise UsageError(f"{option} needs --mode cluster; got --mode {mode}")
        return None


NO_CLUSTER = ClusterOptions()
