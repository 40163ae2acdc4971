"""Fixed wallets for known answers, and cheap ones for other tests."""

from functools import cache

from pqchain.chain import Wallet

ED25519 = (
    bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"),
    bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"),
)
"""RFC 8032, section 7.1, test 1."""

ED25519_2 = (
    bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"),
    bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"),
)
"""RFC 8032, section 7.1, test 2."""

SECP256K1 = (
    bytes.fromhex("0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"),
    (1).to_bytes(32, "big"),
)
"""The generator of the group, whose secret key is 1."""


def proposer() -> Wallet:
    return Wallet("Ed25519", keypairs=[ED25519_2])


def alice(**options: object) -> Wallet:
    return Wallet("Ed25519", keypairs=[ED25519], **options)  # type: ignore[arg-type]


def bob(**options: object) -> Wallet:
    return Wallet("ECDSA-secp256k1", keypairs=[SECP256K1], **options)  # type: ignore[arg-type]


def hybrid(**options: object) -> Wallet:
    return Wallet(
        ["ECDSA-secp256k1", "Ed25519"],
        keypairs=[SECP256K1, ED25519],
        **options,  # type: ignore[arg-type]
    )


@cache
def fresh(algorithm: str, number: int = 0) -> Wallet:
    return Wallet(algorithm)
