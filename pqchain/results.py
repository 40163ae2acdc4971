"""Frames that keep their contracts, and CSV files with a JSON sidecar.

The sidecar holds the schema version, the contract, the checksum of the CSV and the provenance:
where and how the numbers were made. `pqchain.machine.provenance` lists the keys; the one that this
module itself reads is `machine_id`, because frames of different machines must not be mixed.
"""

from __future__ import annotations

import hashlib
import io
import os
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqchain import checksum
from pqchain.errors import DataError, MachineMismatch, UsageError
from pqchain.installation import MOST_JSON_BYTES, MOST_TABLE_BYTES, read_bytes

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 3
"""Version of the file format. 1: the first one. 2: the sidecar names the columns itself. 3: it has
a checksum of itself, because provenance that changed unnoticed is worse than none."""


@dataclass(frozen=True, slots=True)
class Contract:
    """What a kind of frame promises. It stands where frames of that kind are made."""

    name: str
    columns: Mapping[str, str]
    """Columns in order, with their dtypes: "str" (never missing, it may be ""), "Int64", "float64"
    or "bool"."""

    @classmethod
    def of(cls, name: str, *runs: tuple[str, str]) -> Contract:
        """Make a contract of runs of columns: a dtype and, between spaces, who has it."""
        return cls(name, {column: dtype for dtype, names in runs for column in names.split()})

    def frame(self, rows: Iterable[Any] = ()) -> pd.DataFrame:
        """Return a checked frame of rows: dictionaries, or sequences in the contract's order."""
        import pandas as pd  # late, here and below: to name a contract takes none

        return check(pd.DataFrame(list(rows), columns=list(self.columns)), self)


_PARSERS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "Int64": lambda text: int(text) if text else None,
    "float64": lambda text: float(text) if text else float("nan"),
    "bool": lambda text: text == "True",
}
"""How each dtype is read back. Python's own float() is exact in every version of pandas."""

_EXPECTED = {
    "str": "text without carriage returns",  # CSV writers do not agree on how to quote them
    "Int64": "a whole number or nothing",
    "float64": "a number",
    "bool": "True or False",
}
"""The dtypes in words, for errors."""


def check(frame: pd.DataFrame, contract: Contract) -> pd.DataFrame:
    """Return the frame with the contract's column order and dtypes, attrs kept, index dropped.

    Raises DataError if columns are missing or unexpected, or a value has the wrong type.
    """
    import pandas as pd

    columns, kind = contract.columns, contract.name
    if sorted(map(str, frame.columns)) != sorted(columns):
        raise DataError(
            f"a {kind} frame has the columns {list(columns)}, but this one has "
            f"{list(frame.columns)}; add or drop columns until they agree"
        )
    ordered = frame[list(columns)].reset_index(drop=True)
    ordered.attrs = {}  # pandas would copy them whole with every column
    checked = pd.DataFrame(
        {
            name: _cast(ordered[name], dtype, f"column {name!r} of a {kind} frame")
            for name, dtype in columns.items()
        }
    )
    checked.attrs = {**frame.attrs, "contract": {"name": kind, "columns": dict(columns)}}
    return checked


def joined(frames: Iterable[pd.DataFrame], contract: Contract) -> pd.DataFrame:
    """Return the rows of all frames of a contract in one; there may be none. attrs are dropped."""
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
    """Write the frame to `path` (.csv) and its sidecar (.json) beside it; return `path`.

    Frames of pqchain know their contract; another can be given. Without `provenance`, that of
    `frame.attrs["provenance"]` is written. Floats keep every bit. Each file is replaced in
    one step; a pair of which only one half was replaced does not load.
    Raises DataError as `check`, or for provenance that is not JSON; UsageError for a foreign file.
    """
    path = _csv_path(path)
    contract = contract or contract_of(frame)
    checked = check(frame, contract)
    table = checked.to_csv(index=False, lineterminator="\n").encode()
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
        text = checksum.dumps(sidecar, indent=2)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"the provenance of {path.name} is not plain JSON ({error}); "
            "use text, finite numbers, lists and dictionaries only"
        ) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    _check_ours(path)
    # The sidecar first: it says that both are ours, should the process end in between.
    write_atomically(path.with_suffix(".json"), text + "\n")
    write_atomically(path, table)
    return path


