"""Shared facts of a scenario's delegates: proposers, keys, lengths and block validity."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from pqchain import schemes
from pqchain.algorithms import get as algorithm
from pqchain.chain.block import Block, make_block
from pqchain.chain.encoding import HEADER_BYTES, algorithm_identifier
from pqchain.chain.state import BlockRejected, State
from pqchain.chain.transaction import Transaction, address_of
from pqchain.chain.verification import Verifier
from pqchain.consensus.builder import ViewBuilder
from pqchain.consensus.lengths import distribution, mean
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import Disturbance
from pqchain.delegates import certificates
from pqchain.delegates.keys import Directory, Keypair, keypairs
from pqchain.delegates.messages import MOST_VIEWS, Kind, message_bytes
from pqchain.delegates.pool import WALLETS, Pool, PoolLoad, damaged
from pqchain.errors import UsageError

_COUNT_AT = HEADER_BYTES + 2
"""Offset of the number of transactions in a block without a seal."""

_LENGTH_BYTES = 4
"""Size of the length field before the quorum in a DECIDED message."""


def refuse(scenario: Scenario) -> None:
    """Raise UsageError, with the reason, for a scenario that can only be modelled."""
    layout, costs = scenario.layout, scenario.cost
    if costs.is_given:
        schemes.register(costs)  # transactions name their scheme, and read it from the registry
    row = algorithm(scenario.algorithm)
    if layout.overhead_bytes is not None or layout.header_bytes is not None:
        raise UsageError(
            f"layout is {layout!r}; blocks that are run have our encoding: leave overhead_bytes "
            "and header_bytes out"
        )
    if layout.key_mode == "registered":
        raise UsageError(
            "layout.key_mode is 'registered', whose keys an earlier block would have to bring; "
            "what is run starts with the first block: use 'inline'"
        )
    least = int(mean(distribution(row.name, row.signature_bytes)))
    if costs.public_key_bytes != row.public_key_bytes or costs.signature_bytes < least:
        raise UsageError(
            f"the costs of {row.name} state a key of {costs.public_key_bytes} and a signature of "
            f"{costs.signature_bytes} bytes; what is run has {row.public_key_bytes} and "
            f"{row.signature_bytes}: use costs with the registry's sizes"
        )
    if scenario.max_views > MOST_VIEWS:
        raise UsageError(
            f"max_views is {scenario.max_views}; a message tells {MOST_VIEWS} apart: give fewer"
        )
    if scenario.network.law == "gossip" and scenario.faults.equivocating:
        raise UsageError(
            f"faults.equivocating is {scenario.faults.equivocating} on gossip, where whoever hears "
            "of a block passes that one on, so nobody can choose who gets which of two: use "
            "another network, or let them be invalid"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Given:
    """Values shared by delegates in different processes; no repr, as it holds secret keys."""

    delegates: tuple[Keypair, ...]
    wallets: tuple[Keypair, ...]
    blocks: tuple[tuple[bytes, ...], ...]
    """Encoded transactions of each height."""


class Setting:
    """Facts shared by the delegates of one process; constant except for caches."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        remember: bool = True,
        verifier: Verifier | None = None,
        given: Given | None = None,
    ) -> None:
        """Raise UsageError if delegates cannot run it, Unsupported if its scheme is unavailable.

        `remember` caches verifications, for delegates on a modelled clock. `given` is the result of
        `give` in another process.
        """
        refuse(scenario)
        self.scenario = scenario
        self.builder = ViewBuilder(scenario)
        self.count = scenario.delegate_count
        self.all_to_all = scenario.exchange == "all-to-all"
        self.serial = scenario.network.law == "paper-serial"
        self.hosted = scenario.network.law == "host"
        self.quorum = scenario.quorum
        self.disturbance = lru_cache(maxsize=16)(self._disturbance)
        name = scenario.algorithm
        self._delegates = given.delegates if given else None
        wallets = given.wallets if given else tuple(keypairs(name, "wallet", range(WALLETS)))
        self._wallets = wallets
        self.pool = Pool(scenario, wallets)
        self.load = PoolLoad(scenario, self.pool)
        if given:
            # The load of another process is repeated, so that nothing is signed again.
            for height, block in enumerate(given.blocks):
                self.load.spans[height] = (len(self.pool.made), len(block))
                self.pool.made += map(Transaction.decode, block)
        self.verifier = verifier or Verifier(threads=scenario.verification_threads)
        self._known: dict[tuple[bytes, bytes], State | BlockRejected] | None = (
            {} if remember else None
        )
        self._remember = remember
        field = scenario.cost.signature_bytes
        blocks, votes = scenario.signed_blocks * field, scenario.signed_votes * field
        self._fields = {
            Kind.PROPOSAL: blocks, Kind.COPY: blocks, Kind.VOTE: votes, Kind.COMMIT: votes
        }  # fmt: skip
        self._order: dict[int, list[int]] = {}

    @cached_property
    def directory(self) -> Directory:
        """Keys of the delegates."""
        return Directory(
            self.scenario.algorithm,
            self.delegates,
            self.scenario.cost.signature_bytes,
            remember=self._remember,
        )

    @cached_property
    def delegates(self) -> tuple[Keypair, ...]:
        """Key pairs of the delegates by rank."""
        name, nodes = self.scenario.algorithm, self.builder.nodes.tolist()
        return self._delegates or tuple(keypairs(name, "delegate", nodes))

    def give(self) -> Given:
        """Return the values that give another process the same setting; signs all heights."""
        blocks = [self.transactions(height) for height in range(self.scenario.blocks)]
        encoded = tuple(tuple(each.encoded for each in block) for block in blocks)
        return Given(self.delegates, self._wallets, encoded)

    def transactions(self, height: int) -> tuple[Transaction, ...]:
        """Return the transactions of a height."""
        while height not in self.load.spans:
            self.load.take(len(self.load.spans), now=0)
        return self.pool.span(*self.load.spans[height])

    def _disturbance(self, height: int, view: int) -> Disturbance:
        """Return the network draws of a view."""
        return self.builder.disturbance(height * self.scenario.max_views + view)

    @cached_property
    def addresses(self) -> list[bytes]:
        """Addresses of the delegates by rank, which identify proposers in blocks."""
        kind, keys = algorithm_identifier(self.scenario.algorithm), self.directory
        return [address_of([(kind, keys.public_key(rank))]) for rank in range(self.count)]

    def field_bytes(self, kind: Kind) -> int:
        """Return the length of the signature field of a kind of message."""
        return self._fields.get(kind, 0)

    @property
    def longest_bytes(self) -> int:
        """Length of the longest legal message: a final block with the votes of all."""
        votes = certificates.longest_bytes(self.count, field_bytes=self.field_bytes(Kind.VOTE))
        body = _LENGTH_BYTES + votes + self.scenario.block_bytes
        return message_bytes(body, field_bytes=self.field_bytes(Kind.PROPOSAL))

    def proposer(self, height: int, view: int) -> int:
        """Return the rank of a view's proposer."""
        if height not in self._order:
            self._order[height] = self.builder.order(height).tolist()
        return self._order[height][view % self.count]

    def wait_ns(self, height: int, rank: int) -> int:
        """Return the Proof of Luck delay of a proposer's block in nanoseconds."""
        return self.builder.wait_ns(height, rank)

    def propose(
        self, state: State, height: int, view: int, rank: int, *, twin: bool, bad: bool
    ) -> Block:
        """Return a delegate's block of a height and a view; it does not verify if `bad`.

        A block's time counts views, because delegates do not agree on a clock: two more than the
        last block's, two for each view, and one for a twin. So blocks that should differ are not
        equal.
        """
        transactions = self.transactions(height)
        return make_block(
            damaged(transactions) if bad else transactions,
            height=state.height + 1,
            previous=state.tip,
            timestamp=state.timestamp + 2 + 2 * view + twin,
            proposer=self.addresses[rank],
        )

    def after(self, state: State, data: bytes) -> State:
        """Return the state after a block, or raise BlockRejected."""
        if self._known is None:
            return state.apply(data, verifier=self.verifier)
        # Delegates that share a process verify each block once; rejections are cached, too.
        known = self._known.get(case := (state.tip, data))
        if known is None:
            try:
                known = state.apply(data, verifier=self.verifier)
            except BlockRejected as error:
                known = error
            self._known[case] = known
        if isinstance(known, BlockRejected):
            raise known
        return known

    def refuses(self, state: State, data: bytes) -> str:
        """Return why a block is invalid, or "". Raises Malformed."""
        try:
            self.after(state, data)
        except BlockRejected as error:
            return error.reason.value
        return ""


def transactions_of(data: bytes) -> int:
    """Return the number of transactions that a block without a seal declares."""
    return int.from_bytes(data[_COUNT_AT : _COUNT_AT + 4], "big")
