"""Wallets, signed transactions, blocks and a ledger: real bytes, real signatures."""
