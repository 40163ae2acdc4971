"""The model of CometBFT, from its source (v0.40.0): lengths, counts, and times by `gossip`.

Messages are flooded: a validator sends each vote, proposal and block part to every peer that has
not announced it (consensus/reactor.go, gossipVotesRoutine and gossipDataRoutine). An announcement
takes a link's latency, so where links are slower than a poll every validator sends every other a
copy, except to the one from which it came: (N - 1)^2 messages for each vote instead of N - 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeAlias

from pqchain import algorithms
from pqchain_engines import gossip, prices

ROUND_STEPS = 5
"""NewRoundStep messages of a height: propose, prevote, precommit, commit, new height."""

PART_BYTES = 65536
"""Bytes of a block part (types/params.go, BlockPartSizeBytes)."""

_DRAWN_VALIDATORS = 96
"""Validators of all draws of the polls' phases: the fewer a run has, the more draws."""

_BUCKET_BYTES = 32_000
"""Bytes that the token bucket of a namespace lets pass at once (wire/drivers/namespaces.py)."""

_TIME_BYTES = 14
_ADDRESS_BYTES = 20
_HASH_BYTES = 32


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


_Lengths: TypeAlias = tuple[float, float, float, tuple[float, ...], float]


def _lengths(run: Mapping[Any, Any]) -> _Lengths:
    """Return bytes of a block and its commit, and as messages a proposal, the parts and a vote."""
    nodes, late = int(run["nodes"]), late_votes(run)
    signature = algorithms.get(run["algorithm"]).signature_bytes
    commit = _commit_bytes(nodes - late, late, signature)
    size = _proposed_bytes(int(run["transactions"]), data_bytes(run), commit)
    count = math.ceil(size / PART_BYTES)
    # A validator's index takes two bytes, but that of the first none.
    index = 2 * (1 - 1 / nodes)
    vote = 4 + _BLOCK_ID_FIELD + _TIME_BYTES + _field(_ADDRESS_BYTES) + index + _field(signature)
    proposal = 4 + 11 + _BLOCK_ID_FIELD + _TIME_BYTES + _field(signature)
    # Beside its bytes, a part has its place, and the hashes on the way to the root.
    proof = 4 + _HASH_FIELD * (1 + math.ceil(math.log2(count))) if count > 1 else 2 + _HASH_FIELD
    parts = [min(size - first * PART_BYTES, PART_BYTES) for first in range(count)]
    around = _field(proof) + (2 if count > 1 else 0)
    wrapped = tuple(_field(2 + _field(_field(part) + around)) for part in parts)
    return size, commit, _field(_field(proposal)), wrapped, _field(_field(vote))


def messages(run: Mapping[Any, Any]) -> dict[str, float]:
    """Return messages and bytes of a height by column of RUNS, all validators together.

    `run` is a row of RUNS. The counts are those of runs that are `flooded`.
    """
    nodes = int(run["nodes"])
    copies, pairs = (nodes - 1) ** 2, nodes * (nodes - 1)
    late = late_votes(run)
    block, commit, proposal, parts, vote = _lengths(run)
    votes = 2 * nodes * copies - nodes * late * (nodes - 2)
    announced = (2 * nodes - late) * pairs
    others = copies + announced + ROUND_STEPS * pairs + pairs
    other_bytes = (
        copies * proposal
        + announced * (4 + 2 * (1 - 1 / nodes) + 2)
        + ROUND_STEPS * pairs * 8.2
        + pairs * 49
    )
    values = {
        "votes": votes,
        "vote_bytes": votes * vote,
        "blocks": len(parts) * copies,
        "sent_block_bytes": copies * sum(parts),
        "others": others,
        "other_bytes": other_bytes,
        "size_bytes": block,
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


def flooded(run: Mapping[Any, Any]) -> bool:
    """Return whether every copy is sent: no announcement comes in time, and no pause is short."""
    # Any validator has a vote within a poll of the first, and copies it within another poll.
    poll, link = run["poll_seconds"], run["link_latency_seconds"] + run["flush_seconds"]
    pause = run["commit_timeout_seconds"]
    return bool(link > 2 * poll and not 0 < pause < 2 * (link + poll))


def hops(run: Mapping[Any, Any]) -> int:
    """Return the hops of a height: proposal, prevote, precommit; without a pause one more.

    A proposer sends a peer the block once the peer's NewRoundStep for the height has come. Where
    the pause after a commit is longer than a link's latency, it has come before the height begins.
    """
    known = run["commit_timeout_seconds"] >= run["link_latency_seconds"] + run["flush_seconds"]
    return 3 if known else 4


@cache
def _mean_seconds(height: gossip.Gossip) -> float:
    # The first height of a draw has other validators begin at once.
    seconds: list[float] = []
    for seed in range(math.ceil(_DRAWN_VALIDATORS / height.nodes)):
        heights = gossip.Heights(height, seed)
        seconds += [heights.seconds() for _ in range(3)][1:]
    return sum(seconds) / len(seconds)


def latency_seconds(run: Mapping[Any, Any]) -> float:
    """Return the time from the proposal until the last validator has the block final.

    The mean of heights of `gossip`, with several draws of the phases of polls.
    """
    price, nodes, (_, _, proposal, parts, vote) = _prices(run), int(run["nodes"]), _lengths(run)
    # Between network namespaces a node has the rate and a bucket, and its links share them.
    links, bucket = (nodes - 1, _BUCKET_BYTES) if run["mode"] == "netns" else (1, 0)
    sign, verify = (float(price[f"idle_{name}_seconds"]) for name in ("sign", "verify"))
    names = ("link_latency_seconds", "poll_seconds", "flush_seconds", "commit_timeout_seconds")
    height = gossip.Gossip(
        nodes,
        int(run["quorum"]),
        rate_bytes_per_second=(run["rate_bits_per_second"] or math.inf) / 8 / links,
        burst_bytes=bucket / links,
        # A validator verifies its own votes as well.
        sign_seconds=sign + verify,
        verify_seconds=verify,
        block_seconds=verify * (nodes - late_votes(run) + int(run["transactions"])),
        proposal_bytes=proposal,
        part_bytes=parts,
        vote_bytes=vote,
        **{name: run[name] for name in names},
    )
    return _mean_seconds(height)
