"""Wallets, signed transactions, blocks and a ledger, with real encodings and real signatures.

Each name is imported at first use, so that `pqchain.chain.encoding` needs no cryptography.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqchain.installation import lazy_exports

# For type checkers only; at run time `lazy_exports` imports each name at first use.
if TYPE_CHECKING:
    from pqchain.chain.block import Block, Header, make_block, pack
    from pqchain.chain.encoding import encoded_size, header_bytes
    from pqchain.chain.ledger import Ledger
    from pqchain.chain.state import Account, BlockRejected, Reason, Rules, State
    from pqchain.chain.transaction import Credential, Payment, Transaction
    from pqchain.chain.verification import Verifier
    from pqchain.chain.wallet import Wallet

__all__ = [
    "Account", "Block", "BlockRejected", "Credential", "Header", "Ledger", "Payment", "Reason",
    "Rules", "State", "Transaction", "Verifier", "Wallet", "encoded_size", "header_bytes",
    "make_block", "pack",
]  # fmt: skip

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "block": "Block Header make_block pack",
        "encoding": "encoded_size header_bytes",
        "ledger": "Ledger",
        "state": "Account BlockRejected Reason Rules State",
        "transaction": "Credential Payment Transaction",
        "verification": "Verifier",
        "wallet": "Wallet",
    },
)
