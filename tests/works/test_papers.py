"""The papers' tables: as printed, consistent with themselves, and readable."""

import csv
import shutil
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

from pqchain import algorithms, installation, results
from pqchain.errors import DataError, UnknownPaper
from pqchain.works import papers
from pqchain.works.papers import PUBLISHED
from tests.works.expectations import EXPECTED, KEYS

EVERY_TABLE = [(key, name) for key in KEYS for name in EXPECTED[key]["tables"]]


ROOT = Path(__file__).resolve().parents[2]


def printed(key: str, name: str) -> list[list[str]]:
    """Return the cells of a CSV file, headings first."""
    path = installation.data("papers") / key / papers.paper(key).tables[name].file
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def cell(key: str, table: str, printed_name: str, quantity: str, implementation: str = ""):
    """Return one number of a paper."""
    (found,) = [
        found
        for found in papers.cells(key)
        if (found.table, found.printed_name, found.quantity, found.implementation)
        == (table, printed_name, quantity, implementation)
    ]
    return found


# What there is


def test_there_are_these_works():
    assert papers.keys() == KEYS


@pytest.mark.parametrize("key", KEYS)
def test_tables_titles_numbers_units_and_errata_are_these(key):
    paper, frame = papers.paper(key), papers.published(key)
    found = {
        "title": paper.title,
        "title_korean": paper.title_korean,
        "tables": papers.tables(key),
        "numbers": len(frame),
        "units": sorted(set(frame["unit"])),
        "errata": [[each.table, each.row, each.printed] for each in paper.errata],
    }
    assert found == {name: EXPECTED[key][name] for name in found}


@pytest.mark.parametrize("key", KEYS)
def test_every_csv_belongs_to_a_table_and_every_name_to_the_registry(key):
    paper = papers.paper(key)
    files = {path.name for path in (installation.data("papers") / key).glob("*.csv")}
    assert {table.file for table in paper.tables.values()} == files
    for printed_name, name in paper.names.items():
        assert algorithms.get(name).name == name
        assert any(
            found.printed_name.startswith(printed_name) or found.algorithm == name
            for found in papers.cells(key)
        ) or any(printed_name in row for row in printed(key, "algorithms"))


def test_titles_that_are_not_the_works_own_say_so():
    for key in ("pqdpol", "round3"):
        assert "not the printed one" in papers.paper(key).title_note


def test_citation_names_authors_title_and_year():
    assert papers.paper("quic-reencoding").citation == (
        '노윤지 (Youn-Ji Noh), 이명철 (Myungcheol Lee), "Performance Evaluation of QUIC-based '
        'Data Transmission for Block Re-encoding", 2023'
    )


# As printed


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
def test_the_files_hold_the_print_digit_for_digit(key, table, row, value):
    headings, *rows = printed(key, table)
    assert value in {
        field for fields in rows if fields[headings.index("name")] == row for field in fields
    }


def test_no_thousands_separators_and_no_spaces_at_the_ends():
    for key, name in EVERY_TABLE:
        headings, *rows = printed(key, name)
        for fields in rows:
            for heading, field in zip(headings, fields, strict=True):
                assert field == field.strip()
                if heading not in ("name", "library", "section"):
                    assert "," not in field


def test_wide_table_in_si_units():
    frame = papers.table("pqdpol", "table4").head(2)
    expected = pd.DataFrame(
        {
            "algorithm": ["Dilithium2", "Dilithium3"],
            "printed_name": ["Dilithium 2", "Dilithium 3"],
            "generate_keypair_seconds": [0.000045, 0.000098],
            "sign_seconds": [0.000163, 0.000196],
            "verify_seconds": [0.000047, 0.000077],
        }
    )
    pd.testing.assert_frame_equal(frame, expected)
    assert frame.attrs == {
        "caption": "Execution speed comparison of PQC (unit: second).",
        "description": "Times of key generation, signing and verification.",
        "section": "4.3",
        "source": f"{papers.paper('pqdpol').citation}, table4",
        "units": {"generate_keypair_seconds": "s", "sign_seconds": "s", "verify_seconds": "s"},
        "errata": [],
    }


