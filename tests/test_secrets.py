"""Objects with secret keys do not show them: a repr ends up in logs and tracebacks."""

import pytest

from pqchain.crypto import open_signer
from pqchain.delegates.setting import SharedInputs
from pqchain.wire.identity import generate
from pqchain_conform.models import ml_dsa_signer


@pytest.mark.native
def test_secrets_are_not_shown() -> None:
    from pqchain.chain.wallet import Wallet

    pair = open_signer("Falcon-512").generate_keypair()
    (identity,) = generate(1, algorithm="Ed25519")
    key = ml_dsa_signer.generate("ML-DSA-44", bytes(range(32)))
    held = {
        Wallet("Falcon-512", keypairs=[pair]): [pair[1]],
        SharedInputs((pair,), (pair,), ()): [pair[1]],
        identity: [identity.secret_key, identity.certificate_key_pem],
    }
    for each, secrets in held.items():
        for secret in secrets:
            assert repr(secret)[2:40] not in repr(each)
            assert secret[:8].hex() not in repr(each)
    assert repr(key.signing_seed)[2:20] not in repr(key)
