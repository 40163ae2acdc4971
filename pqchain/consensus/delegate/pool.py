"""The transactions that wait: signed by wallets before the run, taken block by block.

Transaction i is wallet i modulo `WALLETS`'s payment to the next wallet, so whatever block becomes
final at a height holds the transactions of that height, and the next ones follow.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pqchain.chain.state import Rules, State
from pqchain.chain.transaction import Transaction
from pqchain.chain.wallet import Wallet
from pqchain.consensus.builder import Block, Load
from pqchain.consensus.delegate.keys import Keypair, opened
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import Array
from pqchain.crypto.seeded import seeded_randomness

WALLETS = 4
"""Who pays each other, in turns."""

_BALANCE = 2**40


class Pool:
    """An endless list of transactions, signed when they are asked for, and who they belong to."""

    def __init__(self, scenario: Scenario, pairs: Sequence[Keypair]) -> None:
        """Take the key pairs of the wallets."""
        layout, name = scenario.layout, scenario.algorithm
        self.signer = opened(name)
        self.wallets = [
            Wallet(
                name,
                public_key=layout.public_key,
                signers=[self.signer],
                keypairs=[pair],
            )
            for pair in pairs
        ]
        self._seed = scenario.seed
        self._data = bytes(layout.data_bytes)
        self.made: list[Transaction] = []
        """Those that were signed so far."""
        self.genesis = State.genesis(
            {wallet.address: _BALANCE for wallet in self.wallets},
            Rules(limit_bytes=scenario.block_bytes, algorithms=frozenset([name]), sealed=False),
        )
        """The state before the first block."""

    def span(self, first: int, count: int) -> tuple[Transaction, ...]:
        """Return so many transactions from that one on."""
        while len(self.made) < first + count:
            self.made.append(self._sign(len(self.made)))
        return tuple(self.made[first : first + count])

    def _sign(self, number: int) -> Transaction:
        payer, nonce = number % WALLETS, number // WALLETS
        with seeded_randomness(b"transaction %d of %d" % (number, self._seed)):
            return self.wallets[payer].transfer(
                self.wallets[(payer + 1) % WALLETS].address, 1, nonce=nonce, data=self._data
            )


class PoolLoad(Load):
    """The load of a scenario whose sizes are those of transactions that were signed."""

    def __init__(self, scenario: Scenario, pool: Pool) -> None:
        self.pool = pool
        self.spans: dict[int, tuple[int, int]] = {}
        """Where the transactions of each height begin, and how many there are."""
        self._taken = 0
        super().__init__(scenario)

    def take(self, height: int, *, now: int) -> Block | None:
        """Fill a block, and note its transactions as those of that height."""
        block = super().take(height, now=now)
        if block is not None:
            self.spans[height] = (self._taken, block.transactions)
            self._taken += block.transactions
        return block

    def _sizes(self, height: int) -> Array:
        """Return the sizes of the transactions that come next; more than fit."""
        count = len(super()._sizes(height))
        waiting = self.pool.span(self._taken, count)
        return np.array([len(each.encoded) for each in waiting], dtype=np.int64)


def damaged(transactions: Sequence[Transaction]) -> tuple[Transaction, ...]:
    """Return the transactions with a bit of the last one's signature flipped."""
    *others, last = transactions
    data = bytearray(last.encoded)
    data[-1] ^= 1
    return (*others, Transaction.decode(bytes(data)))
