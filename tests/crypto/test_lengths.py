"""Lengths passed to C: wrong ones are an error before C reads or writes."""

from array import array
from dataclasses import replace

import numpy as np
import pytest

from pqchain import algorithms
from pqchain.crypto import BlsSigner, CheckedKeys, obstacle, open_signer
from pqchain.crypto.abi import pack
from pqchain.crypto.native import NativeSigner
from pqchain.errors import UsageError
from pqchain.falcon import kernel

NEEDS_BLST = pytest.mark.skipif(
    bool(obstacle("blst/assembly")), reason=str(obstacle("blst/assembly"))
)
FALCON = algorithms.get("Falcon-512")


@NEEDS_BLST
@pytest.mark.parametrize("count", [0, 1, 10_000_000])
def test_keys_of_an_aggregate_must_be_as_many_as_stated(count: int) -> None:
    signer = open_signer("BLS12-381")
    assert isinstance(signer, BlsSigner)
    public, secret = signer.generate_keypair()
    signature, points = signer.sign(b"vote", secret), signer.checked_keys([public]).points
    for held in (b"", points[:-1], points * 2):
        keys = CheckedKeys(held, count)
        with pytest.raises(UsageError, match=f"got {len(held)} bytes for {count} keys"):
            signer.fast_aggregate_verify(b"vote", signature, keys)
    assert signer.fast_aggregate_verify(b"vote", signature, CheckedKeys(points, 1))


@pytest.mark.parametrize("memory", ["array", "numpy"])
def test_offsets_must_stay_within_their_memory(memory: str) -> None:
    signer = open_signer("Falcon-512", "falcon/kernel")
    assert isinstance(signer, NativeSigner)
    public, secret = signer.generate_keypair()
    signatures = [signer.sign(b"%d" % number, secret) for number in range(3)]
    packed = pack(([b"0", b"1", b"2"], signatures, [public] * 3))

    def numbers(values: list[int]) -> object:
        return array("Q", values) if memory == "array" else np.array(values, np.uint64)

    edges, far = packed.signature_offsets.tolist(), 1 << 40
    packed = replace(
        packed, message_offsets=numbers([0, 1, 2, 3]), signature_offsets=numbers(edges)
    )
    assert signer.verify_packed(packed) == []
    assert signer.verify_packed(pack(([b""], [signer.sign(b"", secret)], [public]))) == []
    for wrong, message in [
        ({"message_offsets": numbers([0, 1, 2, far])}, "message offsets must increase"),
        ({"message_offsets": numbers([far, far, far, far])}, "message offsets must increase"),
        ({"message_offsets": numbers([0, 2, 1, 3])}, "message offsets must increase"),
        ({"message_offsets": numbers([0, 1, 3])}, "got 2 and 3"),
        ({"signature_offsets": numbers([*edges[:-1], edges[-1] + 1])}, "signature offsets must"),
        ({"signature_offsets": numbers([edges[0], edges[2], edges[1], edges[3]])}, "signature off"),
        ({"signature_offsets": numbers([0])}, "at least one item"),
        ({"signatures": packed.signatures[:-1]}, "signature offsets must increase"),
        ({"public_keys": public * 2}, "must be 1 or 3 keys of 897 bytes; got 1794"),
        ({"public_keys": b""}, "got 0 bytes"),
    ]:
        with pytest.raises(UsageError, match=message):
            signer.verify_packed(replace(packed, **wrong))


def test_buffers_of_the_signer_must_have_their_lengths() -> None:
    secret = open_signer("Falcon-512", "falcon/kernel").generate_keypair()[1]
    request, nonce, seed = bytearray(kernel.request_bytes(9)), bytes(40), bytes(48)
    drawn = {"secret_key": secret, "nonce": nonce, "seed": seed, "message": b""}
    for call, message in [
        (lambda: kernel.seed_request(bytearray(10), seed, 0, 9), "request must have 3128"),
        (lambda: kernel.seed_request(request, seed, 0, 10), "request must have 6200"),
        (lambda: kernel.seed_request(request, seed, 0, 40), "degree must be"),
        (lambda: kernel.seed_request(request, bytes(47), 0, 9), "seed must have 48 bytes; got 47"),
        (lambda: kernel.run_request(b"", 9), "request must have at least 3128 bytes; got 0"),
        (lambda: kernel.run_request(request, 10), "request must have at least 6200"),
        (lambda: kernel.encode_signature(FALCON, b"", bytes(1024)), "nonce must have 40"),
        (lambda: kernel.encode_signature(FALCON, nonce, b""), "response must have 1024"),
        (lambda: kernel.sign(FALCON, **drawn | {"seed": b""}), "seed must have 48"),
        (lambda: kernel.sign(FALCON, **drawn | {"nonce": b""}), "nonce must have 40"),
        (lambda: kernel.profile(FALCON, **drawn | {"secret_key": b""}), "secret_key must have"),
        (lambda: kernel.public_key(FALCON, secret[:-1]), "secret_key must have 1281"),
    ]:
        with pytest.raises(UsageError, match=message):
            call()
    assert kernel.run_request(b"", 0)[0] == kernel.REFUSED
    kernel.seed_request(request, seed, 0, 9)
    assert any(request)
