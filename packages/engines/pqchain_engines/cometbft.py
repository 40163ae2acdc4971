"""The terms of CometBFT that the consensus model lacks, from its source (v0.40.0).

Messages are flooded: a validator sends each vote, proposal and block part to every peer that has
not announced it (consensus/reactor.go, gossipVotesRoutine and gossipDataRoutine). An announcement
takes a link's latency, so where links are slower than a poll every validator sends every other a
copy, except to the one from which it came: (N - 1)^2 messages for each vote instead of N - 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from pqchain import algorithms
from pqchain.consensus import model as consensus_model
from pqchain.consensus import named
from pqchain_engines import prices
from pqchain_engines.scenarios import UNLIMITED_BITS_PER_SECOND, scenario

ROUND_STEPS = 5
"""NewRoundStep messages of a height: propose, prevote, precommit, commit, new height."""

PART_BYTES = 65536
"""Bytes of a block part (types/params.go, BlockPartSizeBytes)."""

_DRAWS = 4000
_TIME_BYTES = 14
_ADDRESS_BYTES = 20
_HASH_BYTES = 32
_BLOCKS = 5


def _field(length: float) -> float:
    """Return the bytes of a length-delimited Protobuf field with a tag of one byte."""
    prefix = 1 if length < 128 else 2 if length < 16384 else 3
    return 1 + prefix + length


_HASH_FIELD = _field(_HASH_BYTES)
_BLOCK_ID_FIELD = _field(_HASH_FIELD + _field(2 + _HASH_FIELD))


def _commit_bytes(present: int, absent: int, signature_bytes: int) -> float:
    signature = 2 + _field(_ADDRESS_BYTES) + _TIME_BYTES + _field(signature_bytes)
    # An absent signature has a flag and the time zero, a negative number of ten bytes.
    return 2 + _BLOCK_ID_FIELD + present * _field(signature) + absent * _field(2 + _field(11))


def _proposed_bytes(transactions: int, data_bytes: int, commit_bytes: float) -> float:
    """Return the bytes of a block; fields as in proto/tendermint/types."""
    header = 4 + 8 + 2 + _TIME_BYTES + _BLOCK_ID_FIELD + 7 * _HASH_FIELD + _field(_ADDRESS_BYTES)
    count = max(1, transactions)
    data = count * _field(data_bytes / count)
    return _field(header) + _field(data) + 2 + _field(commit_bytes)


def messages(run: Mapping[Any, Any]) -> dict[str, float]:
    """Return messages and bytes of a height by column of RUNS, all validators together.

    `run` is a row of RUNS. The counts are those of links slower than two polls, and of a pause
    after the commit of zero or long enough for the last copies.
    """
    nodes = int(run["nodes"])
    signature = algorithms.get(run["algorithm"]).signature_bytes
    flooded, pairs = (nodes - 1) ** 2, nodes * (nodes - 1)
    late = late_votes(run)
    votes = 2 * nodes * flooded - nodes * late * (nodes - 2)
    commit = _commit_bytes(nodes - late, late, signature)
    size = _proposed_bytes(int(run["transactions"]), data_bytes(run), commit)
    parts = math.ceil(size / PART_BYTES)
    # A validator's index takes two bytes, but that of the first none.
    index = 2 * (1 - 1 / nodes)
    vote = 4 + _BLOCK_ID_FIELD + _TIME_BYTES + _field(_ADDRESS_BYTES) + index + _field(signature)
    proposal = 4 + 11 + _BLOCK_ID_FIELD + _TIME_BYTES + _field(signature)
    # Beside its bytes, a part has its place, and the hashes on the way to the root.
    proof = 4 + _HASH_FIELD * (1 + math.ceil(math.log2(parts))) if parts > 1 else 2 + _HASH_FIELD
    part = _field(min(size, PART_BYTES)) + _field(proof) + (2 if parts > 1 else 0)
    last = size - (parts - 1) * PART_BYTES
    part_bytes = (parts - 1) * _wrapped(2 + _field(part)) + _wrapped(
        2 + _field(part - min(size, PART_BYTES) + last)
    )
    announced = (2 * nodes - late) * pairs
    others = flooded + announced + ROUND_STEPS * pairs + pairs
    other_bytes = (
        flooded * _wrapped(_field(proposal))
        + announced * (4 + index + 2)
        + ROUND_STEPS * pairs * 8.2
        + pairs * 49
    )
    values = {
        "votes": votes,
        "vote_bytes": votes * _wrapped(_field(vote)),
        "blocks": parts * flooded,
        "sent_block_bytes": flooded * part_bytes,
        "others": others,
        "other_bytes": other_bytes,
        "size_bytes": size,
        "commit_bytes": commit,
    }
    values["sent_messages"] = values["votes"] + values["blocks"] + others
    values["sent_bytes"] = values["vote_bytes"] + values["sent_block_bytes"] + other_bytes
    return values


def _prices(run: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return the prices of a run by column of PRICES: what it was charged, or the stored ones.

    Over TCP a signature seldom follows another at once, so its price is that of an idle processor.
    """
    if run["mode"] == "virtual":
        return {f"idle_{name}": run[name] for name in ("sign_seconds", "verify_seconds")}
    frame = prices.stored()
    same = (frame["engine"] == "cometbft") & (frame["algorithm"] == run["algorithm"])
    row: dict[Any, Any] = frame[same].to_dict("records")[0]
    return row


