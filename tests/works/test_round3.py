"""Table 1 of the round-3 comparison: fourteen columns, and their plots."""

import math

import numpy as np
import pandas as pd
import pytest

from pqchain import algorithms
from pqchain.errors import DataError
from pqchain.works import papers
from pqchain.works.round3 import work as round3
from tests import frames

ALGORITHMS = (
    "Classic-McEliece-348864", "Kyber512", "NTRU-HPS-2048-509", "LightSaber-KEM",
    "Dilithium2", "Falcon-512", "Rainbow-I-Classic",
)  # fmt: skip


def measured(*, without: str = "") -> pd.DataFrame:
    """Measure every implementation of the seven; 0.7.1 takes twice as long, AVX2 a quarter."""
    records = []
    for number, name in enumerate(ALGORITHMS, start=1):
        row = algorithms.get(name)
        for implementation in row.implementations:
            if implementation.endswith("/dispatch") or (without and without in implementation):
                continue
            for step, operation in enumerate(row.operations, start=1):
                median = number * step * 1e-4
                median *= 2 if "0.7.1" in implementation else 1
                median /= 4 if implementation.endswith("/avx2") else 1
                more = {"median_cycles": median * 2.5e9, "reason": row.note(implementation)}
                records.append(frames.measurement(name, implementation, operation, median, **more))
    return frames.measured(*records)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return round3.table1(measured())


def cell(table: pd.DataFrame, algorithm: str, variant: str, quantity: str) -> dict:
    """Return one cell."""
    rows = table[(table["algorithm"] == algorithm) & (table["variant"] == variant)]
    (found,) = rows[rows["quantity"] == quantity].to_dict("records")
    return found


def test_all_fourteen_columns_are_measured(table):
    columns = table.groupby(["table", "variant", "printed_name"], sort=False)
    assert [key for key, _ in columns] == [
        ("table1-kem", variant, name)
        for variant in ("ref", "avx2")
        for name in ("McEliece", "Kyber", "NTRU", "Saber")
    ] + [
        ("table1-signature", variant, name)
        for variant in ("ref", "avx2")
        for name in ("Dilithium", "Falcon", "Rainbow")
    ]
    times = table[table["quantity"].str.endswith("_seconds")]
    assert set(times["verdict"]) == {"ok"}
    for (_, variant, name), cells in columns:
        assert len(cells) == 9
        (implementation,) = set(cells["implementation"])
        library, _, own = implementation.partition("/")
        assert own == variant
        dropped = name in ("NTRU", "Saber", "Rainbow")
        ours = (name, variant) == ("Rainbow", "avx2")
        expected = "rainbow" if ours else "liboqs-0.7.1" if dropped else "liboqs-0.13"
        assert library == expected


def test_every_published_number_of_both_halves_is_included(table):
    printed = papers.published("round3")
    printed = printed[printed["table"].isin(round3.HALVES)]
    assert table["printed"].tolist() == printed["value"].tolist()
    assert len(table) == 84 + 42
    assert cell(table, "Falcon-512", "avx2", "sign_cycles")["printed"] == 791943
    assert table["ours"].notna().all()


def test_speedups_are_ratios_of_one_side(table):
    gains = table.assign(
        printed_gain=round3.speedups(table, "printed"), our_gain=round3.speedups(table, "ours")
    )
    kyber = cell(gains, "Kyber512", "avx2", "decapsulate_seconds")
    assert kyber["printed_gain"] == pytest.approx(49 / 8)
    assert kyber["our_gain"] == pytest.approx(4)
    assert math.isnan(cell(gains, "Kyber512", "ref", "decapsulate_seconds")["our_gain"])
    assert math.isnan(cell(gains, "Kyber512", "avx2", "ciphertext_bytes")["our_gain"])
    assert gains["our_gain"].notna().sum() == gains["printed_gain"].notna().sum() == 21


def test_sizes_are_equal_or_of_another_version_or_definition(table):
    sizes = table[table["quantity"].str.endswith("_bytes")]
    other = sizes[sizes["verdict"] != "equal"]
    assert {
        (r.algorithm, r.quantity, r.printed, r.ours, r.verdict) for r in other.itertuples()
    } == {
        ("Classic-McEliece-348864", "ciphertext_bytes", 128, 96, "version"),
        ("Dilithium2", "secret_key_bytes", 2544, 2528, "version"),
        ("Falcon-512", "signature_bytes", 666, 655, "definition"),
    }
    assert all(other["note"])


def test_times_of_other_code_are_noted(table):
    times = table[table["quantity"].str.endswith("_seconds")]
    other = times[times["reason"].str.contains("here ")]
    assert set(zip(other["printed_name"], other["variant"], strict=True)) == {
        ("McEliece", "ref"), ("McEliece", "avx2"), ("NTRU", "ref"), ("Rainbow", "ref"),
        ("Rainbow", "avx2"),
    }  # fmt: skip


def test_sizes_are_those_of_the_implementation_in_the_column():
    older = round3.table1(measured(without="0.13"))
    ciphertext = cell(older, "Classic-McEliece-348864", "ref", "ciphertext_bytes")
    secret_key = cell(older, "Classic-McEliece-348864", "ref", "secret_key_bytes")
    assert (ciphertext["ours"], ciphertext["verdict"]) == (128, "equal")
    assert (secret_key["ours"], secret_key["printed"]) == (6452, 6492)


def test_unmeasured_cells_have_a_status():
    rows = measured()
    rows = rows[rows["algorithm"] != "NTRU-HPS-2048-509"].copy()
    lacking = rows["implementation"] == "liboqs-0.13/avx2"
    rows.loc[lacking, "status"] = "unsupported"
    rows.loc[lacking, ["median_seconds", "mad_seconds", "median_cycles"]] = math.nan
    rows.loc[lacking, "reason"] = "this processor lacks avx2"
    rows = rows[~rows["implementation"].str.startswith("liboqs-0.7.1")]
    partial = round3.table1(rows)
    assert len(partial) == 84 + 42
    ntru = cell(partial, "NTRU-HPS-2048-509", "ref", "encapsulate_seconds")
    assert (ntru["verdict"], ntru["implementation"]) == ("not measured", "")
    kyber = cell(partial, "Kyber512", "avx2", "encapsulate_seconds")
    assert (kyber["verdict"], kyber["note"]) == ("unsupported", "this processor lacks avx2")
    assert math.isnan(kyber["ours"])


def test_frame_of_another_kind_is_rejected(table):
    with pytest.raises(DataError, match="median_seconds"):
        round3.table1(table)


def test_cross_check_pairs_both_versions():
    checks = round3.cross_check(measured())
    assert set(checks["algorithm"]) == {
        "Classic-McEliece-348864", "Kyber512", "Dilithium2", "Falcon-512",
    }  # fmt: skip
    assert len(checks) == 4 * 3 * 2
    assert round3.cross_check(measured().head(0)).empty
    assert np.allclose(checks["other_seconds"], 2 * checks["main_seconds"])
    avx2 = checks["variant"] == "avx2"
    assert np.allclose(checks.loc[avx2, ["main_speedup", "other_speedup"]], 4)
    assert checks.loc[~avx2, ["main_speedup", "other_speedup"]].isna().all(axis=None)
