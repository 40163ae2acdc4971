"""Floods of first datagrams: state is bounded, and an honest client is admitted."""

from __future__ import annotations

import random

import pytest

from pqchain.wire.session import Opened
from pqchain.wire.transports.admission import (
    MAX_HALF_OPEN,
    MAX_PER_HOST,
    MAX_UNVALIDATED,
    TOKEN_SECONDS,
    Admission,
)
from tests.wire.pair import Pair, forged

HERE, THERE = ("127.0.0.1", 4433), ("127.0.0.2", 4433)


def test_token_is_bound_to_address_name_and_time() -> None:
    admission = Admission()
    token, retried = admission.token(HERE, b"original", 5.0)
    assert admission.check_token(token, HERE, retried, 6.0) == (b"original", retried)
    assert admission.check_token(token, HERE, retried, 5.0 + TOKEN_SECONDS) is not None
    for other, address, named, now in (
        (token, THERE, retried, 6.0),
        (token, ("127.0.0.1", 4434), retried, 6.0),
        (token, HERE, b"12345678", 6.0),
        (token, HERE, retried, 5.1 + TOKEN_SECONDS),
        (token, HERE, retried, 4.0),
        (token[:-1] + b"?", HERE, retried, 6.0),
        (token[:20], HERE, retried, 6.0),
        (b"", HERE, b"", 6.0),
    ):
        assert admission.check_token(other, address, named, now) is None
    assert Admission().check_token(token, HERE, retried, 6.0) is None


def test_half_open_connections_are_counted_in_total_and_per_host() -> None:
    admission = Admission()
    for session in range(MAX_UNVALIDATED):
        assert not admission.requires_token
        admission.add(session, f"host {session % 4}", validated=False)
    assert admission.requires_token
    admission.remove(0)
    assert not admission.requires_token
    for session in range(1000, 1000 + MAX_PER_HOST):
        assert not admission.is_full("busy")
        admission.add(session, "busy", validated=True)
    assert admission.is_full("busy")
    assert not admission.is_full("another")
    assert not admission.requires_token
    for session in range(2000, 2000 + MAX_HALF_OPEN):
        admission.add(session, f"{session}", validated=True)
    assert admission.is_full("another")


def test_overflow_evicts_the_oldest_of_the_busiest_host() -> None:
    admission = Admission(max_half_open=6, max_per_host=4)
    for session, host in enumerate(("first", "busy", "busy", "busy", "quiet")):
        assert admission.evict_for(host) is None
        admission.add(session, host, validated=True)
    admission.add(5, "busy", validated=True)
    assert admission.evict_for("busy") == 1
    assert admission.evict_for("another") == 1
    admission.remove(1)
    assert admission.evict_for("another") is None
    assert admission.evict_for("busy") is None


@pytest.fixture
def pair() -> Pair:
    return Pair()


def test_flood_is_bounded_and_blocks_nobody(pair: Pair) -> None:
    rng, server = random.Random(1), pair.endpoints[1]
    sent = 0
    for number in range(MAX_UNVALIDATED + 400):
        server.receive(forged(rng), (f"10.0.{number >> 8}.{number & 255}", 7), pair.now)
        sent += sum(len(data) for data, _ in server.datagrams(pair.now))
    assert len(server.sessions) == MAX_UNVALIDATED
    assert len(server._by_id) <= 3 * MAX_UNVALIDATED
    assert server._retries == []
    assert sent < 0.2 * 1200 * (
        MAX_UNVALIDATED + 400
    )  # no admission for a client that floods another server
    session = pair.endpoints[0].dial(1, early=False, now=pair.now)
    for _ in range(20):
        pair.carry()
        if opened := [e for e in pair.endpoints[0].events() if isinstance(e, Opened)]:
            break
    assert opened == [Opened(session, 1, True)]


def test_tokens_are_required_only_in_a_flood(pair: Pair) -> None:
    pair.endpoints[0].dial(1, early=False, now=pair.now)
    pair.run()
    assert not any(data[0] & 0xF0 == 0xF0 for _, _, _, data in pair.wire)
