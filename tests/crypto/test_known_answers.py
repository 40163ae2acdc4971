"""Known answers of liboqs through the wrapper, and byte-for-byte equality of builds.

The digests are of the text that liboqs's kat_sig and kat_kem print, which is the format of NIST's
response files. The text is built here, with the generator of NIST's test programs as the source
of randomness of the C code.
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from hls_kernels.tools.nist_drbg import NistDrbg
from pqchain.crypto import native, open_kem, open_signer
from tests.crypto.builds import BUILDS, ROUND3_BUILDS, need

pytestmark = pytest.mark.native

VECTORS = Path(__file__).parent.parent / "vectors"
ANSWERS = {
    builds: json.loads((VECTORS / file).read_text(encoding="utf-8"))
    for builds, file in (
        (BUILDS, "kat_sha256.json"),
        (ROUND3_BUILDS, "kat_sha256_round3.json"),
    )
}
"""Expected digests, by the pair of builds that must give them."""

MODERN = ("pqcp/avx2", "pqcp/avx512")
"""Builds of other code with the known answers of liboqs for ML-DSA and ML-KEM."""

FAST = ("Dilithium", "ML-DSA", "Falcon", "MAYO", "Kyber", "ML-KEM", "Classic-McEliece-348864")
"""Families and sets whose every vector takes seconds; of the others, count 0."""


def pairs(kind: str) -> list[tuple[str, tuple[str, str]]]:
    """Return every algorithm of a kind with the two builds that have a known answer."""
    return [(name, builds) for builds, answers in ANSWERS.items() for name in answers[kind]]


SLOW_EVERYWHERE = ("Falcon-1024", "Falcon-padded-1024")
"""Sets whose every build takes seconds for a hundred vectors."""

SLOWEST = ("SPHINCS+-SHA2-192s-simple", "SPHINCS+-SHA2-256s-simple")
"""Whose portable build takes seconds for one."""


def cells(kind: str) -> list[Any]:
    """Return kind, algorithm, build, number of vectors and digest of every quick known answer."""
    return [
        pytest.param(
            kind, name, build, vectors(name, which), expected, marks=marks(name, build, which)
        )
        for builds, answers in ANSWERS.items()
        for name, digests in answers[kind].items()
        for which, expected in digests.items()
        if which == "single" or name.startswith(FAST)
        for build in (*builds, *(MODERN if name.startswith(("ML-DSA", "ML-KEM")) else ()))
    ]


def vectors(name: str, which: str) -> int:
    """Return the number of vectors of a known answer."""
    if which == "single":
        return 1
    return 10 if name.startswith("Classic-McEliece") else 100


def marks(name: str, build: str, which: str) -> list[pytest.MarkDecorator]:
    """Return the pytest marks of these vectors."""
    slow = which == "all" or name in SLOWEST
    slow_everywhere = which == "all" and name in SLOW_EVERYWHERE
    return [pytest.mark.long] if slow_everywhere or (slow and build.endswith("/ref")) else []


def signed_message(name: str, message: bytes, signature: bytes) -> bytes:
    """Return the signed message in the layout of the submission."""
    if name in ("Falcon-512", "Falcon-1024"):
        length = len(signature) - 40
        header = b"\x29" if name == "Falcon-512" else b"\x2a"
        nonce, compressed = signature[1:41], signature[41:]
        return length.to_bytes(2, "big") + nonce + message + header + compressed
    if name.startswith(("cross-", "OV-", "Rainbow-")):
        return message + signature
    return signature + message


def lines(**fields: int | bytes) -> str:
    """Return the lines of one vector."""
    return "".join(
        f"{key} = {value if isinstance(value, int) else value.hex().upper()}\n"
        for key, value in fields.items()
    )


def signature_response(name: str, implementation: str, counts: int) -> str:
    """Return the text that kat_sig prints for that many vectors."""
    signer, library = open_signer(name, implementation), native.library(implementation)
    return signature_text(name, signer, library, counts)


def signature_text(name: str, signer: Any, library: Any, counts: int) -> str:
    """Return the response text of any signer that draws its randomness from `library`."""
    drbg = NistDrbg(bytes(range(48)))
    texts = []
    for count in range(counts):
        seed = drbg(48)
        message = drbg(33 * (count + 1))
        with library.randomness(NistDrbg(seed)):
            public_key, secret_key = signer.generate_keypair()
            signature = signer.sign(message, secret_key)
        assert signer.verify(message, signature, public_key)
        both = signed_message(name, message, signature)
        texts.append(
            lines(
                count=count,
                seed=seed,
                mlen=len(message),
                msg=message,
                pk=public_key,
                sk=secret_key,
                smlen=len(both),
                sm=both,
            )
        )
    return "\n".join(texts)


def kem_response(name: str, implementation: str, counts: int) -> str:
    """Return the text that kat_kem prints for that many vectors."""
    return kem_text(open_kem(name, implementation), native.library(implementation), counts)


def kem_text(kem: Any, library: Any, counts: int) -> str:
    """Return the response text of any KEM that draws its randomness from `library`."""
    drbg = NistDrbg(bytes(range(48)))
    texts = []
    for count in range(counts):
        seed = drbg(48)
        with library.randomness(NistDrbg(seed)):
            public_key, secret_key = kem.generate_keypair()
            ciphertext, shared_secret = kem.encapsulate(public_key)
        assert kem.decapsulate(ciphertext, secret_key) == shared_secret
        texts.append(
            lines(
                count=count, seed=seed, pk=public_key, sk=secret_key,
                ct=ciphertext, ss=shared_secret,
            )
        )  # fmt: skip
    return "\n".join(texts)


def digest(text: str) -> str:
    """Return the SHA-256 of a response text."""
    return sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("kind", "name", "implementation", "counts", "expected"),
    [*cells("signature"), *cells("kem")],
)
def test_vectors_are_reproduced(kind, name, implementation, counts, expected):
    need(implementation, name)
    response = signature_response if kind == "signature" else kem_response
    assert digest(response(name, implementation, counts)) == expected


@pytest.mark.parametrize(("name", "builds"), pairs("kem"))
def test_builds_give_equal_ciphertexts(name, builds):
    """Keys, ciphertexts and secrets agree, including the secret of a forged ciphertext."""
    made = []
    for implementation in builds:
        need(implementation, name)
        kem = open_kem(name, implementation)
        with native.library(implementation).randomness(NistDrbg(bytes(48))):
            public_key, secret_key = kem.generate_keypair()
            ciphertext, shared_secret = kem.encapsulate(public_key)
        forged = bytes([ciphertext[0] ^ 1]) + ciphertext[1:]
        rejected = kem.decapsulate(forged, secret_key)
        made.append((public_key, secret_key, ciphertext, shared_secret, rejected))
        assert kem.decapsulate(ciphertext, secret_key) == shared_secret
        assert rejected != shared_secret
    assert made[0] == made[1]


def test_every_algorithm_of_the_builds_has_a_known_answer():
    for builds, answers in ANSWERS.items():
        for implementation in builds:
            need(implementation, "Falcon-512")
            known = {*answers["signature"], *answers["kem"]}
            assert set(native.library(implementation).names()) <= known
