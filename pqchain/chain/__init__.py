"""Wallets, signed transactions, blocks and a ledger, with real encodings and real signatures.

Each name is imported at first use, so that `pqchain.chain.encoding` needs no cryptography.
"""

from pqchain import installation

__getattr__, __dir__, __all__ = installation.lazy_exports(__name__, __file__)
