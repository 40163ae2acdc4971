"""Frames match their contracts, and files restore every bit and the provenance."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tests.frames
from pqchain import results
from pqchain.errors import DataError, UsageError
from pqchain.results import Contract, checksum, files
from pqchain.results.measurements import MEASUREMENT

PROVENANCE = {"machine_id": "amd-epyc-01234567", "load_avg_1min": 0.25, "native": {"a": ["b"]}}

TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\r"))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "str": TEXT,
    "Int64": st.integers(-(2**63), 2**63 - 1) | st.none(),
    "float64": st.floats(),
    "bool": st.booleans(),
}


def measurement(**changes: object) -> pd.DataFrame:
    """One valid row of a measurement frame."""
    row = tests.frames.measurement("Falcon-512", "liboqs-0.13/avx2", "verify", 46.1e-6)
    frame = pd.DataFrame([row | {"p95_seconds": 0.1 + 0.2} | changes])
    frame.attrs["provenance"] = dict(PROVENANCE)
    return frame


@st.composite
def frames(draw: st.DrawFn) -> tuple[Contract, pd.DataFrame]:
    """Any frame of any contract, including empty ones."""
    names = draw(st.lists(st.from_regex(r"[a-z]{1,9}", fullmatch=True), min_size=1, unique=True))
    dtypes = st.sampled_from(sorted(VALUES))
    contract = Contract("drawn", {name: draw(dtypes) for name in names})
    columns = contract.columns
    rows = draw(st.lists(st.tuples(*(VALUES[dtype] for dtype in columns.values())), max_size=4))
    series = {
        name: pd.Series([row[position] for row in rows], dtype=dtype)
        for position, (name, dtype) in enumerate(columns.items())
    }
    return contract, pd.DataFrame(series)


@settings(max_examples=50, deadline=None)
@given(frames())
def test_saved_frame_loads_bit_for_bit(tmp_path_factory, case):
    contract, frame = case
    path = tmp_path_factory.mktemp("saved") / "table.csv"
    results.save(frame, path, contract=contract, provenance=PROVENANCE)
    loaded = results.load(path)
    pd.testing.assert_frame_equal(loaded, frame, check_exact=True)
    assert loaded.attrs["provenance"] == PROVENANCE
    assert results.contract_of(loaded) == contract


def test_frame_is_saved_by_its_contract(tmp_path: Path) -> None:
    made = MEASUREMENT.frame(measurement(reason="NA").to_dict("records"))
    loaded = results.load(results.save(made, tmp_path / "a.csv", provenance=PROVENANCE))
    assert results.contract_of(loaded) == MEASUREMENT
    again = results.load(results.save(loaded, tmp_path / "b.csv"))
    pd.testing.assert_frame_equal(again, loaded, check_exact=True)
    with pytest.raises(DataError, match="name and columns of a contract; give contract="):
        results.save(measurement(), tmp_path / "a.csv")


def test_joined_frames_keep_their_contract() -> None:
    two = results.joined([measurement(), measurement(operation="sign")], MEASUREMENT)
    assert two["operation"].tolist() == ["verify", "sign"]
    none = results.joined([], MEASUREMENT)
    assert len(none) == 0
    assert dict(none.dtypes.astype(str)) == dict(two.dtypes.astype(str))


def save(frame: pd.DataFrame, path: Path, **options: Any) -> Path:
    """Save a measurement frame."""
    return results.save(frame, path, contract=MEASUREMENT, **options)


def test_sidecar_describes_the_file(tmp_path: Path) -> None:
    save(measurement(), tmp_path / "deep" / "a.csv")
    sidecar = json.loads((tmp_path / "deep" / "a.json").read_text(encoding="utf-8"))
    assert list(sidecar) == [
        "schema_version", "contract", "columns", "rows", "csv_sha256", "provenance", "sha256",
    ]  # fmt: skip
    assert (sidecar["schema_version"], sidecar["contract"], sidecar["rows"]) == (
        results.SCHEMA_VERSION,
        "measurement",
        1,
    )
    assert sidecar["columns"] == dict(MEASUREMENT.columns)
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["a.csv", "a.json"]


def test_same_frame_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(measurement(), tmp_path / f"{name}.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_check_orders_columns_and_casts_dtypes() -> None:
    frame = measurement(median_seconds=1, samples=2.0)
    checked = results.check(frame[frame.columns[::-1]], MEASUREMENT)
    assert list(checked.columns) == list(MEASUREMENT.columns)
    assert checked["samples"].dtype == "Int64"
    assert checked["median_seconds"].dtype == "float64"
    assert checked.attrs["provenance"] == frame.attrs["provenance"]
    assert results.contract_of(checked) == MEASUREMENT


def test_check_names_expected_and_actual_columns() -> None:
    frame = measurement().drop(columns="status").assign(extra=1)
    with pytest.raises(DataError) as caught:
        results.check(frame, MEASUREMENT)
    assert "'status'" in str(caught.value)
    assert "'extra'" in str(caught.value)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("reason", None),
        ("reason", 3.0),
        ("reason", "two\r\nlines"),
        ("algorithm", float("nan")),
        ("median_seconds", "fast"),
        ("median_seconds", "1.5"),
        ("median_seconds", True),
        ("samples", 1.5),
        ("samples", "10"),
    ],
)
def test_check_rejects_a_value_of_a_wrong_type(column: str, value: object) -> None:
    with pytest.raises(DataError, match=column):
        results.check(measurement(**{column: value}), MEASUREMENT)


@pytest.mark.parametrize(
    ("name", "message"), [("a.json", r"has no sidecar a\.json"), ("a.csv", "cannot read")]
)
def test_missing_file_is_rejected(tmp_path: Path, name: str, message: str) -> None:
    path = save(measurement(), tmp_path / "a.csv")
    (tmp_path / name).unlink()
    with pytest.raises(DataError, match=message):
        results.load(path)


def test_table_changed_after_saving_is_rejected(tmp_path: Path) -> None:
    path = save(measurement(), tmp_path / "a.csv")
    path.write_text(path.read_text(encoding="utf-8").replace("Falcon", "Hawk"), encoding="utf-8")
    with pytest.raises(DataError, match="changed after its sidecar"):
        results.load(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"schema_version": 99}', "{}"])
def test_unknown_or_broken_sidecar_is_rejected(tmp_path: Path, text: str) -> None:
    path = save(measurement(), tmp_path / "a.csv")
    path.with_suffix(".json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"sidecar|schema version .* reads 3; use the pqchain that"):
        results.load(path)


def with_valid_checksum(content: dict[str, Any]) -> str:
    """Return the content with a valid checksum."""
    content.pop(checksum.FIELD, None)
    return checksum.dumps(content)


def test_table_with_other_columns_than_its_sidecar_is_rejected(tmp_path: Path) -> None:
    path = save(measurement(), tmp_path / "a.csv")
    file = path.with_suffix(".json")
    text = file.read_text(encoding="utf-8").replace('"operation"', '"step"')
    with pytest.raises(DataError, match="changed after it was written; restore it"):
        file.write_text(text)
        results.load(path)
    file.write_text(with_valid_checksum(json.loads(text)))
    with pytest.raises(DataError, match=r"columns \[.*'step'.*got \['algorithm'"):
        results.load(path)


@pytest.mark.parametrize("columns", ["[]", '{"algorithm": "text"}', '{"algorithm": ["str"]}'])
def test_sidecar_with_unknown_column_types_is_rejected(tmp_path: Path, columns: str) -> None:
    path = save(measurement(), tmp_path / "a.csv")
    file = path.with_suffix(".json")
    sidecar = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(
        with_valid_checksum(sidecar | {"columns": json.loads(columns)}), encoding="utf-8"
    )
    with pytest.raises(DataError, match="must have a name and columns of a contract"):
        results.load(path)


HOSTILE = {
    "provenance null": {"provenance": None},
    "provenance a text": {"provenance": "amd"},
    "provenance a list": {"provenance": [1]},
    "900 levels": {"provenance": json.loads('{"a":' * 900 + "1" + "}" * 900)},
    "30 levels": {"provenance": {"a": json.loads("[" * 30 + "]" * 30)}},
    "NaN": {"provenance": {"load_average": math.nan}},
    "infinite": {"provenance": {"cpu_flags": [math.inf]}},
    "processors a text": {"provenance": {"cpu_count": "2"}},
    "processors of 40 digits": {"provenance": {"cpu_count": 10**40}},
    "machine a list": {"provenance": {"machine_id": ["a"]}},
    "schemes not objects": {"provenance": {"schemes": ["Mine"]}},
    "scheme of another name": {"provenance": {"schemes": [{"name": "=1+1"}]}},
    "scheme without a name": {"provenance": {"schemes": [{}]}},
    "lone surrogate": {"provenance": {"note": "\ud800"}},
    "contract with control characters": {"contract": "a\x1b[2J"},
    "columns a list": {"columns": ["algorithm"]},
}


def with_checksums(path: Path, table: bytes, changes: dict[str, Any]) -> None:
    """Write a table, and its sidecar with changes, as a program that knows the format does."""
    sidecar = path.with_suffix(".json")
    plain = checksum.loads(sidecar.read_bytes(), "", "") | changes
    plain["csv_sha256"] = hashlib.sha256(table).hexdigest()
    path.write_bytes(table)
    sidecar.write_bytes(checksum.dumps(plain, allow_nan=True).encode(errors="surrogatepass"))


@pytest.mark.parametrize("kind", HOSTILE)
def test_wrong_sidecar_with_the_right_checksum_is_rejected(tmp_path: Path, kind: str) -> None:
    path = results.save(measurement(), tmp_path / "a.csv", contract=MEASUREMENT)
    with_checksums(path, path.read_bytes(), HOSTILE[kind])
    with pytest.raises(DataError):
        results.load(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"1000,", b"1.5,"), (b"1000,", b"9" * 40 + b","), (b"4.61e-05", b"5e-324"),
        (b"4.61e-05", b"1e300"), (b"4.61e-05", b"-1e-200"),
        (b"4.61e-05", b"fast"), (b"ok,", b'"ok,'), (b"Falcon-512", b"Falcon\xff"),
        (b"Falcon-512", b"=1+1"), (b"Falcon-512", b"a\x1b[2J"), (b"Falcon-512", b"a" * 5000),
        (b"verify", b"$\\frac$"), (b"liboqs-0.13/avx2", b"@SUM(1)"), (b"Falcon-512", b"\0"),
    ],
)  # fmt: skip
def test_wrong_table_with_the_right_checksum_is_rejected(tmp_path, old, new):
    path = results.save(measurement(), tmp_path / "a.csv", contract=MEASUREMENT)
    table = path.read_bytes()
    assert old in table
    with_checksums(path, table.replace(old, new), {})
    with pytest.raises(DataError):
        results.load(path)
    with_checksums(path, table.decode().encode("utf-16"), {})
    with pytest.raises(DataError, match="does not have the content of a measurement frame"):
        results.load(path)
    with_checksums(path, table, {})
    assert len(results.load(path)) == 1


def test_content_that_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    for frame, provenance in (
        (measurement(algorithm="=1+1"), {}), (measurement(median_seconds=5e-324), {}),
        (measurement(), {"schemes": [1]}),
    ):  # fmt: skip
        with pytest.raises(DataError):
            results.save(frame, tmp_path / "a.csv", contract=MEASUREMENT, provenance=provenance)
    assert not list(tmp_path.iterdir())


def test_only_csv_names_are_accepted(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"end in \.csv"):
        save(measurement(), tmp_path / "a.json")
    with pytest.raises(DataError, match=r"end in \.csv"):
        results.load(tmp_path / "a")


@pytest.mark.parametrize("value", [float("nan"), object(), {1, 2}])
def test_provenance_must_be_plain_json(tmp_path: Path, value: object) -> None:
    with pytest.raises(DataError, match="not plain JSON"):
        save(measurement(), tmp_path / "a.csv", provenance={"a": value})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.csv", "a.json"])
@pytest.mark.parametrize("text", ["mine", "{}", '{"csv_sha256": ""}'])
def test_foreign_files_are_not_replaced(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    for refused in (results.check_table, lambda path: save(measurement(), path)):
        with pytest.raises(UsageError, match=f"{name} was not written by pqchain; name another"):
            refused(tmp_path / "a.csv")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {name: text}


def test_complete_and_partial_saves_are_replaced(tmp_path, monkeypatch):
    path, written = tmp_path / "a.csv", []
    write = files.write_atomically

    def ends_after_one(place: Path, content: str | bytes) -> None:
        if written:
            raise KeyboardInterrupt
        written.append(place)
        write(place, content)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(results, "write_atomically", ends_after_one)
        save(measurement(), path)
    save(measurement(), path)
    save(measurement(reason="again"), path)
    assert results.load(path)["reason"].tolist() == ["again"]
