"""Measurements of blocks: the frame must agree with the chain."""

import dataclasses
import math

import pytest

from pqchain import algorithms, installation, plots, results
from pqchain.bench import blocks as blockbench
from pqchain.bench import tables
from pqchain.bench.blocks import BLOCK, measure_blocks
from pqchain.bench.presets import PRESETS, BlockPreset
from pqchain.chain import bulk, encoded_size, header_bytes
from pqchain.errors import NativeLibraryBroken, UnknownAlgorithm, Unsupported, UsageError
from pqchain.works import registry
from pqchain.works.verdicts import OPEN
from tests import frames

COLUMNS = [name for name, dtype in BLOCK.columns.items() if dtype == "float64"]


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Return the smallest preset."""
    use(monkeypatch, BlockPreset(2, 0.01, 0.5, 3, 0.01))


def use(monkeypatch, blocks):
    """Let the preset `quick` measure blocks like this."""
    quick = dataclasses.replace(PRESETS["quick"], blocks=blocks)
    monkeypatch.setitem(PRESETS, "quick", quick)


def test_frame_sizes_equal_the_encoded_bytes():
    frame = measure_blocks("Ed25519", transactions=20, threads=(1, 2))
    assert list(frame.columns) == list(BLOCK.columns)
    assert list(frame["threads"]) == [1, 2]
    for row in frame.to_dict("records"):
        assert row["status"] == "ok"
        assert row["block_bytes"] == header_bytes() + 20 * encoded_size("Ed25519")
        assert row["transaction_bytes"] == row["block_bytes"] / 20
        assert (row["valid"], row["tampered"]) == ("yes", "bad signature")
        assert len(row["block_hash"]) == len(row["previous_hash"]) == 64
        assert row["rounds"] == 3
        times = [row[name] for name in COLUMNS if name.endswith("_seconds") and "mad" not in name]
        assert all(time > 0 for time in times if not math.isnan(time))
        assert row["apply_median_seconds"] > row["hash_median_seconds"]
    assert frame["loop_median_seconds"].isna().all()  # Ed25519 is not in a native library
    assert frame.attrs["provenance"]["machine_id"]
    assert len(frame.attrs["rounds"]) == 6


@pytest.mark.native
def test_native_scheme_has_a_bare_loop_and_hybrids_and_recovery_have_none():
    frame = measure_blocks(
        ["Falcon-512", "ECDSA-secp256k1+ML-DSA-44", "SPHINCS+-SHA2-128f-simple+Ed25519"],
        transactions=3,
        threads=[2],
    ).set_index("algorithm")
    assert frame.loc["Falcon-512", "loop_median_seconds"] > 0
    hybrid = frame.loc["ECDSA-secp256k1+ML-DSA-44"]
    assert math.isnan(hybrid["loop_median_seconds"])
    assert hybrid["block_bytes"] == header_bytes() + 3 * encoded_size(
        ["ECDSA-secp256k1", "ML-DSA-44"]
    )
    assert hybrid["implementation"] == "coincurve/libsecp256k1+liboqs-0.13/avx2"
    assert frame.loc["SPHINCS+-SHA2-128f-simple+Ed25519", "public_key_bytes"] == 64


@pytest.fixture
def block_library(monkeypatch):
    """Return a function that makes the block library the installed one, missing or damaged."""
    find, load = installation.library_path, installation.load_library

    def use(state):
        def loaded(path):
            if state == "damaged" and path == find("block"):
                raise NativeLibraryBroken("damaged; install it again")
            return load(path)

        missing = ("block",) if state == "missing" else ()
        monkeypatch.setattr(
            installation, "library_path", lambda name: None if name in missing else find(name)
        )
        monkeypatch.setattr(installation, "load_library", loaded)
        monkeypatch.setattr(installation, "_loaded", {})
        bulk.library.cache_clear()

    yield use
    bulk.library.cache_clear()


@pytest.mark.native
@pytest.mark.parametrize(("state", "code"), [("installed", "C"), ("missing", "Python")])
def test_table_and_provenance_state_whether_c_or_python_ran(block_library, state, code):
    block_library(state)
    frame = measure_blocks(["Hawk-512", "Hawk-512+Ed25519"], transactions=40, threads=1)
    assert list(frame["apply_code"]) == [code, "Python"]  # hybrids are not uniform
    assert ("block" in frame.attrs["provenance"]["native"]) == (code == "C")
    table = tables.block_table(frame)
    index = [column.title for column in table.columns].index("code")
    assert [row[index] for row in table.rows] == [code, "Python"]
    block_library("damaged")
    row = measure_blocks("Hawk-512", transactions=40, threads=1).iloc[0]
    assert (row["status"], row["reason"]) == ("failed", "damaged; install it again")


@pytest.mark.parametrize(("mode", "carried"), [("recovered", 0), ("registered", 1)])
def test_key_modes_make_smaller_blocks_or_are_unsupported(mode, carried):
    frame = measure_blocks(
        ["ECDSA-secp256k1", "Ed25519", "ed25519"], transactions=4, threads=(2, 2), key_mode=mode
    ).set_index("algorithm")
    assert list(frame["threads"]) == [2, 2]  # duplicates are measured once
    name = "ECDSA-secp256k1"
    sizes = carried * encoded_size(name) + (4 - carried) * encoded_size(name, key_mode=mode)
    assert frame.loc[name, "block_bytes"] == header_bytes() + sizes
    if mode == "recovered":
        assert frame.loc["Ed25519", "status"] == "unsupported"
        assert "key_mode='recovered'" in frame.loc["Ed25519", "reason"]


def test_unsupported_schemes_are_rows_with_the_reason(monkeypatch):
    other = measure_blocks("Ed25519", transactions=2, implementation="coincurve/libsecp256k1")
    assert set(other["status"]) == {"unsupported"}
    assert "the implementation of Ed25519 must be" in other["reason"].iloc[0]
    bare = dataclasses.replace(algorithms.get("Ed25519"), implementations=())
    monkeypatch.setitem(algorithms.ALGORITHMS, "Ed25519", bare)
    frame = measure_blocks(["Ed25519"], transactions=2, threads=(1, 4))
    assert list(frame["status"]) == ["unsupported", "unsupported"]
    assert "does not implement it" in frame["reason"].iloc[0]


def test_slow_signing_reduces_the_block_with_a_note(monkeypatch):
    use(monkeypatch, BlockPreset(2, 0.01, 0.0, 3, 0.01))
    row = measure_blocks("Ed25519", transactions=50, threads=[1]).to_dict("records")[0]
    assert row["transactions"] == 1
    assert row["reason"] == "signing took longer than 0 s: 1 of 50 transactions"


@pytest.mark.parametrize(
    "arguments",
    [
        {"transactions": 0}, {"transactions": 10**7}, {"transactions": True}, {"threads": ()},
        {"threads": (0,)}, {"threads": None}, {"threads": "1,2"}, {"threads": 0},
        {"preset": "slow"}, {"algorithms": "ML-KEM-512"}, {"key_mode": "hidden"},
        {"algorithms": []},
        {"implementation": "nobody", "key_mode": "recovered"}, {"algorithms": "Ed25519+Ed25519"},
        {"algorithms": "Ed25519+ECDSA-P256+ECDSA-secp256k1+Falcon-512+ML-DSA-44"},
    ],
)  # fmt: skip
def test_invalid_measurements_are_rejected_before_any_work(arguments, monkeypatch):
    monkeypatch.setattr(blockbench, "_signer", lambda name, wanted: pytest.fail("work was done"))
    with pytest.raises(UsageError):
        measure_blocks(**{"algorithms": "Ed25519", "transactions": 1, **arguments})
    for name in ("Falcon512", "Ed25519+Falcon512", "+", "", [None]):
        with pytest.raises(UnknownAlgorithm):
            measure_blocks(name, transactions=1)


def test_wrong_verdict_is_a_failed_row(monkeypatch):
    monkeypatch.setattr(blockbench, "_tampered", lambda state, block: block)
    row = measure_blocks("Ed25519", transactions=2, threads=[1]).to_dict("records")[0]
    assert row["status"] == "failed"
    assert "got 'yes' and 'yes'" in row["reason"]


def test_many_blocks_are_a_table_with_a_row_each():
    table = tables.block_table(frames.blocks())
    assert [row[0] for row in table.rows] == ["Falcon-512", "ML-DSA-44", "Hawk-512"]
    assert {len(row) for row in table.rows} == {len(table.columns)}
    shown = table.text().splitlines()
    assert "19.3\u202fµs" in shown[3]
    assert table.records()[0]["verify ×4"] == pytest.approx(19.3e-6, rel=1e-2)
    assert table.remarks[2] == "unsupported: no Hawk-512 here"
    assert shown[-1] == "- Hawk-512: unsupported: no Hawk-512 here"
    assert [column.title for column in table.columns if not column.numeric] == [
        "algorithm",
        "code",
        "tampered",
    ]


def test_measured_block_is_compared_with_the_published_one():
    work = registry.get("mini-blockchain")
    compared = work.printed(frames={"blocks": frames.blocks(["Falcon-512"])})
    rows = compared[compared["table"] == "blockchain"].set_index("quantity")
    assert rows["ours"].notna().all() and len(rows) == 13
    ratio = rows.loc["wallet_generate_keypair_seconds", "ratio"]
    assert ratio == pytest.approx(8 / 6.02698)
    without = work.printed(frames={"blocks": frames.blocks(["Hawk-512"])})
    lacking = without[without["table"] == "blockchain"].set_index("quantity")
    assert lacking["ours"].notna().sum() == 3  # neither the index nor the key sizes need a block
    assert (lacking["reason"] != "").sum() >= 10


def test_block_statements_are_judged_on_measured_blocks():
    work = registry.get("mini-blockchain")
    fine = frames.blocks(["Falcon-512"])
    blocks = results.joined((fine.assign(algorithm=name) for name in work.algorithms()), BLOCK)
    holds, fails = "holds with this code", "not with this code"
    lacking = blocks.assign(status="unsupported", reason="needs avx2")
    for measured, verdict, evidence in (
        (blocks, holds, "blocks of 7 schemes"),
        (blocks.assign(tampered="yes"), fails, "ML-DSA-44: yes, expected bad signature"),
        (fine, OPEN, "no block of ML-DSA-44 was measured"),
        (lacking, OPEN, "needs avx2"),
    ):
        found = work.claims(frames={"blocks": measured})
        ours = found[found["source"] == "run"].set_index("claim_id")
        tampering = ours.loc["tampering-breaks-validation"]
        assert tampering["verdict"] == verdict
        assert evidence in tampering["evidence"]
        if verdict == holds:
            assert ours.loc["flipped-bit-breaks-validation", "verdict"] == holds


@pytest.mark.parametrize("quantity", ["bytes", "verify", "rate"])
def test_plots_of_blocks_show_every_scheme_and_number_of_threads(quantity):
    axes = plots.plot_blocks(frames.blocks(), quantity)
    # Sorted by the quantity; Hawk-512 was not measured.
    labels = [label.get_text() for label in axes.get_yticklabels()]
    names = ["Falcon-512", "ML-DSA-44"][:: -1 if quantity == "verify" else 1]
    assert labels == [*names, "Hawk-512"]
    named: dict[str, list[float]] = {}
    for line in axes.get_lines():  # one per family and number of threads
        if line.get_marker() not in ("None", "", None):
            named.setdefault(str(line.get_label()), []).extend(line.get_xdata())
    if quantity == "bytes":
        assert named == {"1 thread": [pytest.approx(1651.111), pytest.approx(3831.111)]}
    else:
        assert set(named) == {"1 thread", "4 threads"}
    if quantity == "verify":
        assert named["4 threads"][0] == pytest.approx(named["1 thread"][0] / 3)


def test_all_schemes_are_measured_by_default(monkeypatch):
    def unsupported(name, implementation):
        raise Unsupported(name)

    monkeypatch.setattr(blockbench, "_signer", unsupported)
    frame = blockbench.measure_blocks(threads=1)
    assert tuple(frame["algorithm"]) == tuple(algorithms.names("signature"))
