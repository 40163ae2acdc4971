"""Certificates of quorums: closed forms of lists and aggregates, proofs as their sources state."""

from __future__ import annotations

import math

import pytest

from pqchain import algorithms, installation, results
from pqchain.consensus.scenario import quorum
from pqchain.errors import UsageError
from pqchain.study import provers
from pqchain.study.provers import names
from pqchain_engines.certificates import MAX_NODES, certificate_sizes, tables

NODES = (4, 5, 6, 7, 100)


def test_lists_and_aggregates_have_their_closed_forms() -> None:
    prices = results.load(installation.data("engines") / "prices" / "simplex.csv")
    price = prices.set_index("algorithm")
    frame = certificate_sizes(NODES)
    votes = frame[frame["form"] != "proof"]
    assert len(votes) == len(price) * len(NODES)
    for row in votes.to_dict("records"):
        signatures = {4: 3, 5: 4, 6: 5, 7: 5, 100: 67}[row["nodes"]]
        bitmap = math.ceil(row["nodes"] / 8)
        size = algorithms.get(row["algorithm"]).signature_bytes
        cost = price.loc[row["algorithm"]]
        assert row["signatures"] == signatures
        if row["algorithm"] == "BLS12-381":
            seconds = cost["verify_seconds"] + signatures * cost["aggregate_seconds"]
            expected = ("aggregate", 96 + bitmap)
        else:
            seconds = signatures * cost["verify_seconds"]
            expected = ("list", signatures * size + bitmap)
        assert (row["form"], row["certificate_bytes"]) == expected
        assert row["verify_seconds"] == pytest.approx(seconds)
        assert row["kind"] == "modelled"


def test_proofs_are_those_of_their_sources_and_of_the_least_quorum() -> None:
    frame = certificate_sizes([4])
    proofs = frame[frame["form"] == "proof"].to_dict("records")
    stated = {
        (name, n): size for name in names() for n, size in provers.prover(name).proofs if n >= 3
    }
    sizes = {(row["source"], row["signatures"]): row["certificate_bytes"] for row in proofs}
    assert sizes == stated
    for row in proofs:
        assert quorum(row["nodes"]) == row["signatures"]
        assert quorum(row["nodes"] - 1) < row["signatures"]
        by = provers.prover(row["source"])
        assert row["kind"] == ("cited" if by.evidence.startswith("cited") else "measured")
        expected = by.verify_seconds(row["signatures"])
        assert row["verify_seconds"] == pytest.approx(expected, nan_ok=True)
        assert math.isnan(expected) or row["source"] != "leanmultisig"  # publishes no time


def test_the_frame_is_saved_and_shown(tmp_path) -> None:
    frame = certificate_sizes(NODES)
    results.save(frame, tmp_path / "certificates.csv")
    assert results.load(tmp_path / "certificates.csv").equals(frame)
    by_bytes, by_time, proofs = tables(frame)
    assert len(by_bytes.rows) == len(by_time.rows) == len(NODES)
    assert len(proofs.rows) == (frame["form"] == "proof").sum()
    assert "ML-DSA-65" in by_bytes.text(150)


@pytest.mark.parametrize("nodes", [[], [3], [MAX_NODES + 1], [True], ["4"]])
def test_numbers_of_validators_out_of_range_are_rejected(nodes) -> None:
    with pytest.raises(UsageError, match="nodes"):
        certificate_sizes(nodes)
