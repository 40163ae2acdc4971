"""Frames with checked column types (contracts), stored as CSV with a JSON sidecar.

The sidecar has the schema version, the contract, the checksum of the CSV and the provenance: where
and how the numbers were obtained. `machine.provenance` lists its keys.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqchain import installation
from pqchain.checks import LABEL, NAME, is_label, is_name
from pqchain.errors import DataError, UsageError
from pqchain.figures import Unit
from pqchain.installation import MAX_JSON_BYTES, MAX_TABLE_BYTES, read_bytes
from pqchain.results import checksum
from pqchain.results import machine as machine
from pqchain.results.files import check_writable, write_atomically

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 3
"""Version of the file format. 2: the sidecar lists the columns. 3: the sidecar has a checksum of
itself, because a wrong provenance is worse than none."""


@dataclass(frozen=True, slots=True)
class Contract:
    """Columns and dtypes of a kind of frame, declared in the module that makes such frames."""

    name: str
    columns: Mapping[str, str]
    """Dtypes by column, in order: "str" (never missing, may be ""), "Int64", "float64", "bool"."""

    @classmethod
    def of(cls, name: str, *runs: tuple[str, str]) -> Contract:
        """Return a contract of columns given as (dtype, names separated by spaces)."""
        return cls(name, {column: dtype for dtype, names in runs for column in names.split()})

    def frame(self, rows: Iterable[Any] = ()) -> pd.DataFrame:
        """Return a checked frame of rows, given as dictionaries or as sequences in column order."""
        import pandas as pd  # here and below, not above: declaring a contract needs no pandas

        return check(pd.DataFrame(list(rows), columns=list(self.columns)), self)


_PARSERS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "Int64": lambda text: int(text) if text else None,
    "float64": lambda text: float(text) if text else float("nan"),
    "bool": lambda text: text == "True",
}
"""Parsers of CSV fields. Python's float() is exact; that of pandas depends on its version."""

_EXPECTED = {
    "str": "text without carriage returns",  # CSV writers quote those in different ways
    "Int64": "a whole number or no value",
    "float64": "a number",
    "bool": "True or False",
}

_UNREADABLE = (ValueError, TypeError, OverflowError, RecursionError, AttributeError, LookupError)
"""Errors of pandas and Python for content that is not what its format states."""

_LEAST, _MOST = 1e-100, 1e100
"""Bounds of a finite number with a unit, other than 0; beyond them quotients and axes overflow."""

_NAMES = ("algorithm", "implementation", "operation", "base", "run")
"""Columns whose texts label rows and plots."""

_PROVENANCE: Mapping[str, type] = {
    **dict.fromkeys(("machine_id", "cpu_model", "preset", "date", "commit", "python"), str),
    "pqchain": str, "cpu_count": int, "load_average": float, "transactions": int, "schemes": list,
}  # fmt: skip
"""Types of the entries of provenance with which pqchain computes."""

_MAX_LEVELS = 20
"""Levels of nesting in provenance, which pandas copies recursively."""


def check(frame: pd.DataFrame, contract: Contract) -> pd.DataFrame:
    """Return the frame with the contract's column order and dtypes; attrs kept, index dropped.

    Raises DataError if columns are missing or unexpected, or a value has a wrong type or range.
    """
    import pandas as pd

    installation.check_version(pd)
    columns, kind = contract.columns, contract.name
    if sorted(map(str, frame.columns)) != sorted(columns):
        raise DataError(
            f"a {kind} frame must have the columns {list(columns)}; got {list(frame.columns)}. "
            "Add or drop columns"
        )
    ordered = frame[list(columns)].reset_index(drop=True)
    ordered.attrs = {}  # pandas would deep-copy them with every column
    values: dict[str, pd.Series[Any]] = {}
    for name, dtype in columns.items():
        values[name] = _cast(ordered[name], dtype, f"column {name!r} of a {kind} frame")
        _check_column(name, dtype, values[name])
    checked = pd.DataFrame(values)
    checked.attrs = {**frame.attrs, "contract": {"name": kind, "columns": dict(columns)}}
    return checked


def joined(frames: Iterable[pd.DataFrame], contract: Contract) -> pd.DataFrame:
    """Concatenate any number of frames, also none, without their attrs."""
    import pandas as pd

    filled = [check(frame, contract) for frame in frames if len(frame)]
    for frame in filled:
        frame.attrs = {}
    return check(pd.concat(filled, ignore_index=True), contract) if filled else contract.frame()


