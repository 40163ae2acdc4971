"""The terms of CometBFT: lengths of messages, copies, hops, polls, processor prices."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from pqchain import results
from pqchain.errors import DataError
from pqchain_engines import cometbft, comparison, frames, prices
from pqchain_engines.registry import get
from pqchain_engines.setup import Setup


def run(algorithm="Ed25519", **changes):
    """Return a row of RUNS of CometBFT as far as the model reads it."""
    options = {"nodes": 4, "poll_seconds": 0.01, "flush_seconds": 0.001, "block_bytes": 16}
    setup = Setup(algorithm=algorithm, sign_seconds=1e-5, verify_seconds=3e-5, **options | changes)
    return frames.setup_columns(1, get("cometbft"), setup) | {"interval_seconds": 1.2}


@pytest.mark.parametrize(
    ("changes", "quantity", "expected"),
    [
        # CometBFT v0.40.0, one transaction of 16 bytes.
        ({}, "commit_bytes", 500),
        ({}, "size_bytes", 890),
        ({"commit_timeout_seconds": 0.0}, "commit_bytes", 411),
        ({"algorithm": "ML-DSA-65", "nodes": 7}, "commit_bytes", 23547),
        ({"algorithm": "ML-DSA-65", "nodes": 7}, "sent_bytes", pytest.approx(2725704, rel=1e-3)),
        ({}, "votes", 72),
        ({}, "others", 177),
        ({"nodes": 7}, "votes", 504),
        ({"nodes": 7}, "others", 876),
        # Without a pause the precommits beyond the quorum come too late.
        ({"commit_timeout_seconds": 0.0}, "votes", 64),
        ({"commit_timeout_seconds": 0.0}, "others", 165),
        ({"nodes": 7, "commit_timeout_seconds": 0.0}, "votes", 434),
        ({"nodes": 7, "commit_timeout_seconds": 0.0}, "others", 792),
        # Large blocks have parts.
        ({"block_bytes": 200_000}, "blocks", 9 * 4),
        ({"block_bytes": 200_000}, "sent_block_bytes", pytest.approx(9 * 201_300, rel=1e-3)),
    ],
)
def test_messages_are_those_of_the_engine(changes, quantity, expected):
    assert cometbft.messages(run(**changes))[quantity] == expected


def test_a_pause_after_the_commit_hides_a_hop():
    assert cometbft.hops(run()) == 3
    assert cometbft.hops(run(commit_timeout_seconds=0.0)) == 4
    quick, slow = (cometbft.latency_seconds(run(commit_timeout_seconds=t)) for t in (1.0, 0.0))
    assert slow - quick == pytest.approx(0.051, abs=0.002)


def test_links_of_a_namespace_share_a_rate():
    rate = {"algorithm": "ML-DSA-65", "nodes": 7, "rate_bits_per_second": 1e7}
    own, shared = (cometbft.latency_seconds(run(mode=m, **rate)) for m in ("loopback", "netns"))
    assert shared > own + 0.01


def test_gossip_takes_three_hops_and_the_waits_for_polls():
    # Each hop takes 50 ms, a flush of 1 ms, and less than a poll of 10 ms; each validator at least
    # its own signatures and the verification of the commit.
    free = {"sign_seconds": 0.0, "verify_seconds": 0.0}
    least = cometbft.latency_seconds(run() | free)
    assert 3 * 0.051 < least < 3 * 0.061
    longer = cometbft.latency_seconds(run(poll_seconds=0.02) | free)
    assert longer - least == pytest.approx(least - 3 * 0.051, rel=0.1)
    assert cometbft.latency_seconds(run()) - least > 3 * 1e-5 + 5 * 3e-5


def test_copies_delay_what_follows_them_on_a_link():
    # 15 copies of prevotes of 3.4 kB take 21 ms at 20 Mbit/s, and the block's commit as long.
    setup = {"nodes": 16, "latency_seconds": 0.1, "rate_bits_per_second": 2e7}
    seconds = {
        name: cometbft.latency_seconds(run(name, **setup)) for name in ("Ed25519", "ML-DSA-65")
    }
    assert 0.02 < seconds["ML-DSA-65"] - seconds["Ed25519"] < 0.08


def test_validators_pass_votes_on_where_links_are_faster_than_polls():
    # The first of 24 to wake carries a vote on, so that nobody waits for a poll of his own.
    quick = {"latency_seconds": 0.002, "poll_seconds": 0.1, "flush_seconds": 0.01}
    four, many = (cometbft.latency_seconds(run(nodes=nodes, **quick)) for nodes in (4, 24))
    assert many < 0.85 * four
    assert not cometbft.flooded(run(**quick))
    assert cometbft.flooded(run())


def test_processor_prices_come_from_runs_that_are_not_compared():
    price = (11e-9, 40e-6, 14e-6, 1.6e-3)
    rows = []
    for nodes, block_bytes, poll in (
        (4, 16, 0.05), (4, 500_000, 0.05), (4, 16, 0.01), (7, 16, 0.01), (10, 16, 0.05),
    ):  # fmt: skip
        row = run(mode="loopback", nodes=nodes, block_bytes=block_bytes, poll_seconds=poll)
        texts = {"status": "ok", "reason": "", "digest": ""}
        rest = sum(a * b for a, b in zip(price, cometbft.processor_terms(row), strict=True))
        rows.append(row | texts | {"cpu_seconds": cometbft.signature_seconds(row) + rest})
    names = frames.RUNS.columns
    empty = {name: math.nan if kind == "float64" else None for name, kind in names.items()}
    frame = frames.RUNS.frame(empty | row for row in rows)
    assert comparison.processor_prices(frame) == pytest.approx(price, rel=1e-6)
    assert comparison.processor_prices(frame.head(2)) == ()
    stored = prices.stored()
    assert (stored[stored["engine"] == "cometbft"]["verify_seconds"].dropna() > 0).all()


def test_keys_are_decoded_at_every_height(monkeypatch):
    # With everything else free, each of 4 validators decodes the keys of all, and the proposer's.
    price = dict.fromkeys(prices.PRICES.columns, 0.0) | {"idle_decode_seconds": 1e-4}
    row = price | {"engine": "cometbft", "algorithm": "ML-DSA-65"}
    monkeypatch.setattr(prices, "stored", lambda: pd.DataFrame([row]))
    assert cometbft.signature_seconds(run("ML-DSA-65", mode="loopback")) == pytest.approx(2e-3)


def test_what_cannot_be_compared_is_rejected(tmp_path):
    failed = comparison.stored().assign(status="failed")
    with pytest.raises(DataError, match="no run to compare"):
        comparison.compare(failed)
    path = tmp_path / "heights.csv"
    results.save(frames.HEIGHTS.frame(), path, provenance={"machine_id": "x"})
    with pytest.raises(DataError, match="engine_runs"):
        comparison.load(path)
    with pytest.raises(DataError, match="are stored"):
        comparison.stored("revm")
