"""Identities: the answer to a challenge is valid for one server only."""

import pytest

from pqchain.wire.identity import generate, verify


def test_proof_for_one_server_is_invalid_for_another():
    first, second, client = generate(3, algorithm="Ed25519")
    challenge = bytes(32)
    answer = client.sign(challenge, first.public)
    assert verify(answer, challenge, client=client.public, server=first.public)
    assert not verify(answer, challenge, client=client.public, server=second.public)
    assert not verify(answer, b"x" * 32, client=client.public, server=first.public)
    assert not verify(answer, challenge, client=second.public, server=first.public)


@pytest.mark.native
def test_nodes_authenticate_with_a_post_quantum_signature():
    identity, server = generate(2)
    assert identity.public.algorithm == "ML-DSA-44"
    answer = identity.sign(bytes(32), server.public)
    assert len(answer) == 2420
    assert verify(answer, bytes(32), client=identity.public, server=server.public)