def load(path: str | Path) -> pd.DataFrame:
    """Read a frame that `save` wrote, with the columns of its contract.

    `attrs["provenance"]` is restored. Raises DataError if either file is missing, unreadable or
    of an unknown schema version, if the CSV is not the one that the sidecar describes, or if it
    breaks its contract.
    """
    import pandas as pd

    path = _csv_path(path)
    try:
        table = read_bytes(path, MOST_TABLE_BYTES)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    sidecar = _sidecar(path)
    if hashlib.sha256(table).hexdigest() != sidecar.get("csv_sha256"):
        raise DataError(
            f"{path} was changed after its sidecar was written, so its provenance no longer holds; "
            "restore both files or make the numbers again"
        )
    contract = _contract(sidecar.get("contract"), sidecar.get("columns"), f"the sidecar of {path}")
    columns = contract.columns
    printed = pd.read_csv(io.BytesIO(table), dtype=str, keep_default_na=False)
    if list(printed.columns) != list(columns):
        raise DataError(
            f"{path} should have the columns {list(columns)}, but has {list(printed.columns)}; "
            f"save it again as a {contract.name} frame"
        )
    parsed = {
        name: pd.Series([_PARSERS[dtype](text) for text in printed[name]], dtype=object)
        for name, dtype in columns.items()
    }
    frame = check(pd.DataFrame(parsed), contract)
    frame.attrs["provenance"] = sidecar.get("provenance", {})
    return frame


def merge(frames: Iterable[pd.DataFrame], *, contract: Contract | None = None) -> pd.DataFrame:
    """Return the rows of all frames in one; all keep the contract of the first, or the given one.

    What all provenances agree on stays at the top of `attrs["provenance"]`; what differs is kept
    per frame in its list "runs". Raises MachineMismatch if the frames were made on different
    machines, and DataError if one does not say where it was made or there are none.
    """
    given = list(frames)
    if not given:
        raise DataError("no frames to merge; give at least one")
    contract = contract or contract_of(given[0])
    checked = [check(frame, contract) for frame in given]
    provenances: list[dict[str, Any]] = [frame.attrs.get("provenance", {}) for frame in checked]
    machines = [str(provenance.get("machine_id", "")) for provenance in provenances]
    if "" in machines:
        raise DataError(
            f"frame {machines.index('') + 1} of {len(machines)} does not say on which machine it "
            "was made; load frames with pqchain.results.load or set attrs['provenance']"
        )
    if len(set(machines)) > 1:
        raise MachineMismatch(
            f"measurements of different machines do not mix: {sorted(set(machines))}; "
            "compare them side by side, or measure again on one machine"
        )
    merged = joined(checked, contract)
    merged.attrs["provenance"] = _merged_provenance(provenances)
    return merged


def write_atomically(path: Path, content: str | bytes, *, mode: int = 0o666) -> None:
    """Write the file whole before it has its name; an old one of that name is replaced then.

    `mode` says for whom it is, less what the umask takes away. Raises UsageError if no file can
    have that name. A process that is killed leaves nothing behind where the system knows files
    without names (Linux: O_TMPFILE), and else a file of a temporary name.
    """
    data = content.encode() if isinstance(content, str) else content
    _check_place(path)
    if _written_unnamed(path, data, mode):
        return
    temporary = _temporary(path, mode)
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)  # noqa: PTH105 - the name says what happens to an old file
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _written_unnamed(path: Path, data: bytes, mode: int) -> bool:
    """Write a file that has no name yet and give it one; return whether this system can."""
    try:
        descriptor = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, mode)
    except (OSError, AttributeError):
        return False
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        # With a descriptor of a folder Python calls linkat, which follows the link in /proc.
        source, folder = f"/proc/self/fd/{descriptor}", descriptor
        try:
            os.link(source, path, src_dir_fd=folder)
        except FileExistsError:
            temporary = _temporary_name(path)
            try:
                os.link(source, temporary, src_dir_fd=folder)
                os.replace(temporary, path)  # noqa: PTH105
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        except OSError:
            return False  # without /proc, or a name that the other way refuses with a reason
    return True


def check_writable(path: str | Path) -> None:
    """Refuse a file that `write_atomically` could not write, before the work for it is done.

    Raises UsageError with the reason. Makes and deletes a temporary file; `path` stays as it is.
    """
    _temporary(Path(path)).unlink()


def check_table(path: Path) -> None:
    """Refuse a table's file that `save` would refuse, before the work for it is done."""
    for place in (path, path.with_suffix(".json")):
        check_writable(place)
    _check_ours(path)


