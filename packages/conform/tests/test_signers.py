"""ModelSigner: correct signatures, signatures at the bound, and use in a chain."""

from __future__ import annotations

import pytest

from pqchain.chain import State, Wallet
from pqchain.chain.state import BlockRejected, Reason
from pqchain.chain.verification import Verifier
from pqchain.crypto import open_signer
from pqchain.errors import UnknownName, UsageError
from pqchain_conform import ModelSigner

NAME = "ML-DSA-44"


@pytest.mark.native
def test_model_signatures_equal_the_standard():
    model, portable = ModelSigner(NAME), open_signer(NAME, "liboqs-0.13/ref")
    public_key, secret_key = model.generate_keypair()
    signature = model.sign(b"message", secret_key, b"context")
    assert portable.verify(b"message", signature, public_key, b"context")
    assert model.verify(b"message", signature, public_key, b"context")
    assert not model.verify(b"message", signature, public_key)


@pytest.mark.native
@pytest.mark.parametrize(("edge", "valid"), [(-1, True), (0, False), (1, False)])
def test_edge_vectors_lie_at_their_bound(edge, valid):
    hostile, portable = ModelSigner(NAME, edge=edge), open_signer(NAME, "liboqs-0.13/ref")
    public_key, secret_key = hostile.generate_keypair()
    signature = hostile.sign(b"message", secret_key)
    assert portable.verify(b"message", signature, public_key) == valid
    assert ModelSigner(NAME).verify(b"message", signature, public_key) == valid
    unbounded = ModelSigner(NAME, mutant="z: no bound")
    assert unbounded.verify(b"message", signature, public_key)
    assert not unbounded.verify(b"another", signature, public_key)
    at_the_bound = ModelSigner(NAME, mutant="z: at the bound allowed")
    assert at_the_bound.verify(b"message", signature, public_key) == (edge < 1)


def test_wrong_bound_makes_verifiers_disagree():
    mallory, proposer = Wallet(NAME, signers=[ModelSigner(NAME, edge=0)]), Wallet("Ed25519")
    state = State.genesis({mallory.address: 9})
    payment = mallory.transfer(bytes(32), 9, nonce=0)
    block = state.propose([payment], proposer=proposer, timestamp=1)
    wrong = ModelSigner(NAME, mutant="z: at the bound allowed")
    after = state.apply(block, verifier=Verifier(implementations={NAME: wrong}))
    assert after.account(mallory.address).balance == 0
    with pytest.raises(BlockRejected) as caught:
        state.apply(block, verifier=Verifier(implementations={NAME: ModelSigner(NAME)}))
    assert caught.value.reason is Reason.BAD_SIGNATURE


def test_wrong_names_and_edges_are_rejected():
    with pytest.raises(UnknownName, match="Falcon-512"):
        ModelSigner("Falcon-512")
    with pytest.raises(UnknownName, match="z: no limit"):
        ModelSigner(NAME, mutant="z: no limit")
    with pytest.raises(UsageError, match="edge must be from -130993 to 78; got 79"):
        ModelSigner(NAME, edge=79)
