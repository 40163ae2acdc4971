"""Bytes of votes, and the provers that are cited."""

import pytest

from pqchain.errors import UsageError
from pqchain.study import load, votes
from pqchain.study.provers import CITED, PROVERS
from tests.study.plans import found, plan


def test_plain_votes_each_carry_a_signature():
    one = plan(votes_per_block=100.0, vote_bytes=40.0)
    assert votes.vote_bytes(one, 600.0) == votes.plain_bytes(one, 600.0) == 100 * 640
    fixed = one.with_(vote_signature_bytes=64.0)
    assert votes.vote_bytes(fixed, 600.0) == 100 * 104
    assert votes.messages(one) == 100


def test_a_bls_aggregate_has_one_signature_and_a_bit_for_each_voter():
    ethereum = load("ethereum")
    # notes.ethereum.org: an attestation of n voters has 236 bytes and n / 8 more.
    assert votes.vote_bytes(ethereum, 655.0) == 2 * (236 + -(-31_250 // 8))
    assert votes.messages(ethereum) == 2


def test_votes_of_lean_ethereum_without_aggregation_are_too_many():
    lean = load("ethereum-lean")
    assert votes.plain_bytes(lean, 655.0) == 4096 * (140 + 2536)
    proofs = votes.vote_bytes(lean, 655.0)
    assert proofs == 8 * (140 + 346_112 + 512)
    late = found(lean.with_(schemes=("Falcon-512",), migration={}, most_votes=4.0)).values
    soon = found(lean.with_(schemes=("Falcon-512",), migration={})).values
    apart = late["Falcon-512"]["rule_seconds"] - soon["Falcon-512"]["rule_seconds"]
    assert apart == pytest.approx(4.0)  # a second block has to carry the other half


def test_figures_of_a_cited_prover_say_so():
    answer = found(load("ethereum-lean").with_(schemes=("Falcon-512",), migration={}))
    rows = answer.frame.set_index(["scheme", "quantity"])
    row = rows.loc[("Falcon-512", "vote_bytes_per_block")]
    assert row["kind"] == "published"
    assert CITED in row["source"]


@pytest.mark.parametrize("name", sorted(PROVERS))
def test_every_prover_says_where_it_was_seen(name):
    one = PROVERS[name]
    assert one.source and one.date and one.machine and one.scheme
    assert all(size > 1000 for _, size in one.proofs)
    assert one.proof_bytes(one.proofs[0][0]) == one.proofs[0][1]


def test_rates_lie_between_what_was_published_and_never_beyond():
    known = PROVERS["leanvm-eip8292"]
    assert (
        known.rate_per_second(1) == known.rate_per_second(2) == pytest.approx(1000 / 11, rel=0.01)
    )
    assert known.rate_per_second(5) == pytest.approx((90.9 + 270.3) / 2, rel=0.01)
    assert known.rate_per_second(64) == known.rate_per_second(16)
    with pytest.raises(UsageError, match="no published rate"):
        PROVERS["labrador"].rate_per_second(8)