def test_table_of_two_implementations_converts_milliseconds_exactly():
    frame = papers.table("round3", "table1-signature")
    expected = pd.DataFrame(
        {
            "algorithm": ["Dilithium2", "Falcon-512", "Rainbow-I-Classic"] * 2,
            "printed_name": ["Dilithium", "Falcon", "Rainbow"] * 2,
            "implementation": ["ref"] * 3 + ["avx2"] * 3,
            "public_key_bytes": [1312, 897, 161600] * 2,
            "secret_key_bytes": [2544, 1281, 103648] * 2,
            "signature_bytes": [2420, 666, 66] * 2,
            "generate_keypair_seconds": [0.000094, 0.016077, 0.00602, 0.00003, 0.007501, 0.002746],
            "generate_keypair_cycles": [306687, 55331852, 20561806, 102199, 24239478, 8804507],
            "sign_seconds": [0.000436, 0.004589, 0.000075, 0.000093, 0.000228, 0.00002],
            "sign_cycles": [1421964, 15627886, 257876, 313917, 791943, 74602],
            "verify_seconds": [0.000111, 0.000047, 0.000014, 0.000035, 0.000044, 0.000014],
            "verify_cycles": [363506, 156081, 47324, 119420, 151819, 53823],
        }
    )
    pd.testing.assert_frame_equal(frame, expected, check_exact=True)


def test_table_across_a_parameter():
    frame = papers.table("pqdpol", "table6")
    assert list(frame.columns) == ["algorithm", "printed_name", "n", "latency_seconds"]
    assert len(frame) == 30
    dilithium2 = frame[frame["algorithm"] == "Dilithium2"]
    assert dilithium2["n"].tolist() == [1, 2, 3, 4, 5]
    assert dilithium2["latency_seconds"].tolist() == [0.1165, 0.4644, 1.8316, 7.33, 29.3506]
    assert frame.attrs["units"] == {"latency_seconds": "s"}


def test_table_with_a_dash_where_nothing_is_printed():
    frame = papers.table("falcon-hls", "table3")
    expected = pd.DataFrame(
        {
            "algorithm": ["Falcon-512", "Falcon-1024"] * 2,
            "printed_name": ["FALCON-512", "FALCON-1024"] * 2,
            "group": ["M4 SW"] * 2 + ["Ours (SW+HW)"] * 2,
            "implementation": ["cortex-m4"] * 2 + ["cortex-m4+artix-7"] * 2,
            "sign_seconds": [0.4111, 0.8798, 0.0401, 0.0832],
            "speed_up": [10.25, 10.57, float("nan"), float("nan")],
        }
    )
    pd.testing.assert_frame_equal(frame, expected)


def test_table_without_algorithms_has_no_such_column():
    frame = papers.table("quic-reencoding", "table1")
    assert list(frame.columns) == ["printed_name", "task", "duration_seconds", "share_percent"]
    assert frame["duration_seconds"].tolist() == [4.9978, 1.0865, 0.4342, 0.0071, 0.0319, 6.5575]


def test_program_output_keeps_text_and_converts_microseconds():
    frame = papers.table("mini-blockchain", "blockchain").set_index("quantity")
    assert frame.loc["transaction_verify_seconds", "value"] == 0.0000562853
    assert frame.loc["transaction_verify_seconds", "printed"] == "56.2853"
    assert frame.loc["transaction_verify_seconds", "unit"] == "s"
    assert frame.loc["tampered_validation_result", "printed"] == "FAIL (as expected)"
    assert pd.isna(frame.loc["tampered_validation_result", "value"])
    assert frame.loc["previous_hash", "printed"] == (
        "c61d8920e8cf69c388bc2ff68105714dd07012ff5772a76a189ddcbdbf5736b8"
    )
    assert frame.loc["block_hash", "printed"] == (
        "78943117b57788c6911892540053f6748b583e268a17c866c9e5917d0bbdc237"
    )


@pytest.mark.parametrize(("key", "name"), EVERY_TABLE)
def test_every_table_reads_without_missing_text(key, name):
    frame = papers.table(key, name)
    assert len(frame)
    assert set(frame.attrs) == {"caption", "description", "section", "source", "units", "errata"}
    text = frame.select_dtypes(exclude="number")
    assert not text.isna().any(axis=None)


# Published numbers in one frame


