"""What aggregates of signatures cost: one signature added, and an aggregate verified.

Verifying takes a fixed part and one for each signer; two counts of signers give both.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import numpy as np

from pqchain import crypto
from pqchain.bench.timing import median_and_mad, one_processor, repeated
from pqchain.costs import AggregateCosts
from pqchain.crypto import AggregateSigner

SCHEME = "BLS12-381"
"""The scheme of the registry whose signatures add up."""

SIGNERS = (1, 512)
"""Signers of one message, fewest and most: a committee of today's Ethereum has as many."""

MESSAGES = (1, 64)
"""Signers of messages of their own."""

_SAMPLES, _SECONDS = 25, 0.1
"""Of each sample: how often at most, and for how long."""


def measure_aggregates() -> tuple[AggregateCosts, float]:
    """Measure aggregates on one processor.

    Returns the seconds, and by how much single verifications spread: 1.4826 MAD over the median.
    Raises Unsupported where the library is not here.
    """
    signer = crypto.open_signer(SCHEME)
    assert isinstance(signer, AggregateSigner)
    rng = np.random.default_rng(1)
    pairs = [signer.generate_keypair() for _ in range(SIGNERS[1])]
    message = rng.bytes(32)
    votes = [signer.sign(message, secret) for _, secret in pairs]
    several = [rng.bytes(100) for _ in range(MESSAGES[1])]
    apart = [signer.sign(each, pairs[i][1]) for i, each in enumerate(several)]

    def one(count: int) -> Callable[[], object]:
        keys = signer.checked_keys([public for public, _ in pairs[:count]])
        total = signer.aggregate(votes[:count])
        return lambda: signer.fast_aggregate_verify(message, total, keys)

    def each(count: int) -> Callable[[], object]:
        keys = signer.checked_keys([public for public, _ in pairs[:count]])
        total = signer.aggregate(apart[:count])
        return lambda: signer.aggregate_verify(several[:count], total, keys)

    with one_processor():
        alone = list(repeated(one(SIGNERS[0]), _SAMPLES, _SECONDS))
        many, single, many_apart, added = (
            median(repeated(call, _SAMPLES, _SECONDS))
            for call in (
                one(SIGNERS[1]),
                each(MESSAGES[0]),
                each(MESSAGES[1]),
                lambda: signer.aggregate(votes),
            )
        )
    fixed, deviation = median_and_mad(alone)
    # What a busy machine adds must not make a signer cost less than nothing.
    per_signer = max(0.0, (many - fixed) / (SIGNERS[1] - SIGNERS[0]))
    per_message = max(0.0, (many_apart - single) / (MESSAGES[1] - MESSAGES[0]))
    costs = AggregateCosts(
        algorithm=SCHEME,
        add_seconds=added / len(votes),
        verify_seconds=fixed - SIGNERS[0] * per_signer,
        signer_seconds=per_signer,
        message_seconds=per_message,
        source=signer.implementation,
    )
    return costs, 1.4826 * deviation / fixed
