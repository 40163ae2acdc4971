"""Certificates, pipelined heights and votes of known validators: closed forms and rejections."""

from typing import Any

import pytest

from pqchain.consensus import model
from pqchain.consensus.network import SECOND, named
from pqchain.consensus.scenario import Faults, Scenario
from pqchain.errors import UsageError
from tests.consensus.scenarios import scenario, table

_RATE, _LATENCY = 8e6, 0.05
_FREE = table(sign=0.0, verify=0.0)


def shared(**changes: Any) -> Scenario:
    network = named("uplink", rate_bits_per_second=_RATE, latency_seconds=_LATENCY, header_bytes=0)
    return scenario(**{"nodes": 4, "network": network, "vote_phases": 2, "costs": _FREE} | changes)


def hop_seconds(*message_bytes: int, nodes: int = 4) -> float:
    """Time of messages to all others over an uplink that they share, and of the way."""
    return (nodes - 1) * 8 * sum(message_bytes) / _RATE + _LATENCY


def test_certificate_delays_the_next_vote() -> None:
    plain, broadcast = (model.run(shared(certificates=name)) for name in ("none", "broadcast"))
    block = plain.heights[0].block.size_bytes + 16
    vote, certificate = 48 + 2420, 48 + 4 + 3 * (5 + 2420)
    expected = hop_seconds(block) + 2 * hop_seconds(vote)
    assert plain.latency_seconds == pytest.approx(expected, rel=1e-6)
    # The last node gets the first commits after the certificates that precede them.
    expected = hop_seconds(block) + hop_seconds(vote) + hop_seconds(certificate, vote)
    assert broadcast.latency_seconds == pytest.approx(expected, rel=1e-6)


def test_block_with_the_certificate_of_its_parent_is_longer_and_verified_longer() -> None:
    for nodes, threads in ((4, 1), (7, 2)):
        costs = table(sign=0.0, verify=2e-3, decode_key=5e-4)
        changes = {
            "nodes": nodes, "network": named("mesh", header_bytes=0), "vote_phases": 2,
            "blocks": 3, "costs": costs, "verification_threads": threads,
        }  # fmt: skip
        plain, carried = (
            model.run(scenario(**changes, certificates=name)) for name in ("none", "next-block")
        )
        quorum = 2 * nodes // 3 + 1
        sent = 8 * (4 + quorum * (5 + 2420)) / 5e6
        for before, after in zip(plain.heights[1:], carried.heights[1:], strict=True):
            increase = after.latency_seconds - before.latency_seconds
            verified = quorum * 1.5e-3 / threads
            assert increase == pytest.approx(sent + verified, abs=3e-9)
        # The first block has no parent for which the delegates have voted.
        assert carried.heights[0].latency_seconds == plain.heights[0].latency_seconds


def test_pipeline_proposes_at_the_quorum_of_votes() -> None:
    run = model.run(shared(pipelined=True, blocks=5))
    starts = [height.block.starts_ns for height in run.heights]
    prepared = [height.outcomes[0].prepared_ns.max() for height in run.heights]
    assert starts[0] == 0 and starts[1:] == prepared[:-1]
    assert run.latency_seconds > (starts[-1] / SECOND) / 4
    assert run.latency_seconds > 3 * _LATENCY


def test_votes_are_verified_with_a_decoded_key() -> None:
    # With a fast network the votes of seven others queue at the processor.
    network = named("mesh", rate_bits_per_second=1e12, latency_seconds=0.0)
    costs = [table(sign=0.0, verify=1e-3, decode_key=part) for part in (0.0, 4e-4)]
    slow, fast = (
        model.run(scenario(nodes=4, network=network, costs=row, block_bytes=5000)) for row in costs
    )
    transactions = slow.heights[0].block.transactions
    assert transactions == 1
    # Finality needs three votes, two of them from others; the block has foreign keys.
    saved = slow.latency_seconds - fast.latency_seconds
    assert saved == pytest.approx(2 * 4e-4, abs=1e-8)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"certificates": "all"}, "certificates"),
        ({"vote_phases": 0, "certificates": "broadcast"}, "certificates must be 'none' without"),
        ({"network": named("star"), "certificates": "broadcast"}, "network must be 'uplink'"),
        ({"network": named("mesh"), "pipelined": True}, "network must be 'uplink'"),
        ({"exchange": "all-to-all", "vote_phases": None}, "must not be 'all-to-all' on uplink"),
        ({"pipelined": True, "certificates": "next-block"}, "got another certificates"),
        ({"pipelined": True, "vote_phases": 1}, "got another vote_phases"),
        ({"pipelined": True, "proposal": "luck"}, "got another proposal"),
        (
            {"pipelined": True, "faults": Faults(crashed=(1,)), "view_timeout_seconds": 1.0},
            "got another faults",
        ),
        ({"pipelined": True, "view_timeout_seconds": 1.0}, "got another view_timeout_seconds"),
        ({"nodes": 257}, "delegates must be at most 256 on uplink; got 257"),
        ({"block_bytes": 2**30}, "message must have at most"),
    ],
)
def test_unsupported_combinations_are_rejected(changes: dict[str, Any], why: str) -> None:
    with pytest.raises((UsageError, ValueError), match=why):
        shared(**changes)