def test_published_keeps_the_contract_and_every_paper():
    frame = papers.published()
    pd.testing.assert_frame_equal(results.check(frame, PUBLISHED), frame)
    assert len(frame) == sum(each["numbers"] for each in EXPECTED.values())
    pd.testing.assert_frame_equal(
        papers.published("round3"), frame[frame["paper"] == "round3"].reset_index(drop=True)
    )


def test_published_rows_literally():
    frame = papers.published("quic-reencoding").head(2)
    expected = [
        {
            "paper": "quic-reencoding",
            "table": "table1",
            "algorithm": "",
            "printed_name": "QUIC 전송",
            "implementation": "",
            "quantity": quantity,
            "value": value,
            "unit": unit,
            "note": "",
            "other_code": "",
        }
        for quantity, value, unit in [
            ("duration_seconds", 4.9978, "s"),
            ("share_percent", 76.21, "%"),
        ]
    ]
    assert frame.to_dict("records") == expected


def test_a_row_across_a_parameter_names_it():
    found = cell("pqdpol", "table5", "Falcon 512, n = 5", "throughput_per_second")
    assert (found.algorithm, found.value, found.unit) == ("Falcon-512", Decimal("1.111"), "1/s")
    assert found.note.startswith("prints 1.111, expected 1.1119: ")


def test_rounding_of_the_print():
    milliseconds = cell("round3", "table1-kem", "Kyber", "generate_keypair_seconds", "avx2")
    assert milliseconds.rounding == Decimal("0.0000005")
    cycles = cell("round3", "table1-kem", "Kyber", "generate_keypair_cycles", "avx2")
    assert cycles.rounding == 0
    assert cell("quic-reencoding", "prose", "Chunk", "chunk_megabytes").rounding == Decimal("0.05")


# Errata


@pytest.mark.parametrize(
    ("key", "number"), [(key, n) for key in KEYS for n in range(len(papers.paper(key).errata))]
)
def test_every_erratum_quotes_the_print(key, number):
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
    # The expected values of the two errata do fit.
    for throughput, latency, product in [
        ("1.1119", "26.4582", "29.42"),
        ("30.5676", "0.4907", "15"),
    ]:
        low = Decimal(throughput) * Decimal(latency)
        assert low <= Decimal(product) <= (Decimal(throughput) + digit) * (Decimal(latency) + digit)


def test_pqdpol_fill_of_a_block_fits_into_50_kb():
    """The product is the number of transactions in a block: with keys and signatures they fit."""
    for name, count in [
        ("Dilithium2", 12),
        ("Dilithium3", 9),
        ("Dilithium5", 6),
        ("Falcon-512", 29.42),
        ("Falcon-1024", 15),
        ("SPHINCS+-SHA2-128f-simple", 2),
    ]:
        costs = papers.costs("pqdpol")[name]
        payload = costs.public_key_bytes + costs.signature_bytes
        assert count * payload < 50_000 < (count + 1.3) * (payload + 120) + 2_570


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


def test_round3_prints_the_same_sizes_for_both_implementations():
    for name in ("table1-kem", "table1-signature"):
        frame = papers.table("round3", name)
        columns = [column for column in frame if str(column).endswith("_bytes")]
        sizes = frame.groupby("printed_name")[columns].nunique()
        assert (sizes == 1).all(axis=None)


def test_round3_prose_quotes_the_table():
    quoted = {
        "Dilithium key generation, AVX2, as quoted": ("Dilithium", "generate_keypair_seconds"),
        "Rainbow signing, AVX2, as quoted": ("Rainbow", "sign_seconds"),
    }
    for heading, (name, quantity) in quoted.items():
        in_text = cell("round3", "prose", heading, "quoted_seconds").value
        assert in_text == cell("round3", "table1-signature", name, quantity, "avx2").value
    falcon = cell("round3", "prose", "Falcon signing, AVX2, as quoted", "quoted_seconds")
    assert (
        falcon.value != cell("round3", "table1-signature", "Falcon", "sign_seconds", "avx2").value
    )
    assert falcon.note


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


def test_mini_blockchain_offers_what_the_registry_has():
    frame = papers.table("mini-blockchain", "algorithms")
    assert [algorithms.get(name).family for name in frame["algorithm"]] == frame["family"].tolist()


# Costs


