"""The consensus model of commonware's simplex: rotating leaders, certificates broadcast."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from pqchain import algorithms
from pqchain.consensus import model as consensus_model
from pqchain.consensus import named
from pqchain_engines import prices
from pqchain_engines.scenarios import UNLIMITED_BITS_PER_SECOND, scenario

_SUBJECT_BYTES = 36
"""A proposal on the wire: epoch, view, parent view (one byte each, as is the tag) and digest."""

_BITMAP_HEADER_BYTES = 9
"""Length and tag of the bitmap of a certificate's signers."""

_BLOCKS = 9
"""Heights of the model. The first and last have fewer overlapping heights than those of a long run,
so that only those in the middle count."""


def latency_seconds(run: Mapping[Any, Any]) -> float:
    """Return the time from the proposal until the last validator has the block final.

    The next proposal comes at the first quorum; links share the rate of a node (law `uplink`).
    """
    network = named(
        "uplink",
        latency_seconds=run["link_latency_seconds"],
        rate_bits_per_second=run["rate_bits_per_second"] or UNLIMITED_BITS_PER_SECOND,
        header_bytes=0,
    )
    heights = consensus_model.run(
        scenario(
            run,
            network,
            data_bytes=int(run["block_bytes"]),
            certificates="broadcast",
            pipelined=True,
            blocks=_BLOCKS,
        )
    ).heights
    return median(height.latency_seconds for height in heights[_BLOCKS // 2 : -2])


def messages(run: Mapping[Any, Any]) -> dict[str, float]:
    """Return messages and bytes of a height, all validators together; `run` is a row of RUNS.

    Every validator sends every other two votes and, for each quorum, a certificate.
    """
    nodes, quorum = int(run["nodes"]), int(run["quorum"])
    signature = algorithms.get(run["algorithm"]).signature_bytes
    pairs = nodes * (nodes - 1)
    vote = _SUBJECT_BYTES + 1 + signature
    certificate = _SUBJECT_BYTES + _BITMAP_HEADER_BYTES + -(-nodes // 8) + quorum * signature
    return {
        "sent_messages": 4 * pairs + nodes - 1,
        "sent_bytes": 2 * pairs * (vote + certificate) + (nodes - 1) * run["block_bytes"],
    }


def hops(_: Mapping[Any, Any]) -> int:
    """Return the hops of a height: proposal, votes to notarize, votes to finalize."""
    return 3


def signature_seconds(run: Mapping[Any, Any]) -> float:
    """Return the processor time of a height's signatures, all validators together.

    A validator verifies the votes of a quorum but its own, twice; later votes are not looked at.
    """
    price, nodes, quorum = run, int(run["nodes"]), int(run["quorum"])
    if not run["verify_seconds"]:
        # Runs over TCP are charged nothing.
        price = prices.stored("simplex").set_index("algorithm").loc[run["algorithm"]]
    verified = 2 * (quorum - 1) + int(run["transactions"]) * (nodes - 1) / nodes
    return nodes * (2 * float(price["sign_seconds"]) + verified * float(price["verify_seconds"]))


def processor_terms(run: Mapping[Any, Any]) -> list[float]:
    """Return bytes and messages sent, and validators of a height."""
    sent = messages(run)
    return [sent["sent_bytes"], sent["sent_messages"], int(run["nodes"])]
