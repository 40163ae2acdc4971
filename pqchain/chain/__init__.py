"""Wallets, signed transactions, blocks and a ledger: real bytes, real signatures.

Each name is loaded at first use, so that `pqchain.chain.encoding` needs no cryptography.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pqchain.chain.block import Block, Header, make_block, pack
    from pqchain.chain.encoding import encoded_size, header_bytes
    from pqchain.chain.ledger import Ledger
    from pqchain.chain.rejection import BlockRejected, Reason
    from pqchain.chain.state import Account, Rules, State
    from pqchain.chain.transaction import Credential, Payment, Transaction
    from pqchain.chain.verification import Verifier
    from pqchain.chain.wallet import Wallet

_HOME = {
    "Account": "state",
    "Block": "block",
    "BlockRejected": "rejection",
    "Credential": "transaction",
    "Header": "block",
    "Ledger": "ledger",
    "Payment": "transaction",
    "Reason": "rejection",
    "Rules": "state",
    "State": "state",
    "Transaction": "transaction",
    "Verifier": "verification",
    "Wallet": "wallet",
    "encoded_size": "encoding",
    "header_bytes": "encoding",
    "make_block": "block",
    "pack": "block",
}
"""The public names, and the module that each comes from."""

__all__ = [
    "Account",
    "Block",
    "BlockRejected",
    "Credential",
    "Header",
    "Ledger",
    "Payment",
    "Reason",
    "Rules",
    "State",
    "Transaction",
    "Verifier",
    "Wallet",
    "encoded_size",
    "header_bytes",
    "make_block",
    "pack",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'pqchain.chain' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"pqchain.chain.{_HOME[name]}"), name)
    globals()[name] = value
    return value
