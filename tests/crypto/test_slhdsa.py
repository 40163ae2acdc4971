"""SLH-DSA: known answers of ACVP, equal builds, wrong signatures, damaged keys."""

import json
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from hls_kernels.tools.nist_drbg import NistDrbg
from pqchain import algorithms
from pqchain.crypto import native, open_signer
from pqchain.errors import BadLength, CryptoFailure
from tests.crypto.acvp import acvp
from tests.crypto.builds import need

pytestmark = pytest.mark.native

VECTORS = json.loads(
    (Path(__file__).parent.parent / "vectors" / "slhdsa_acvp.json").read_text(encoding="utf-8")
)
NAMES = algorithms.names(family="SLH-DSA")
FAST = [name for name in NAMES if name.endswith("f")]
LONG = pytest.mark.long
BUILDS = [(name, build) for name in NAMES for build in algorithms.get(name).implementations]

HASHES = ("SLH-DSA-SHA2-128f", "SLH-DSA-SHA2-192f", "SLH-DSA-SHAKE-128f")
"""Sets with each of the three hash functions of a node: SHA-256, SHA-512 and SHAKE256."""


def signer(name: str, build: str) -> native.NativeSigner:
    """Return the signer of a build, or skip what this processor cannot run."""
    need(build, name)
    opened = open_signer(name, build)
    assert isinstance(opened, native.NativeSigner)
    return opened


def sign_internal(opened: native.NativeSigner, formatted: bytes, secret_key: bytes) -> bytes:
    """Return the signature of a formatted message (FIPS 205, algorithm 19)."""
    signature = bytearray(opened.algorithm.signature_bytes)
    index = opened.library.names().index(opened.algorithm.name)
    inputs = (signature, formatted, len(formatted), secret_key)
    assert opened.library.call("slhdsa_sign_internal", index, *inputs) == 0
    return bytes(signature)


def verify_internal(opened: Any, formatted: bytes, signature: bytes, public_key: bytes) -> bool:
    """Return whether a signature of a formatted message is valid (FIPS 205, algorithm 20)."""
    if len(signature) != opened.algorithm.signature_bytes:
        return False
    index = opened.library.names().index(opened.algorithm.name)
    inputs = (formatted, len(formatted), signature, public_key)
    return opened.library.call("slhdsa_verify_internal", index, *inputs) == 0


def is_slow(name: str, build: str) -> bool:
    """Whether a signature takes more than a few tenths of a second."""
    return name.endswith("s") and (build.endswith("/ref") or "SHAKE" in name)


def marked(name: str, build: str, *values: Any, identifier: str = "") -> Any:
    """Return a parameter set of a test, marked as long if it is slow."""
    marks = [pytest.mark.long] if is_slow(name, build) else []
    return pytest.param(name, build, *values, marks=marks, id=f"{name}-{build}{identifier}")


@cache
def signed(name: str) -> tuple[bytes, bytes, bytes, bytes]:
    """Return a fixed message with its signature, public key and secret key."""
    opened = open_signer(name, "slhdsa/ref")
    with native.library("slhdsa/ref").randomness(NistDrbg(name.encode().ljust(48))):
        public_key, secret_key = opened.generate_keypair()
        return b"message", opened.sign(b"message", secret_key), public_key, secret_key


@pytest.mark.parametrize(("name", "build"), BUILDS)
def test_acvp_key_is_reproduced_from_its_seeds(name: str, build: str) -> None:
    vector = VECTORS["keys"][name]
    opened = signer(name, build)
    with opened.library.randomness(lambda _: bytes.fromhex(vector["seeds"])):
        public_key, secret_key = opened.generate_keypair()
    assert sha256(public_key + secret_key).hexdigest() == vector["sha256"]


SIGNATURES = [
    marked(row["set"], build, row, identifier=f"-{row['kind']}")
    for row in VECTORS["signatures"]
    for build in algorithms.get(row["set"]).implementations
]


@pytest.mark.parametrize(("name", "build", "vector"), SIGNATURES)
def test_acvp_signature_is_reproduced(name: str, build: str, vector: dict[str, str]) -> None:
    opened = signer(name, build)
    values = {key: bytes.fromhex(vector[key]) for key in ("message", "sk")}
    message, secret_key = values["message"], values["sk"]
    n = len(secret_key) // 4
    public_key = secret_key[2 * n :]
    context = bytes.fromhex(vector.get("context", ""))
    randomness = bytes.fromhex(vector.get("randomness", "")) or public_key[:n]
    with opened.library.randomness(lambda _: randomness):
        if vector["kind"] == "internal":
            signature = sign_internal(opened, message, secret_key)
            assert verify_internal(opened, message, signature, public_key)
        else:
            signature = opened.sign(message, secret_key, context)
            assert opened.verify(message, signature, public_key, context)
    assert sha256(signature).hexdigest() == vector["sha256"]


