"""XMSS and LMS: known answers, rejected keys and signatures, and no leaf used twice."""

import copy
import json
import os
import pickle
import threading
from pathlib import Path

import pytest

from pqchain import algorithms, open_signer
from pqchain.crypto.native import NativeSigner
from pqchain.crypto.stateful import StatefulSigner, verifier
from pqchain.errors import BadLength, CryptoFailure, Unsupported, UsageError

pytestmark = pytest.mark.native

ANSWERS = json.loads(
    (Path(__file__).parent.parent / "vectors" / "stateful.json").read_text(encoding="utf-8")
)
"""Vectors of liboqs 0.13.0, tests/KATs/sig_stfl."""

XMSS, LMS = "XMSS-SHA2_10_256", "LMS_SHA256_H5_W8"


def fields(name: str) -> tuple[bytes, bytes, bytes]:
    """Return message, signature and public key of a vector."""
    row = ANSWERS[name]
    return tuple(bytes.fromhex(row[field]) for field in ("message", "signature", "public_key"))


@pytest.fixture(scope="module")
def pair() -> tuple[bytes, bytes]:
    return verifier(LMS).generate_keypair()


@pytest.fixture
def key(pair: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch) -> StatefulSigner:
    """Return a new signer with the same LMS key, whose generation is slow."""
    monkeypatch.setattr(verifier(LMS), "generate_keypair", lambda: pair)
    return StatefulSigner(LMS)


def leaf(signature: bytes) -> int:
    """Return the leaf that a signature of LMS used."""
    return int.from_bytes(signature[4:8], "big")


@pytest.mark.parametrize("name", ANSWERS)
def test_known_signatures_verify(name: str) -> None:
    message, signature, public_key = fields(name)
    assert verifier(name).verify(message, signature, public_key)
    assert not verifier(name).verify(message + b"x", signature, public_key)
    for place in (0, 4, 40, len(signature) // 2, len(signature) - 1):
        damaged = bytearray(signature)
        damaged[place] ^= 1
        assert not verifier(name).verify(message, damaged, public_key)


def test_xmss_signs_as_the_known_answer() -> None:
    message, signature, _ = fields(XMSS)
    key, ours = bytearray.fromhex(ANSWERS[XMSS]["secret_key"]), bytearray(2500)
    verifier(XMSS).call("sign", key, ours, message, len(message))
    assert ours == signature


@pytest.mark.parametrize("name", ANSWERS)
def test_sizes_are_those_of_the_registry(name: str) -> None:
    row, sizes = algorithms.get(name), verifier(name).library.sizes(name)
    assert sizes["public_key_bytes"] == row.public_key_bytes == len(fields(name)[2])
    assert sizes["secret_key_bytes"] == row.secret_key_bytes
    assert sizes["signature_max_bytes"] == row.signature_bytes == len(fields(name)[1])


@pytest.mark.parametrize("name", ANSWERS)
def test_other_lengths_and_parameter_sets_do_not_reach_liboqs(name: str) -> None:
    # liboqs 0.13.0 reads past such a signature, and takes the parameter set from the key.
    message, signature, public_key = fields(name)
    scheme = verifier(name)
    for count in (0, 4, 12, 44, len(signature) - 1):
        assert not scheme.verify(message, signature[:count], public_key)
        assert not NativeSigner._verify(scheme, message, signature[:count], public_key, b"")
    assert not scheme.verify(message, signature + b"\0", public_key)
    same_length = [other for other in ANSWERS if len(fields(other)[2]) == len(public_key)]
    for other in set(same_length) - {name}:
        assert not scheme.verify(message, signature, fields(other)[2])
    with pytest.raises(BadLength):
        scheme.verify(message, signature, public_key[:-1])


def test_a_key_of_another_parameter_set_does_not_sign() -> None:
    key = bytearray.fromhex(ANSWERS[XMSS]["secret_key"])
    key[3] = 2  # XMSS-SHA2_16_256, whose state is longer
    with pytest.raises(CryptoFailure, match="key generation cannot produce"):
        verifier(XMSS).call("sign", key, bytearray(2500), b"", 0)


def test_each_signature_uses_the_next_leaf_and_the_last_one_is_the_last(key):
    key._scheme.call("skip", key._key, 28)
    for i in range(28, 31):
        signature = key.sign(b"%d" % i)
        assert leaf(signature) == i
        assert key._scheme.verify(b"%d" % i, signature, key.public_key)
    assert (key.next_leaf, key.remaining, key.algorithm) == (31, 0, LMS)
    with pytest.raises(UsageError, match="no leaves left"):
        key.sign(b"")


@pytest.mark.long
def test_a_new_key_of_xmss_signs():
    signer = StatefulSigner(XMSS)
    for i in range(2):
        signature = signer.sign(b"%d" % i)
        assert int.from_bytes(signature[:4], "big") == i
        assert verifier(XMSS).verify(b"%d" % i, signature, signer.public_key)
    assert signer.remaining == 1021


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_no_copy_of_a_key_signs(key: StatefulSigner) -> None:
    child = os.fork()
    if child == 0:
        try:
            key.sign(b"")
        except UsageError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="must not be copied"):
            duplicate(key)


def test_threads_use_no_leaf_twice(key: StatefulSigner) -> None:
    signatures: list[bytes] = []
    threads = [threading.Thread(target=lambda: signatures.append(key.sign(b""))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(leaf, signatures)) == list(range(6))


def test_other_schemes_and_open_signer_say_what_to_use() -> None:
    with pytest.raises(UsageError, match=r"is not stateful; use pqchain\.open_signer"):
        verifier("Falcon-512")
    with pytest.raises(Unsupported, match="StatefulSigner"):
        open_signer(XMSS)
    with pytest.raises(CryptoFailure, match="no such operation"):
        verifier(XMSS).sign(b"", bytes(1377))
