"""The published tables agree with themselves, with their text and with the registry."""

from decimal import Decimal
from pathlib import Path

import pytest

from pqchain import algorithms, installation
from pqchain.works import papers
from tests.works.expectations import EVERY_TABLE, KEYS, cell, printed

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("key", KEYS)
def test_every_csv_has_a_table_and_every_name_a_registry_row(key):
    paper = papers.paper(key)
    files = {path.name for path in (installation.data("papers") / key).glob("*.csv")}
    assert {table.file for table in paper.tables.values()} == files
    for printed_name, name in paper.names.items():
        assert algorithms.get(name).name == name
        assert any(
            found.printed_name.startswith(printed_name) or found.algorithm == name
            for found in papers.cells(key)
        ) or any(printed_name in row for row in printed(key, "algorithms"))


# Rule of printed numbers: docs/numbers.md


@pytest.mark.parametrize("key", KEYS)
def test_value_of_the_text_counts_once(key):
    # Where a value is repeated, one row names all sections instead of a row for each.
    rows = [
        (
            number.printed_name.rpartition(", ")[0] or number.printed_name,
            *(number.quantity, number.value, number.unit),
        )
        for number in papers.cells(key)
        if number.table == "prose"
    ]
    assert len(rows) == len(set(rows))


# Printed digits


@pytest.mark.parametrize(
    ("key", "table", "row", "value"),
    [
        ("pqdpol", "table5", "Dilithium 2", "102.9905"),
        ("pqdpol", "table6", "Falcon 1024", "0.7907"),
        ("pqdpol", "table4", "Dilithium 5", "0.00011"),
        ("pqdpol", "table4", "Sphincs SHA256-192f simple", "0.000880"),
        ("pqdpol", "table4", "Sphincs SHA256-256f simple", "0.001500"),
        ("round3", "table1-signature", "Rainbow", "6.020"),
        ("round3", "table1-signature", "Dilithium", "0.030"),
        ("falcon-hls", "table3", "FALCON-512", "x10.25"),
        ("mini-blockchain", "blockchain", "Avg tx size (block_size / tx_count)", "2497.14"),
    ],
)
def test_files_keep_the_printed_digits(key, table, row, value):
    headings, *rows = printed(key, table)
    assert value in {
        field for fields in rows if fields[headings.index("name")] == row for field in fields
    }


def test_numbers_have_no_separators_or_spaces():
    for key, name in EVERY_TABLE:
        headings, *rows = printed(key, name)
        for fields in rows:
            for heading, field in zip(headings, fields, strict=True):
                assert field == field.strip()
                if heading not in ("name", "library", "section"):
                    assert "," not in field


# Errata


@pytest.mark.parametrize(
    ("key", "number"), [(key, n) for key in KEYS for n in range(len(papers.paper(key).errata))]
)
def test_every_erratum_quotes_the_printed_value(key, number):
    erratum = papers.paper(key).errata[number]
    assert erratum.expected and erratum.reason
    if not erratum.row:
        assert erratum.printed in papers.paper(key).tables[erratum.table].caption
        return
    headings, *rows = printed(key, erratum.table)
    fields = [row for row in rows if row[headings.index("name")] == erratum.row]
    assert fields
    assert {row[headings.index(erratum.column)] for row in fields} == {erratum.printed}


# Consistency of the tables with themselves


def test_pqdpol_throughput_times_latency_is_constant():
    """Tables 5 and 6 are cut to four decimals; then one product fits all five networks."""
    products = {
        "Dilithium 2": "12",
        "Dilithium 3": "9",
        "Dilithium 5": "6",
        "Falcon 512": "29.42",
        "Falcon 1024": "15",
        "Sphincs SHA256-128f simple": "2",
    }
    digit = Decimal("0.0001")
    misfits = []
    for name, product in products.items():
        for n in range(1, 6):
            heading = f"{name}, n = {n}"
            throughput = cell("pqdpol", "table5", heading, "throughput_per_second").value
            latency = cell("pqdpol", "table6", heading, "latency_seconds").value
            upper = (throughput + digit) * (latency + digit)
            if not throughput * latency <= Decimal(product) <= upper:
                misfits.append(heading)
    assert misfits == ["Falcon 512, n = 5", "Falcon 1024, n = 2"]
    # The expected values of the two errata agree.
    for throughput, latency, product in [
        ("1.1119", "26.4582", "29.42"),
        ("30.5676", "0.4907", "15"),
    ]:
        low = Decimal(throughput) * Decimal(latency)
        assert low <= Decimal(product) <= (Decimal(throughput) + digit) * (Decimal(latency) + digit)


def test_round3_cycles_agree_with_milliseconds():
    """3.40 GHz within 10 %, the rounding of the print allowed for."""
    implied = {}
    for name in ("table1-kem", "table1-signature"):
        frame = [found for found in papers.cells("round3") if found.table == name]
        cycles = {
            (found.printed_name, found.implementation, found.quantity): found.value
            for found in frame
            if found.unit == "cycles"
        }
        for found in frame:
            if found.unit == "s":
                quantity = found.quantity.replace("_seconds", "_cycles")
                count = cycles.pop((found.printed_name, found.implementation, quantity))
                low = float(count / (found.value + found.rounding))
                high = float(count / (found.value - found.rounding))
                assert low < 3.4e9 * 1.1 and high > 3.4e9 * 0.9
                key = (found.printed_name, found.implementation, found.quantity)
                implied[key] = float(count / found.value) / 1e9
        assert not cycles
    assert len(implied) == 42
    outer = {key: round(clock, 2) for key, clock in implied.items() if abs(clock - 3.4) > 0.3}
    assert outer == {
        ("Rainbow", "avx2", "sign_seconds"): 3.73,
        ("Rainbow", "avx2", "verify_seconds"): 3.84,
    }
    assert round(min(implied.values()), 2) == 3.21


def test_falcon_hls_percentages_imply_one_device():
    """Vivado reports these totals for an XC7A200T."""
    row = papers.table("falcon-hls", "table2").iloc[0]
    for resource, total in (
        ("lookup_tables", 133_800),
        ("flip_flops", 269_200),
        ("dsp_blocks", 740),
    ):
        assert round(100 * row[resource] / total, 2) == row[f"{resource}_percent"]


def test_levels_agree_with_the_registry():
    for key, names in (("pqdpol", ("table1", "table2", "table3")), ("falcon-hls", ("table1",))):
        for name in names:
            for row in papers.table(key, name).to_dict("records"):
                assert algorithms.get(row["algorithm"]).nist_level == row["nist_level"]


@pytest.mark.parametrize("key", KEYS)
def test_every_work_is_in_the_readme_and_can_be_cited(key):
    assert f"| `{key}` |" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f'notes: "Key {key}.' in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