def signature_seconds(run: Mapping[Any, Any]) -> float:
    """Return the processor time of a height's signatures and keys over TCP, of all validators.

    Also of what CometBFT does with them: it saves what it has signed (privval/file.go), loads the
    validators once, with the proposer's key twice (state/execution.go, loadValidatorsCached;
    types/validator_set.go, ValidatorSetFromProto), and hashes and saves them (state/validation.go,
    state/store.go).
    """
    price, nodes = _prices(run), int(run["nodes"])
    signed, verified = signatures(run)
    seconds = signed * price["idle_sign_seconds"]
    commits, transactions = nodes * (nodes - late_votes(run)), nodes * int(run["transactions"])
    seconds += (verified - commits - transactions) * price["idle_verify_seconds"]
    seconds += commits * price["idle_commit_seconds"]
    seconds += transactions * price["transaction_seconds"]
    seconds += nodes * (nodes + 1) * price["idle_decode_seconds"]
    return float(seconds + nodes**2 * price["idle_state_seconds"])


def processor_terms(run: Mapping[Any, Any]) -> list[float]:
    """Return bytes and messages sent, polls of the gossip routines, and validators of a height."""
    nodes = int(run["nodes"])
    wakeups = 2 * nodes * (nodes - 1) * run["interval_seconds"] / run["poll_seconds"]
    sent = messages(run)
    return [sent["sent_bytes"], sent["sent_messages"], wakeups, nodes]


def _wrapped(length: float) -> float:
    """Return the bytes of a message inside the message of its channel."""
    return _field(length)


def data_bytes(run: Mapping[Any, Any]) -> int:
    """Return the bytes of the transactions of a block."""
    scheme = algorithms.get(run["algorithm"])
    least = scheme.public_key_bytes + scheme.signature_bytes + 8
    count = int(run["transactions"])
    return (
        count * max(least, int(run["block_bytes"]) // count) if count else int(run["block_bytes"])
    )


def signatures(run: Mapping[Any, Any]) -> tuple[int, int]:
    """Return the signatures made and verified in a height by all validators.

    Everybody verifies the proposal, votes (its own too) and the commit in the block.
    """
    nodes = int(run["nodes"])
    verified = nodes * (1 + 3 * nodes - 2 * late_votes(run) + int(run["transactions"]))
    return 2 * nodes + 1, verified


def late_votes(run: Mapping[Any, Any]) -> int:
    """Return the precommits of a height that come too late at each validator.

    Without a pause the next height begins at the quorum. The commit in its block has no other
    signatures, and later precommits are neither verified nor copied nor announced
    (consensus/state.go, addVote: they belong to a height before, and the step is not NewHeight).
    """
    return 0 if run["commit_timeout_seconds"] else int(run["nodes"]) - int(run["quorum"])


def hops(run: Mapping[Any, Any]) -> int:
    """Return the hops of a height: proposal, prevote, precommit; without a pause one more.

    A proposer sends a peer the block once the peer's NewRoundStep for the height has come. Where
    the pause after a commit is longer than a link's latency, it has come before the height begins.
    """
    known = run["commit_timeout_seconds"] >= run["link_latency_seconds"] + run["flush_seconds"]
    return 3 if known else 4


@cache
def poll_wait(nodes: int, quorum: int) -> float:
    """Return the mean wait of a hop for polls, in poll intervals.

    Each pair of validators polls at its own phase, which is uniform. A validator goes on with the
    quorum's last message, and the height ends with the last validator: more than half an interval.
    """
    random = np.random.default_rng(0)
    phases = random.random((2, _DRAWS, nodes, nodes))
    phases[:, :, range(nodes), range(nodes)] = 0.0
    arrived = random.random((_DRAWS, nodes))
    arrived[:, 0] = 0.0
    for phase in phases:
        arrived = np.sort(arrived[:, :, None] + phase, axis=1)[:, quorum - 1, :]
    return float(arrived.max(axis=1).mean() / 3)


def latency_seconds(run: Mapping[Any, Any]) -> float:
    """Return the time from the proposal until the last validator has the block final.

    The consensus model (law `mesh`, the certificate in the next block) with the wait of a hop in
    the latency of its links: a poll, and the timer after which a connection is written to. Between
    network namespaces a node has the rate, not a link (law `uplink`).
    """
    wait = run["flush_seconds"] + run["poll_seconds"] * poll_wait(
        int(run["nodes"]), int(run["quorum"])
    )
    network = named(
        "uplink" if run["mode"] == "netns" else "mesh",
        latency_seconds=run["link_latency_seconds"] + wait,
        rate_bits_per_second=run["rate_bits_per_second"] or UNLIMITED_BITS_PER_SECOND,
    )
    price = _prices(run)
    setup = scenario(
        dict(run) | {name: price[f"idle_{name}"] for name in ("sign_seconds", "verify_seconds")},
        network,
        data_bytes=data_bytes(run),
        certificates="next-block",
        blocks=_BLOCKS,
    )
    heights = consensus_model.run(setup).heights[1:-1]
    seconds = sum(height.latency_seconds for height in heights) / len(heights)
    # NewRoundStep is sent at once, not at a poll.
    return float(seconds + (hops(run) - 3) * (run["link_latency_seconds"] + run["flush_seconds"]))