def save(
    frame: pd.DataFrame,
    path: str | Path,
    *,
    contract: Contract | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Path:
    """Write the frame to `path` (.csv) and its sidecar (.json) next to it; return `path`.

    `contract` is by default the one that the frame was checked by, and `provenance` that of
    `frame.attrs["provenance"]`. Floats keep every bit. Each file is replaced atomically; if
    only one of the two was replaced, `load` fails. Raises DataError as `check`, or for provenance
    that is not JSON, and UsageError if `path` exists and was not written by `save`.
    """
    path = _csv_path(path)
    contract = contract or contract_of(frame)
    checked = check(frame, contract)
    table = checked.to_csv(index=False).encode()
    if provenance is None:
        provenance = frame.attrs.get("provenance", {})
    sidecar = {
        "schema_version": SCHEMA_VERSION,
        "contract": contract.name,
        "columns": dict(contract.columns),
        "rows": len(checked),
        "csv_sha256": hashlib.sha256(table).hexdigest(),
        "provenance": dict(provenance),
    }
    try:
        _check_provenance(sidecar["provenance"])
        text = checksum.dumps(sidecar, indent=2)
    except _UNREADABLE as error:
        raise DataError(
            f"the provenance of {path.name} is not plain JSON ({error}); "
            "use text, finite numbers, lists and dictionaries only"
        ) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    _check_written_by_save(path)
    # Sidecar first: if the process ends in between, it still marks both files as pqchain's.
    write_atomically(path.with_suffix(".json"), text + "\n")
    write_atomically(path, table)
    return path


def to_json(frame: pd.DataFrame) -> dict[str, Any]:
    """Return a frame with its contract and provenance as JSON types; floats keep every bit."""
    contract = contract_of(frame)
    return {
        "contract": contract.name,
        "columns": dict(contract.columns),
        "table": check(frame, contract).to_csv(index=False),
        "provenance": frame.attrs.get("provenance"),
    }


def from_json(data: Mapping[str, Any]) -> pd.DataFrame:
    """Return the frame that `to_json` converted. Raises DataError."""
    source = "a stored frame"
    contract = _contract(data.get("contract"), data.get("columns"), source)
    return _parsed(data["table"].encode(), contract, data["provenance"] or {}, source)


def load(path: str | Path) -> pd.DataFrame:
    """Return a frame that `save` wrote, with its contract and `attrs["provenance"]`.

    Raises DataError if either file is missing, unreadable or of another schema version, if the CSV
    does not match the checksum in the sidecar, or if it breaks its contract.
    """
    path = _csv_path(path)
    try:
        table = read_bytes(path, MAX_TABLE_BYTES)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    sidecar = _sidecar(path)
    if hashlib.sha256(table).hexdigest() != sidecar.get("csv_sha256"):
        raise DataError(
            f"{path} was changed after its sidecar was written, so its provenance is not valid; "
            "restore both files, or run the measurement again"
        )
    contract = _contract(sidecar.get("contract"), sidecar.get("columns"), f"the sidecar of {path}")
    return _parsed(table, contract, sidecar.get("provenance", {}), str(path))


def _parsed(table: bytes, contract: Contract, provenance: Any, source: str) -> pd.DataFrame:
    """Return the frame of a CSV text with its provenance. Raises DataError for any other text."""
    import pandas as pd

    columns = contract.columns
    try:
        if b"\0" in table:  # read as an empty cell by pandas 1.3
            raise DataError("it has a zero byte")
        printed = pd.read_csv(io.BytesIO(table), dtype=str, keep_default_na=False)
        if list(printed.columns) != list(columns):
            raise DataError(f"columns {list(columns)} expected; got {list(printed.columns)}")
        parsed = {
            name: pd.Series([_PARSERS[dtype](text) for text in printed[name]], dtype=object)
            for name, dtype in columns.items()
        }
        frame = check(pd.DataFrame(parsed), contract)
        _check_provenance(provenance)
    except (DataError, *_UNREADABLE) as error:
        raise DataError(
            f"{source} does not have the content of a {contract.name} frame: {error}; restore it "
            "and its sidecar, or run the measurement again"
        ) from error
    frame.attrs["provenance"] = machine.Provenance(provenance)
    return frame


def check_table(path: Path) -> None:
    """Raise UsageError if `save` could not write the path."""
    for file in (path, path.with_suffix(".json")):
        check_writable(file)
    _check_written_by_save(path)


def _check_written_by_save(path: Path) -> None:
    sidecar = path.with_suffix(".json")
    if existing := [file for file in (path, sidecar) if file.exists()]:
        with suppress(OSError, DataError):
            if "csv_sha256" in checksum.loads(read_bytes(sidecar, MAX_JSON_BYTES), "", ""):
                return
        raise UsageError(f"{existing[-1]} was not written by pqchain; name another file")


def contract_of(frame: pd.DataFrame) -> Contract:
    """Return the contract that the frame was checked by. Raises DataError if there is none."""
    plain = frame.attrs.get("contract", {})
    return _contract(plain.get("name"), plain.get("columns"), "attrs['contract'] of this frame")


def _contract(name: object, columns: Any, source: str) -> Contract:
    known = isinstance(columns, dict) and all(
        is_label(column) and isinstance(dtype, str) and dtype in _PARSERS
        for column, dtype in columns.items()
    )
    if not isinstance(name, str) or not is_label(name) or not known:
        raise DataError(
            f"{source} must have a name and columns of a contract; give contract=..., or run the "
            "measurement again"
        )
    return Contract(name, columns)


def _csv_path(path: str | Path) -> Path:
    """Return the path. Raises DataError unless it ends in .csv: the sidecar ends in .json."""
    path = Path(path)
    if path.suffix != ".csv":
        raise DataError(f"the name of a table must end in .csv; got {path}")
    return path


def _sidecar(path: Path) -> dict[str, Any]:
    sidecar, remedy = path.with_suffix(".json"), "restore it, or run the measurement again"
    try:
        text = read_bytes(sidecar, MAX_JSON_BYTES)
    except OSError as error:
        reason = error.strerror or error
        raise DataError(
            f"{path} has no sidecar {sidecar.name} with its provenance ({reason}); {remedy}"
        ) from error
    version = ("schema_version", SCHEMA_VERSION)
    return checksum.loads(text, f"the sidecar {sidecar}", remedy, version=version)


def _cast(column: pd.Series[Any], dtype: str, name: str) -> pd.Series[Any]:
    import numpy as np

    if dtype != "str" and column.dtype == dtype:
        return column  # each value has the type
    # Checked before the cast, which would accept a bool, or a number in a text, as a number.
    values = column.tolist()
    if dtype == "str":
        fits = [isinstance(value, str) and "\r" not in value for value in values]
    elif dtype == "bool":
        fits = [isinstance(value, (bool, np.bool_)) for value in values]
    else:
        fits = [not isinstance(value, (str, bool, np.bool_)) for value in values]
    if not all(fits):
        wrong = column.iloc[fits.index(False)]
        raise DataError(f"{name} must have {_EXPECTED[dtype]} in every row; got {wrong!r}")
    try:
        return column.astype(dtype)  # type: ignore[call-overload,no-any-return]
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} is not {dtype}: {error}") from error


