"""Transactions of a run, which wallets sign and which fill the blocks in order.

Transaction i is a payment of wallet i modulo `WALLETS` to the next wallet. So whichever block
becomes final at a height, it has the transactions of that height, and the next ones are valid.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pqchain.chain.state import Rules, State
from pqchain.chain.transaction import Transaction
from pqchain.chain.wallet import Wallet
from pqchain.consensus.builder import Load, ModelBlock
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import Array
from pqchain.crypto.seeded import seeded_randomness
from pqchain.delegates.keys import Keypair, shared_signer

WALLETS = 4
"""Number of wallets, which pay each other in turn."""

_BALANCE = 2**40


class Pool:
    """Unlimited sequence of transactions, signed on demand, and their wallets."""

    def __init__(self, scenario: Scenario, pairs: Sequence[Keypair]) -> None:
        """Create one wallet for each key pair."""
        layout, name = scenario.layout, scenario.algorithm
        self.signer = shared_signer(name)
        self.wallets = [
            Wallet(name, key_mode=layout.key_mode, signers=[self.signer], keypairs=[pair])
            for pair in pairs
        ]
        self._seed = scenario.seed
        self._data = bytes(layout.data_bytes)
        self.signed: list[Transaction] = []
        """Transactions signed so far."""
        self.genesis = State.genesis(
            {wallet.address: _BALANCE for wallet in self.wallets},
            Rules(limit_bytes=scenario.block_bytes, algorithms=frozenset([name]), sealed=False),
        )
        """State before the first block."""

    def span(self, first: int, count: int) -> tuple[Transaction, ...]:
        """Return `count` transactions from index `first` on."""
        while len(self.signed) < first + count:
            self.signed.append(self._sign(len(self.signed)))
        return tuple(self.signed[first : first + count])

    def _sign(self, number: int) -> Transaction:
        payer, nonce = number % WALLETS, number // WALLETS
        with seeded_randomness(b"transaction %d of %d" % (number, self._seed)):
            return self.wallets[payer].transfer(
                self.wallets[(payer + 1) % WALLETS].address, 1, nonce=nonce, data=self._data
            )


class PoolLoad(Load):
    """Source of a scenario's transactions with the sizes of actually signed transactions."""

    def __init__(self, scenario: Scenario, pool: Pool) -> None:
        self.pool = pool
        self.spans: dict[int, tuple[int, int]] = {}
        """Index of the first transaction and number of transactions, by height."""
        self._taken = 0
        super().__init__(scenario)

    def take(self, height: int, *, now: int) -> ModelBlock | None:
        """Return the next block, and record which transactions of the pool are in it."""
        block = super().take(height, now=now)
        if block is not None:
            self.spans[height] = (self._taken, block.transactions)
            self._taken += block.transactions
        return block

    def _sizes(self, height: int) -> Array:
        """Return the sizes of the next transactions in bytes, more than fit into a block."""
        # The modelled load determines how many transactions suffice to fill a block.
        count = len(super()._sizes(height))
        transactions = self.pool.span(self._taken, count)
        return np.array([len(transaction.encoded) for transaction in transactions], dtype=np.int64)


def with_invalid_signature(transactions: Sequence[Transaction]) -> tuple[Transaction, ...]:
    """Return the transactions with one bit of the last one's signature flipped."""
    *others, last = transactions
    data = bytearray(last.encoded)
    data[-1] ^= 1
    return (*others, Transaction.decode(bytes(data)))
