"""The model of SLH-DSA compared with NIST's vectors and the definitions; all builds likewise."""

from __future__ import annotations

from collections import Counter

import pytest

from pqchain.crypto import open_signer
from pqchain.errors import Unsupported
from pqchain_conform import registry
from pqchain_conform.models import slh_dsa as model
from pqchain_conform.models.slh_dsa_verifier import SLHDSAVerifier
from tests.crypto.acvp import acvp


class Internal(SLHDSAVerifier):
    """Verifier of the internal interface, which has no prefix."""

    def prefix(self, context: bytes) -> bytes:
        return b""


@pytest.mark.acvp
def test_model_gives_the_verdicts_of_nist():
    counts: Counter[tuple[str, bool]] = Counter()
    folder = "sign/slhdsa/testdata/verify_"
    for test in acvp(f"{folder}prompt.json.gz", f"{folder}results.json.gz"):
        if (interface := test.get("preHash") or "internal") == "preHash":
            continue
        verifier = (Internal if interface == "internal" else SLHDSAVerifier)(test["parameterSet"])
        names = ("message", "signature", "pk", "context")
        case = [bytes.fromhex(test.get(name, "")) for name in names]
        assert verifier.verify(*case) == test["testPassed"], test["tcId"]
        counts[interface, test["testPassed"]] += 1
    assert counts == {
        ("pure", True): 24, ("pure", False): 144, ("internal", True): 24, ("internal", False): 144,
    }  # fmt: skip


@pytest.mark.native
@pytest.mark.long
@pytest.mark.parametrize("crate", ["slh-dsa (RustCrypto)", "fips205"])
@pytest.mark.parametrize("name", model.PARAMETER_SETS)
def test_signatures_equal_those_of_the_crates(name, crate):
    """Deterministic signatures, byte for byte, with the fastest build of this machine."""
    (verifier,) = registry.select([crate])
    signer = open_signer(name)
    public_key, secret_key = signer.generate_keypair()
    seed = public_key[: len(public_key) // 2]
    try:
        # A crate without vector instructions signs for seconds, on a busy machine for a minute.
        adapter = verifier.adapter(limit_seconds=250)
    except Unsupported as error:
        pytest.skip(str(error))
    with adapter, signer.library.randomness(lambda _: seed):
        for message, context in ((b"", b""), (b"message" * 20, b"context")):
            answer = adapter.request("sign", name, secret_key, message, context)
            assert answer.verdict == "accept", answer.reason
            assert answer.signature == signer.sign(message, secret_key, context)


def test_digits_are_those_of_the_standard():
    assert model.digits(bytes([0x12, 0x34, 0xAB]), 4, 6) == [1, 2, 3, 4, 10, 11]
    assert model.digits(bytes([0b10110011, 0b01000000]), 3, 4) == [5, 4, 6, 4]
    p = model.PARAMETER_SETS["SLH-DSA-SHA2-128s"]
    # 32 digits of 15 have the checksum 0, 32 digits of 0 the checksum 480 = 0x1e0.
    assert model.chain_digits(p, b"\xff" * 16) == [15] * 32 + [0, 0, 0]
    assert model.chain_digits(p, bytes(16)) == [0] * 32 + [1, 14, 0]


def test_addresses_have_the_fields_of_the_standard():
    address = model.Address(1, 0x0203, 4, (5, 6, 7))
    words = [1, 0, 0, 0x0203, 4, 5, 6, 7]
    assert address.encoded() == b"".join(word.to_bytes(4, "big") for word in words)
    compressed = bytes([1]) + (0x0203).to_bytes(8, "big") + bytes([4])
    assert address.compressed() == compressed + address.encoded()[20:]