def test_costs_of_pqdpol_are_the_print():
    table = papers.costs("pqdpol")
    assert table.source == "paper:pqdpol"
    assert list(table) == [
        "Dilithium2",
        "Dilithium3",
        "Dilithium5",
        "Falcon-512",
        "Falcon-1024",
        "SPHINCS+-SHA2-128f-simple",
        "SPHINCS+-SHA2-192f-simple",
        "SPHINCS+-SHA2-256f-simple",
    ]
    falcon = table["Falcon 512"]
    assert (falcon.public_key_bytes, falcon.signature_bytes) == (897, 666)
    assert falcon.generate_keypair_seconds == 0.011444
    assert (falcon.sign_seconds, falcon.verify_seconds) == (0.000512, 0.000075)


def test_costs_of_a_paper_with_two_implementations():
    assert papers.costs("round3")["Falcon-512"].sign_seconds == 0.000228
    assert papers.costs("round3", "ref")["Falcon-512"].sign_seconds == 0.004589
    assert papers.costs("round3").source == "paper:round3 (avx2)"
    assert papers.costs("round3", "ref")["Falcon-512"].source == "paper:round3 (ref)"


def test_costs_where_only_a_maximum_is_printed():
    costs = papers.costs("mini-blockchain")["Falcon-512"]
    assert costs.signature_bytes == algorithms.get("Falcon-512").signature_bytes
    assert costs.source == "paper:mini-blockchain, length of signatures from the registry"


@pytest.mark.parametrize("key", ["falcon-hls", "quic-reencoding"])
def test_costs_of_a_paper_that_prints_none(key):
    with pytest.raises(DataError, match=r"must print a public key and the times .* pqdpol"):
        papers.costs(key)


# Bad input


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(UnknownPaper, match=r"unknown paper 'pqdpool'; did you mean 'pqdpol'\?"):
        papers.table("pqdpool", "table1")
    with pytest.raises(UnknownPaper, match=r"unknown table of round3 'table1'; did you mean"):
        papers.table("round3", "table1")


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of the data that a test may spoil."""
    folder = tmp_path / "papers"
    shutil.copytree(installation.data("papers"), folder)
    monkeypatch.setattr(installation, "data", lambda name: folder)
    return folder


def replace(path: Path, old: str, new: str) -> None:
    """Spoil a file."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "table4.csv",
            "0.000163",
            "fast",
            "sign_seconds must be a number in s .*; got 'fast'",
        ),
        (
            "table4.csv",
            "0.000163",
            "NaN",
            "sign_seconds must be a number in s .*; got 'NaN'",
        ),
        ("table4.csv", "0.000163,", "", r"table4\.csv, line 2 must have 4 fields, .* got 3"),
        ("table4.csv", "verify_seconds", "sign_seconds", "must have distinct headings"),
        ("table4.csv", "name,", "scheme,", "must have distinct headings, one of them 'name'"),
        ("paper.toml", "title = ", "title ", "cannot read .*paper.toml"),
        ("paper.toml", "venue", "where", "must have exactly the fields"),
        ("paper.toml", "authors = []", "", "must have exactly the fields"),
        ("paper.toml", "layout = ", "shape = ", "must have exactly the fields"),
        ("paper.toml", '"table4.csv"', '"table9.csv"', r"cannot read .*table9\.csv"),
    ],
)
def test_spoiled_files_are_named(copy, file, old, new, message):
    replace(copy / "pqdpol" / file, old, new)
    with pytest.raises(DataError, match=message):
        papers.published("pqdpol")


def test_a_csv_without_any_line_is_named(copy):
    (copy / "pqdpol" / "table4.csv").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match=r"cannot read .*table4\.csv"):
        papers.table("pqdpol", "table4")


def test_a_csv_that_is_not_text_is_named(copy):
    (copy / "pqdpol" / "table4.csv").write_bytes(b"name\xff\n")
    with pytest.raises(DataError, match=r"cannot read .*table4\.csv"):
        papers.table("pqdpol", "table4")


@pytest.mark.parametrize("key", KEYS)
def test_every_work_is_in_the_readme_and_can_be_cited(key):
    assert f"| `{key}` |" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f'notes: "Key {key}.' in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_works_with_costs_are_those_whose_costs_can_be_asked_for():
    for key in KEYS:
        if key in papers.with_costs():
            assert papers.costs(key).source.startswith(f"paper:{key}")
        else:
            with pytest.raises(DataError, match="papers with costs: mini-blockchain, pqdpol"):
                papers.costs(key)
