"""What aggregates of signatures cost: one signature added, and an aggregate verified.

Verifying takes a fixed part and one for each signer. Few and many signers are verified in turns, so
that the difference of the two is of one moment of the machine.
"""

from __future__ import annotations

from statistics import median

import numpy as np

from pqchain import crypto
from pqchain.bench.timing import median_and_mad, one_processor, timed
from pqchain.costs import AggregateCosts
from pqchain.crypto import AggregateSigner, CheckedKeys

SCHEME = "BLS12-381"
"""The scheme of the registry whose signatures add up."""

SIGNERS = 128
"""Who sign; of one message each of them `REPEATED` times, which costs no less to verify."""

REPEATED = 64

ROUNDS = 15
"""In which everything is timed, one after the other."""


def measure_aggregates() -> tuple[AggregateCosts, float]:
    """Measure aggregates on one processor.

    Returns the seconds, and by how much single verifications spread: 1.4826 MAD over the median.
    Raises Unsupported where the library is not here.
    """
    signer = crypto.open_signer(SCHEME)
    assert isinstance(signer, AggregateSigner)
    rng = np.random.default_rng(1)
    pairs = [signer.generate_keypair() for _ in range(SIGNERS)]
    publics = [public for public, _ in pairs]
    message, messages = rng.bytes(32), [rng.bytes(100) for _ in pairs]
    votes = [signer.sign(message, secret) for _, secret in pairs]
    apart = [signer.sign(each, pairs[i][1]) for i, each in enumerate(messages)]
    total, several = signer.aggregate(votes), signer.aggregate(apart)
    many = signer.aggregate([total] * REPEATED)
    one_key, keys = signer.checked_keys(publics[:1]), signer.checked_keys(publics)
    many_keys = CheckedKeys(keys.points * REPEATED, len(keys) * REPEATED)
    calls = (
        (signer.fast_aggregate_verify, message, votes[0], one_key),
        (signer.fast_aggregate_verify, message, many, many_keys),
        (signer.aggregate_verify, messages, several, keys),
        (signer.aggregate, votes),
    )
    rounds = []
    with one_processor():
        for _ in range(ROUNDS):
            rounds.append([timed(call, *arguments)[0] for call, *arguments in calls])
    alone, deviation = median_and_mad([each[0] for each in rounds])
    # What a busy machine adds must not make a signer cost less than nothing.
    per_signer = max(0.0, median(each[1] - each[0] for each in rounds)) / (SIGNERS * REPEATED - 1)
    per_message = max(0.0, median(each[2] - each[0] for each in rounds)) / (SIGNERS - 1)
    costs = AggregateCosts(
        algorithm=SCHEME,
        add_seconds=median(each[3] for each in rounds) / SIGNERS,
        verify_seconds=alone - per_signer,
        signer_seconds=per_signer,
        message_seconds=per_message,
        source=signer.implementation,
    )
    return costs, 1.4826 * deviation / alone