def _check_ours(path: Path) -> None:
    """Raise UsageError if a table or sidecar of that name is there without a sidecar of `save`."""
    beside = path.with_suffix(".json")
    if found := [place for place in (path, beside) if place.exists()]:
        try:
            ours = "csv_sha256" in checksum.loads(read_bytes(beside, MOST_JSON_BYTES), "", "")
        except (OSError, DataError):
            ours = False
        if not ours:
            raise UsageError(f"{found[-1]} was not written by pqchain; name another file")


def _temporary(path: Path, mode: int = 0o666) -> Path:
    """Make an empty file of a new name beside `path`; raises UsageError if no file can be there."""
    _check_place(path)
    try:
        temporary = _temporary_name(path)
        temporary.touch(mode=mode, exist_ok=False)
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from error
    return temporary


def _temporary_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")


def _unwritable(path: Path, error: Exception) -> UsageError:
    reason = getattr(error, "strerror", None) or error
    return UsageError(f"{path} cannot be written: {reason}; name another file")


def _check_place(path: Path) -> None:
    """Raise UsageError if there cannot be a file of that name, or something else has it."""
    try:
        if path.is_dir():
            raise UsageError(f"{path} is a folder; expected the name of a file")
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is no ordinary file, and would be replaced; name another")
        if not path.parent.is_dir():
            raise UsageError(
                f"{path} cannot be written: there is no folder {path.parent}; make it, or name a "
                "file in another one"
            )
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from error


def contract_of(frame: pd.DataFrame) -> Contract:
    """Return the contract that the frame was checked by. Raises DataError if it was by none."""
    plain = frame.attrs.get("contract", {})
    return _contract(plain.get("name"), plain.get("columns"), "attrs['contract'] of this frame")


def _contract(name: object, columns: Any, what: str) -> Contract:
    """Return a contract that was kept as plain data."""
    known = isinstance(columns, dict) and all(
        isinstance(dtype, str) and dtype in _PARSERS for dtype in columns.values()
    )
    if not isinstance(name, str) or not known:
        raise DataError(
            f"{what} does not say which columns there are; give contract=..., or make the numbers "
            "again"
        )
    return Contract(name, columns)


def _csv_path(path: str | Path) -> Path:
    """Return the path, which must end in .csv so that the sidecar has a name of its own."""
    path = Path(path)
    if path.suffix != ".csv":
        raise DataError(f"{path} is not the name of a table; it should end in .csv")
    return path


def _sidecar(path: Path) -> dict[str, Any]:
    """Read the sidecar of a CSV file and check its schema version."""
    beside = path.with_suffix(".json")
    remedy = "restore it, or make the numbers again"
    try:
        text = read_bytes(beside, MOST_JSON_BYTES)
    except FileNotFoundError:
        raise DataError(
            f"{path} has no sidecar {beside.name}, so nobody knows where its numbers come from; "
            "restore it, or write the table with pqchain.results.save"
        ) from None
    except OSError as error:
        raise DataError(f"cannot read the sidecar {beside}: {error}; {remedy}") from error
    version = ("schema_version", SCHEMA_VERSION)
    return checksum.loads(text, f"the sidecar {beside}", remedy, version=version)


def _cast(column: pd.Series[Any], dtype: str, what: str) -> pd.Series[Any]:
    """Return the column as that dtype; text is never parsed and nothing is rounded."""
    import numpy as np

    if dtype == "str":
        fits = column.map(lambda value: isinstance(value, str) and "\r" not in value)
    elif dtype == "bool":
        fits = column.map(lambda value: isinstance(value, (bool, np.bool_)))
    else:
        fits = column.map(lambda value: not isinstance(value, (str, bool, np.bool_)))
    fits = fits.astype(bool)
    wrong = column[~fits]
    if not wrong.empty:
        raise DataError(f"{what} holds {wrong.iloc[0]!r}; expected {_EXPECTED[dtype]} in every row")
    target: Any = dtype
    try:
        cast: pd.Series[Any] = column.astype(target)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} is not {dtype}: {error}") from error
    return cast


def _merged_provenance(provenances: list[dict[str, Any]]) -> dict[str, Any]:
    """Lift what all agree on; keep the rest per run. Runs of runs are flattened."""
    runs = []
    for provenance in provenances:
        shared = {key: value for key, value in provenance.items() if key != "runs"}
        runs += [shared | run for run in provenance.get("runs", [{}])]
    common = {
        key: value
        for key, value in runs[0].items()
        if all(key in run and run[key] == value for run in runs)
    }
    differing = [{key: run[key] for key in run if key not in common} for run in runs]
    return common | ({"runs": differing} if any(differing) else {})
