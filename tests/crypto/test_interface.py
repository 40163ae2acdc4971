"""Argument checks before every implementation, with recording implementations."""

import pytest

from pqchain.algorithms import get
from pqchain.crypto.interface import Kem, Signer, as_bytes
from pqchain.errors import BadLength, BadType, UsageError


class Recorder(Signer):
    """Signer that signs with zeros, accepts everything and records its calls."""

    def __init__(self, name: str) -> None:
        super().__init__(get(name), "recorder")

    def _prepare(self):
        self.seen: list[tuple[bytes, ...]] = []

    def generate_keypair(self):
        return bytes(self.algorithm.public_key_bytes), bytes(self.algorithm.secret_key_bytes)

    def _sign(self, message, secret_key, context):
        self.seen.append((message, secret_key, context))
        return bytes(self.algorithm.signature_bytes)

    def _verify(self, message, signature, public_key, context):
        self.seen.append((message, signature, public_key, context))
        return True


class KemRecorder(Kem):
    """KEM that encapsulates zeros and records its calls."""

    def __init__(self, name: str) -> None:
        super().__init__(get(name), "recorder")

    def _prepare(self):
        self.seen: list[tuple[bytes, ...]] = []

    def generate_keypair(self):
        return bytes(self.algorithm.public_key_bytes), bytes(self.algorithm.secret_key_bytes)

    def _encapsulate(self, public_key):
        self.seen.append((public_key,))
        return bytes(self.algorithm.ciphertext_bytes), bytes(32)

    def _decapsulate(self, ciphertext, secret_key):
        self.seen.append((ciphertext, secret_key))
        return bytes(32)


def test_bytes_are_not_copied_and_views_once():
    signer = Recorder("ML-DSA-44")
    public_key, secret_key = signer.generate_keypair()
    message = bytes(range(256)) * 8
    signer.sign(message, secret_key, b"c")
    assert signer.seen[-1][0] is message
    assert signer.seen[-1][1] is secret_key
    for view in (bytearray(message), memoryview(message), memoryview(bytearray(message))):
        signer.verify(view, bytearray(2420), memoryview(public_key), bytearray(b"c"))
        assert signer.seen[-1] == (message, bytes(2420), public_key, b"c")
        assert {type(value) for value in signer.seen[-1]} == {bytes}
    every_second = memoryview(message)[::2]
    assert as_bytes("message", every_second) == message[::2]


@pytest.mark.parametrize("length", [0, 1, 2419, 2421, 4840])
def test_wrong_signature_length_is_invalid_without_a_library_call(length):
    signer = Recorder("ML-DSA-44")
    assert signer.verify(b"", bytes(length), bytes(1312)) is False
    assert signer.seen == []
    assert signer.verify(b"", bytes(2420), bytes(1312)) is True


def test_varying_signature_may_have_any_length_up_to_the_maximum():
    signer = Recorder("Falcon-512")
    assert [length for length in range(800) if signer.verify(b"", bytes(length), bytes(897))] == [
        *range(1, 753)
    ]


def test_contexts_are_limited_by_the_family():
    signer = Recorder("ML-DSA-44")
    signer.sign(b"", bytes(2560), bytes(255))
    with pytest.raises(BadLength, match="ML-DSA-44 must have at most 255 bytes; got 256"):
        signer.sign(b"", bytes(2560), bytes(256))
    with pytest.raises(BadLength, match="Dilithium2 must have at most 0 bytes; got 1"):
        Recorder("Dilithium2").verify(b"", bytes(2420), bytes(1312), b"c")
    Recorder("Dilithium2").verify(b"", bytes(2420), bytes(1312), bytearray())


@pytest.mark.parametrize("wrong", ["text", "", None, 0, 7, (), [], [1, 2]])
def test_each_argument_must_be_bytes(wrong):
    signer, kem = Recorder("ML-DSA-44"), KemRecorder("ML-KEM-512")
    for function, good in [
        (signer.sign, (b"", bytes(2560), b"")),
        (signer.verify, (b"", bytes(2420), bytes(1312), b"")),
        (kem.encapsulate, (bytes(800),)),
        (kem.decapsulate, (bytes(768), bytes(1632))),
    ]:
        for index in range(len(good)):
            with pytest.raises(BadType, match=f"must be bytes.* got {type(wrong).__name__}"):
                function(*good[:index], wrong, *good[index + 1 :])
    assert signer.seen == kem.seen == []


def test_text_is_to_be_encoded():
    with pytest.raises(BadType, match=r"\.encode\(\)"):
        Recorder("ML-DSA-44").sign("text", bytes(2560))


def test_error_texts_do_not_contain_secrets():
    secret = b"very secret".ljust(2559)
    with pytest.raises(BadLength) as caught:
        Recorder("ML-DSA-44").sign(b"", secret)
    assert "very secret" not in str(caught.value)
    assert "of ML-DSA-44 must have 2560 bytes in" in str(caught.value)


def test_kems_check_every_argument():
    kem = KemRecorder("ML-KEM-512")
    public_key, secret_key = kem.generate_keypair()
    ciphertext, _ = kem.encapsulate(bytearray(public_key))
    kem.decapsulate(memoryview(ciphertext), secret_key)
    assert [len(value) for values in kem.seen for value in values] == [800, 768, 1632]
    for call in (
        lambda: kem.encapsulate(public_key[1:]),
        lambda: kem.decapsulate(ciphertext[1:], secret_key),
        lambda: kem.decapsulate(ciphertext, secret_key + b"\0"),
    ):
        with pytest.raises(BadLength, match="of ML-KEM-512 must have"):
            call()
    assert len(kem.seen) == 2


def test_signer_and_kem_reject_the_other_kind():
    with pytest.raises(UsageError, match=r"ML-KEM-512 must be a signature; it is a kem.*open_kem"):
        Recorder("ML-KEM-512")
    with pytest.raises(UsageError, match="Falcon-512 must be a kem; it is a signature"):
        KemRecorder("Falcon-512")
