"""The model of Falcon compared with independent C code, and round trips of its codec."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqchain.crypto import open_signer
from pqchain_conform.models import falcon as model
from pqchain_conform.models.falcon import FalconVerifier

NAMES = tuple(model.PARAMETER_SETS)


@pytest.mark.native
@pytest.mark.parametrize("name", NAMES)
def test_honest_signatures_are_valid_and_changed_ones_are_not(name):
    signer, verifier = open_signer(name, "liboqs-0.13/ref"), FalconVerifier(name)
    public_key, secret_key = signer.generate_keypair()
    for number in range(8):
        message = b"message %d" % number
        signature = signer.sign(message, secret_key)
        checks = list(verifier.checks(message, signature, public_key))
        assert [check.name for check in checks if not check.holds] == []
        assert not verifier.verify(message + b".", signature, public_key)
        s2 = model.decompress(verifier.parameters.n, signature[41:]).s2
        again = model.to_bytes(model.compress(s2))
        assert signature[41:].rstrip(b"\0") == again.rstrip(b"\0")


@given(st.lists(st.integers(-5000, 5000), min_size=4, max_size=4))
def test_encoded_coefficients_decode_to_themselves(s2):
    bits = model.compress(s2)
    decoded = model.decompress(4, model.to_bytes(bits))
    assert decoded.s2 == s2
    assert decoded.minus_zeros == []
    assert decoded.used_bits == len(bits)


@given(st.binary(min_size=1, max_size=40))
def test_decoded_bytes_encode_to_themselves(data):
    decoded = model.decompress(4, data)
    if len(decoded.s2) == 4 and not decoded.minus_zeros:
        assert model.to_bits(data)[: decoded.used_bits] == model.compress(decoded.s2)


@given(st.lists(st.integers(0, 16383), min_size=8, max_size=8))
def test_encoded_keys_decode_to_themselves(values):
    key = model.encode_key(values)
    assert key[0] == 3
    assert model.decode_key(key[1:]).tolist() == values


def test_products_are_reduced_modulo_x_to_the_n_plus_1():
    x = np.eye(8, dtype=np.int64)
    for i in range(8):
        for j in range(8):
            sign = 1 if i + j < 8 else -1
            assert model.times(x[i], x[j]).tolist() == (sign * x[(i + j) % 8]).tolist()