# The small sets would sign for seconds; the portable build takes twice as long.
@pytest.mark.parametrize(
    ("name", "build"),
    [
        pytest.param(*pair, marks=[] if pair[0] in HASHES and "ref" not in pair[1] else LONG)
        for pair in BUILDS
        if pair[0] in FAST
    ],
)
def test_changed_byte_of_each_part_is_rejected(name: str, build: str) -> None:
    """Every part of a signature is read: one byte of each node is changed in turn."""
    opened = signer(name, build)
    message, signature, public_key, _ = signed(name)
    assert opened.verify(message, signature, public_key)
    n = len(public_key) // 2
    for at in range(0, len(signature), n * (17 if "SHA2" in name else 53)):
        changed = bytearray(signature)
        changed[at + at // n % n] ^= 1 << (at % 8)
        assert not opened.verify(message, bytes(changed), public_key), at
    for at in range(len(public_key)):
        changed = bytearray(public_key)
        changed[at] ^= 0x80
        assert not opened.verify(message, signature, bytes(changed)), at
    assert not opened.verify(message + b"\0", signature, public_key)
    assert not opened.verify(message, signature, public_key, b"context")


@pytest.mark.parametrize(
    ("name", "build"), [(name, build) for name, build in BUILDS if name in HASHES]
)
def test_damaged_secret_key_does_not_sign(name: str, build: str) -> None:
    """All seeds but SK.prf, whose damage harms nothing, lead to PK.root."""
    opened = signer(name, build)
    message, _, public_key, secret_key = signed(name)
    n = len(secret_key) // 4
    for at in (0, n - 1, 2 * n, 3 * n, 4 * n - 1):
        damaged = bytearray(secret_key)
        damaged[at] ^= 1
        with pytest.raises(CryptoFailure, match="secret key"):
            opened.sign(message, bytes(damaged))
    other_prf = secret_key[:n] + bytes(n) + secret_key[2 * n :]
    assert opened.verify(message, opened.sign(message, other_prf), public_key)


def test_invalid_arguments_raise() -> None:
    opened = signer("SLH-DSA-SHA2-128f", "slhdsa/ref")
    message, signature, public_key, secret_key = signed("SLH-DSA-SHA2-128f")
    with pytest.raises(BadLength, match="at most 255 bytes; got 256"):
        opened.sign(message, secret_key, bytes(256))
    assert not opened.verify(message, signature[:-1], public_key)


COUNTS = {"keyGen": 10, "verify": 42, "sigGen": 52}
"""Vectors of each set."""


def cases(kind: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield each vector of a set with its results; check their count."""
    files = (f"sign/slhdsa/testdata/{kind}_{part}.json.gz" for part in ("prompt", "results"))
    chosen = [test for test in acvp(*files) if test["parameterSet"] == name]
    assert len(chosen) == COUNTS[kind]
    yield from (test for test in chosen if test.get("preHash") != "preHash")


def formatted(case: dict[str, Any]) -> bytes:
    """Return what a vector's interface signs."""
    message, context = (bytes.fromhex(case.get(key, "")) for key in ("message", "context"))
    if case["signatureInterface"] == "internal":
        return message
    return bytes((0, len(context))) + context + message


@pytest.mark.acvp
@pytest.mark.parametrize(("name", "build"), BUILDS)
def test_acvp_every_key_is_reproduced(name: str, build: str) -> None:
    opened = signer(name, build)
    for case in cases("keyGen", name):
        seeds = bytes.fromhex(case["skSeed"] + case["skPrf"] + case["pkSeed"])
        with opened.library.randomness(lambda _, seeds=seeds: seeds):
            keys = opened.generate_keypair()
        assert keys == (bytes.fromhex(case["pk"]), bytes.fromhex(case["sk"])), case["tcId"]


@pytest.mark.acvp
@pytest.mark.parametrize(("name", "build"), BUILDS)
def test_acvp_every_signature_is_reproduced(name: str, build: str) -> None:
    opened = signer(name, build)
    for case in cases("sigGen", name):
        secret_key = bytes.fromhex(case["sk"])
        n = len(secret_key) // 4
        randomness = (
            secret_key[2 * n : 3 * n]
            if case["deterministic"]
            else bytes.fromhex(case["additionalRandomness"])
        )
        with opened.library.randomness(lambda _, randomness=randomness: randomness):
            signature = sign_internal(opened, formatted(case), secret_key)
        assert signature == bytes.fromhex(case["signature"]), case["tcId"]


@pytest.mark.acvp
@pytest.mark.parametrize(("name", "build"), BUILDS)
def test_acvp_every_verdict_is_right(name: str, build: str) -> None:
    opened = signer(name, build)
    for case in cases("verify", name):
        signature, public_key = (bytes.fromhex(case[key]) for key in ("signature", "pk"))
        verdict = verify_internal(opened, formatted(case), signature, public_key)
        assert verdict == case["testPassed"], case["tcId"]
