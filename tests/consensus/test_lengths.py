"""Lengths of signatures, and how many transactions fill a block."""

from __future__ import annotations

import pytest

from pqchain import algorithms
from pqchain.consensus import lengths


def test_mean_fill_equals_the_enumerated_mean() -> None:
    # Lengths 1 or 2, capacity 4: enumerated by hand, 2 + 1/2 + ... = 2.6875.
    shares = {1: 1, 2: 1}
    expected = 1 + 1 + (1 - 4 / 8) + 1 / 16  # P(S1<=4), P(S2<=4), P(S3<=4) = 4/8, P(S4<=4)
    assert lengths.mean_fill(shares, capacity_bytes=4, fixed_bytes=0) == pytest.approx(expected)
    assert lengths.mean_fill({7: 1}, capacity_bytes=6, fixed_bytes=0) == 0.0


@pytest.mark.native
def test_signature_lengths_are_those_of_liboqs() -> None:
    import pqchain

    for name, samples in (("Falcon-512", 600), ("Falcon-1024", 300)):
        signer = pqchain.open_signer(name, "liboqs-0.13/avx2")
        counted = lengths.observed()[name]
        total = sum(counted.values())
        mean = lengths.mean(counted)
        variance = sum(count * (size - mean) ** 2 for size, count in counted.items()) / total
        _, secret_key = signer.generate_keypair()
        sizes = [len(signer.sign(b"%d" % i, secret_key)) for i in range(samples)]
        error = (variance / samples) ** 0.5
        assert abs(sum(sizes) / samples - mean) < 6 * error
        assert max(sizes) <= algorithms.get(name).signature_max_bytes
        assert round(mean) == algorithms.get(name).signature_bytes
