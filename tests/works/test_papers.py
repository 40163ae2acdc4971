"""Tables, published numbers and costs of the papers."""

from decimal import Decimal

import pandas as pd
import pytest

from pqchain import algorithms, results
from pqchain.errors import DataError, UnknownPaper
from pqchain.works import papers
from pqchain.works.papers import PUBLISHED
from tests.works.expectations import EVERY_TABLE, EXPECTED, KEYS, cell

# Works


def test_works_are_pinned():
    assert papers.keys() == KEYS


@pytest.mark.parametrize("key", KEYS)
def test_tables_titles_numbers_units_and_errata_are_pinned(key):
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


def test_every_table_reads_without_missing_text():
    for key, name in EVERY_TABLE:
        frame = papers.table(key, name)
        assert len(frame), (key, name)
        assert not frame.select_dtypes(exclude="number").isna().any(axis=None), (key, name)


# Published numbers in one frame


def test_published_frame_matches_its_contract_and_has_every_paper():
    frame = papers.published()
    pd.testing.assert_frame_equal(results.check(frame, PUBLISHED), frame)
    assert len(frame) == sum(each["numbers"] for each in EXPECTED.values())
    pd.testing.assert_frame_equal(
        papers.published("round3"), frame[frame["paper"] == "round3"].reset_index(drop=True)
    )


def test_printed_name_includes_the_parameter():
    result = cell("pqdpol", "table5", "Falcon 512, n = 5", "throughput_per_second")
    assert (result.algorithm, result.value, result.unit) == ("Falcon-512", Decimal("1.111"), "1/s")
    assert result.note.startswith("prints 1.111, expected 1.1119: ")


def test_rounding_follows_the_printed_digits():
    milliseconds = cell("round3", "table1-kem", "Kyber", "generate_keypair_seconds", "avx2")
    assert milliseconds.rounding == Decimal("0.0000005")
    cycles = cell("round3", "table1-kem", "Kyber", "generate_keypair_cycles", "avx2")
    assert cycles.rounding == 0
    assert cell("quic-reencoding", "prose", "Chunk", "chunk_megabytes").rounding == Decimal("0.05")


# Costs


def test_costs_of_pqdpol_equal_the_tables():
    table = papers.costs("pqdpol")
    assert table.source == "paper:pqdpol"
    assert list(table) == papers.table("pqdpol", "table4")["algorithm"].tolist()
    assert len(table) == 8
    falcon = table["Falcon 512"]
    assert (falcon.public_key_bytes, falcon.signature_bytes) == (897, 666)
    assert falcon.generate_keypair_seconds == 0.011444
    assert (falcon.sign_seconds, falcon.verify_seconds) == (0.000512, 0.000075)


def test_costs_follow_the_implementation():
    assert papers.costs("round3")["Falcon-512"].sign_seconds == 0.000228
    assert papers.costs("round3", "ref")["Falcon-512"].sign_seconds == 0.004589
    assert papers.costs("round3").source == "paper:round3 (avx2)"
    assert papers.costs("round3", "ref")["Falcon-512"].source == "paper:round3 (ref)"


def test_registry_length_replaces_a_printed_maximum():
    costs = papers.costs("mini-blockchain")["Falcon-512"]
    assert costs.signature_bytes == algorithms.get("Falcon-512").signature_bytes
    assert costs.source == "paper:mini-blockchain, length of signatures from the registry"


# Invalid input


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(UnknownPaper, match=r"unknown paper 'pqdpool'; did you mean 'pqdpol'\?"):
        papers.table("pqdpool", "table1")
    with pytest.raises(UnknownPaper, match=r"unknown table of round3 'table1'; did you mean"):
        papers.table("round3", "table1")


def test_with_costs_lists_the_papers_with_costs():
    for key in KEYS:
        if key in papers.with_costs():
            assert papers.costs(key).source.startswith(f"paper:{key}")
        else:
            with pytest.raises(DataError, match="papers with costs: mini-blockchain, pqdpol"):
                papers.costs(key)
