"""Data that a scenario's delegates share: proposers, transactions, keys, block validity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from pqchain import schemes
from pqchain.algorithms import get as algorithm
from pqchain.chain.block import Block
from pqchain.chain.encoding import HEADER_BYTES, algorithm_identifier
from pqchain.chain.state import BlockRejected, Rules, State
from pqchain.chain.transaction import Transaction, address_of
from pqchain.chain.verification import Verifier
from pqchain.chain.wallet import Wallet
from pqchain.consensus.builder import Load, ModelBlock, ViewBuilder
from pqchain.consensus.lengths import MESSAGE_HEADER_BYTES, distribution, mean
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import Array
from pqchain.crypto.native import seeded_randomness
from pqchain.delegates.keys import DelegateKeys, Keypair, keypair, shared_signer
from pqchain.delegates.messages import BLOCK_KINDS, MAX_VIEWS, VOTE_KINDS, MessageKind, statement
from pqchain.errors import UsageError

WALLETS = 4
"""Number of wallets, which pay each other in turn."""

_BALANCE = 2**40

_COUNT_AT = HEADER_BYTES + 2
"""Offset of the number of transactions in a block without a seal."""


def check_executable(scenario: Scenario) -> None:
    """Raise UsageError, with the reason, for a scenario that can only be modelled."""
    layout, costs = scenario.layout, scenario.cost
    if costs.is_given:
        schemes.register(costs)  # transactions look up their scheme in the registry
    row = algorithm(scenario.algorithm)
    least = int(mean(distribution(row.name, row.signature_bytes)))
    law, equivocating = scenario.network.law, scenario.faults.equivocating
    wrong = {
        "layout must not have overhead_bytes or header_bytes for executed delegates, which use "
        f"the encoding of pqchain; got {layout!r}. Leave them out.": (
            layout.overhead_bytes is not None or layout.header_bytes is not None
        ),
        "layout.key_mode must be 'inline' or 'recovered' for executed delegates, which start "
        "without registered keys; got 'registered'.": layout.key_mode == "registered",
        f"costs of {row.name} must have real sizes, a key of {row.public_key_bytes} and a "
        f"signature of {row.signature_bytes} bytes; got {costs.public_key_bytes} and "
        f"{costs.signature_bytes}.": (
            costs.public_key_bytes != row.public_key_bytes or costs.signature_bytes < least
        ),
        f"max_views must be at most {MAX_VIEWS}, the range of a message's view field; got "
        f"{scenario.max_views}.": scenario.max_views > MAX_VIEWS,
        "certificates must be 'none' for executed delegates; got "
        f"{scenario.certificates!r}. Use mode='model' (--mode model).": (
            scenario.certificates != "none"
        ),
        "network must not be 'uplink' for executed delegates, whose messages do not share "
        "links; got uplink. Use named('star'), or mode='model' (--mode model).": law == "uplink",
        "faults.equivocating must be empty on gossip, where the proposer cannot choose which "
        f"node receives which block; got {equivocating}. Use another network, or "
        "faults.invalid.": law == "gossip" and bool(equivocating),
    }
    for message, is_wrong in wrong.items():
        if is_wrong:
            raise UsageError(message)


@dataclass(frozen=True, slots=True, repr=False)
class SharedInputs:
    """Values shared by delegates in different processes; no repr, as secret keys are in it."""

    delegates: tuple[Keypair, ...]
    wallets: tuple[Keypair, ...]
    blocks: tuple[tuple[bytes, ...], ...]
    """Encoded transactions of each height; if empty, each process signs them."""


class Pool:
    """Unlimited sequence of transactions, signed on demand, and their wallets.

    Transaction i is a payment of wallet i modulo `WALLETS` to the next wallet. So whichever block
    becomes final at a height, it has the transactions of that height, and the next ones are valid.
    """

    def __init__(self, scenario: Scenario, pairs: Sequence[Keypair]) -> None:
        """Create one wallet for each key pair."""
        layout, name = scenario.layout, scenario.algorithm
        self.signer = shared_signer(algorithm(name))
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

    def take(self, height: int, *, now: int) -> ModelBlock:
        """Return the next block, and record which transactions of the pool are in it."""
        block = super().take(height, now=now)
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


class Setting:
    """Data shared by the delegates of one process; constant except for caches."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        modelled_clock: bool = True,
        inputs: SharedInputs | None = None,
    ) -> None:
        """Raise UsageError if delegates cannot run `scenario`, Unsupported without its scheme.

        On a modelled clock verifications are cached. `inputs` is the result of `shared_inputs` in
        another process.
        """
        check_executable(scenario)
        self.scenario = scenario
        self.builder = ViewBuilder(scenario)
        self.count = scenario.delegate_count
        self.all_to_all = scenario.exchange == "all-to-all"
        self.serial = scenario.network.law == "paper-serial"
        self.hosted = scenario.network.law == "host"
        self.quorum = scenario.quorum
        self.final_vote = MessageKind.COMMIT if scenario.phases == 2 else MessageKind.VOTE
        """Kind of the votes that make a block final."""
        self.disturbance = lru_cache(maxsize=16)(
            lambda height, view: self.builder.disturbance(height * scenario.max_views + view)
        )
        """Loss, delay, jitter and partition of a view of a height."""
        self._row = algorithm(scenario.algorithm)
        self._delegates = inputs.delegates if inputs else ()
        self._wallets = inputs.wallets if inputs else self._keypairs("wallet", range(WALLETS))
        self.pool = Pool(scenario, self._wallets)
        self.load = PoolLoad(scenario, self.pool)
        if inputs:
            # The transactions of the other process are taken over instead of signed again.
            for height, block in enumerate(inputs.blocks):
                self.load.spans[height] = (len(self.pool.signed), len(block))
                self.pool.signed += map(Transaction.decode, block)
        self.verifier = Verifier(threads=scenario.verification_threads)
        self._executed: dict[tuple[bytes, bytes], State | BlockRejected] = {}
        self._modelled_clock = modelled_clock
        field = scenario.cost.signature_bytes
        blocks, votes = scenario.signed_blocks * field, scenario.signed_votes * field
        self._fields = dict.fromkeys(BLOCK_KINDS, blocks) | dict.fromkeys(VOTE_KINDS, votes)
        self._order = lru_cache(maxsize=16)(self.builder.order)

    @cached_property
    def keys(self) -> DelegateKeys:
        """Keys of the delegates."""
        return DelegateKeys(
            self._row,
            self.delegates,
            self.scenario.cost.signature_bytes,
            modelled_clock=self._modelled_clock,
        )

    @cached_property
    def delegates(self) -> tuple[Keypair, ...]:
        """Key pairs of the delegates by rank."""
        return self._delegates or self._keypairs("delegate", self.builder.nodes.tolist())

    def _keypairs(self, owner: str, numbers: Iterable[int]) -> tuple[Keypair, ...]:
        return tuple(keypair(self._row, owner, number) for number in numbers)

    def shared_inputs(self, *, keys_only: bool = False) -> SharedInputs:
        """Sign all transactions; return the inputs for the same setting in another process.

        With `keys_only` that process signs the same transactions itself.
        """
        if keys_only:
            return SharedInputs(self.delegates, self._wallets, ())
        blocks = tuple(
            tuple(transaction.encoded for transaction in self.transactions(height))
            for height in range(self.scenario.blocks)
        )
        return SharedInputs(self.delegates, self._wallets, blocks)

    def transactions(self, height: int) -> tuple[Transaction, ...]:
        """Return the transactions of a height."""
        while height not in self.load.spans:
            self.load.take(len(self.load.spans), now=0)
        return self.pool.span(*self.load.spans[height])

    @cached_property
    def addresses(self) -> list[bytes]:
        """Addresses of the delegates by rank, which identify proposers in blocks."""
        kind = algorithm_identifier(self.scenario.algorithm)
        return [address_of([(kind, public_key)]) for public_key, _ in self.delegates]

    def is_quorum(
        self, votes: Mapping[int, bytes], kind: MessageKind, height: int, view: int, digest: bytes
    ) -> bool:
        """Return whether the votes are a quorum for a block and their signatures are valid."""
        # The number is compared first, so that too few votes cost no verification.
        return len(votes) >= self.quorum and all(
            self.keys.verify(rank, statement(kind, rank, height, view, digest), signature)
            for rank, signature in votes.items()
        )

    def field_bytes(self, kind: MessageKind) -> int:
        """Return the length of the signature field of a kind of message."""
        return self._fields.get(kind, 0)

    @property
    def longest_bytes(self) -> int:
        """Bytes of the longest valid message: a final block with the votes of all delegates."""
        votes = 2 + self.count * (3 + 2 + self._fields[MessageKind.VOTE])
        # The votes have a length field of four bytes.
        body = 4 + votes + self.scenario.block_bytes
        return MESSAGE_HEADER_BYTES + body + self.field_bytes(MessageKind.PROPOSAL)

    def proposer(self, height: int, view: int) -> int:
        """Return the rank of a view's proposer."""
        return int(self._order(height)[view % self.count])

    def propose(
        self,
        state: State,
        height: int,
        view: int,
        rank: int,
        *,
        second: bool = False,
        invalid: bool = False,
    ) -> Block:
        """Return a delegate's block for a view, or a faulty block if `second` or `invalid` is set.

        A block's time counts views, because delegates do not agree on a clock: two more than the
        last block's, two for each view, and one for a second block. So blocks that should differ
        are not equal.
        """
        transactions = self.transactions(height)
        return state.propose(
            with_invalid_signature(transactions) if invalid else transactions,
            proposer=self.addresses[rank],
            timestamp=state.timestamp + 2 + 2 * view + second,
        )

    def after(self, state: State, data: bytes) -> State:
        """Return the state after a block, or raise BlockRejected."""
        if not self._modelled_clock:
            return state.apply(data, verifier=self.verifier)
        # Delegates that share a process verify each block once; rejections are cached, too.
        result = self._executed.get(case := (state.tip, data))
        if result is None:
            try:
                result = state.apply(data, verifier=self.verifier)
            except BlockRejected as error:
                result = error
            self._executed[case] = result
        if isinstance(result, BlockRejected):
            raise result
        return result


def transactions_of(data: bytes) -> int:
    """Return the number of transactions that an encoded block without a seal declares."""
    return int.from_bytes(data[_COUNT_AT : _COUNT_AT + 4], "big")