def _check_column(name: str, dtype: str, values: pd.Series[Any]) -> None:
    """Raise DataError for a value that a column of that name could not have."""
    wrong: list[Any] = []
    if dtype == "float64" and Unit.of(name):
        absolute = values[values.notna()].abs()
        wrong = absolute[~absolute.between(_LEAST, _MOST) & ~absolute.isin([0, math.inf])].tolist()
    elif dtype == "str" and name in _NAMES:
        wrong = [value for value in set(values) if not is_label(value)]
    if wrong:
        expected = LABEL if isinstance(wrong[0], str) else f"0, inf, or {_LEAST} to {_MOST} in size"
        raise DataError(f"column {name!r} must have {expected}; got {wrong[0]!r:.80}")


def _check_provenance(run: Any) -> None:
    """Raise one of _UNREADABLE for provenance that the writer of a table could not have had."""
    if not isinstance(run, dict):
        raise ValueError(f"provenance must be an object; got {run!r:.80}")
    _check_levels(run, _MAX_LEVELS)
    # Neither NaN nor a lone surrogate could be written again.
    json.dumps(run, ensure_ascii=False, allow_nan=False).encode()
    for name, expected in _PROVENANCE.items():
        value = run.get(name, expected())
        is_number = expected in (int, float) and isinstance(value, (int, expected))
        if not (0 <= value <= 2**62 if is_number else isinstance(value, expected)):
            raise ValueError(f"{name} must be a {expected.__name__}; got {value!r:.80}")
    if not all(is_name(row["name"]) for row in run.get("schemes", ())):
        raise ValueError(f"the name of each of the schemes must be {NAME}")


def _check_levels(value: Any, levels: int) -> None:
    if not levels:
        raise ValueError(f"provenance must have at most {_MAX_LEVELS} levels")
    for entry in value.values() if isinstance(value, dict) else value:
        if isinstance(entry, (dict, list)):
            _check_levels(entry, levels - 1)
