"""Benchmark of verifying aggregate signatures.

Verification has a fixed cost and a cost per signer. Aggregates of few and of many signers are timed
alternately, so that their difference is not affected by a drift of the machine's speed.
"""

from __future__ import annotations

from dataclasses import asdict
from statistics import median

import numpy as np

from pqchain import crypto
from pqchain.bench.rounds import code_on_machine
from pqchain.bench.timing import median_and_mad, one_processor, timed
from pqchain.costs import AggregateCosts
from pqchain.crypto import BlsSigner, CheckedKeys
from pqchain.results.kept import KeptValues

SCHEME = "BLS12-381"

SIGNERS = 128

# An aggregate of one message repeats each signer, which costs no less to verify than distinct
# signers and needs no further key pairs.
REPEATED = 64
"""Occurrences of each signer in an aggregate of one message."""

ROUNDS = 15


def measure_aggregates(*, fresh: bool = True) -> tuple[AggregateCosts, float]:
    """Measure the times of aggregate BLS signatures on one processor.

    Returns the costs in seconds, and the relative spread of the verification of one signature:
    1.4826 MAD over the median. Unless `fresh`, they may be kept ones, as those of `measure`. Raises
    Unsupported if the library is not available.
    """
    signer = crypto.open_signer(SCHEME)
    kept = KeptValues(fresh=fresh)
    name = f"{code_on_machine(signer.implementation)} aggregates in one message"
    if (stored := kept.get(name)) is not None:
        return AggregateCosts(**stored[0]), stored[1]
    assert isinstance(signer, BlsSigner)
    pairs = [signer.generate_keypair() for _ in range(SIGNERS)]
    publics, secrets = zip(*pairs, strict=True)
    message = np.random.default_rng(1).bytes(32)
    votes = [signer.sign(message, secret) for secret in secrets]
    many = signer.aggregate([signer.aggregate(votes)] * REPEATED)
    one_key, keys = signer.checked_keys(publics[:1]), signer.checked_keys(publics)
    many_keys = CheckedKeys(keys.points * REPEATED, SIGNERS * REPEATED)
    calls = (
        (signer.fast_aggregate_verify, message, votes[0], one_key),
        (signer.fast_aggregate_verify, message, many, many_keys),
    )
    with one_processor():
        rounds = [[timed(call, *inputs)[0] for call, *inputs in calls] for _ in range(ROUNDS)]
    alone, deviation = median_and_mad([times[0] for times in rounds])
    # Noise of a busy machine must not make the cost of a signer negative.
    per_signer = max(0.0, median(all_ - one for one, all_ in rounds)) / (SIGNERS * REPEATED - 1)
    costs = AggregateCosts(
        algorithm=SCHEME,
        verify_seconds=alone - per_signer,
        signer_seconds=per_signer,
        source=signer.implementation,
    )
    spread = 1.4826 * deviation / alone
    kept.put(name, (asdict(costs), spread))
    return costs, spread
