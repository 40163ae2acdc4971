"""The inputs of a study, for whoever checks types: what `Plan.with_` takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from pqchain.consensus import Network
    from pqchain.consensus.network import Law
    from pqchain.costs import Costs
    from pqchain.study.observed import Observation


class PlanChanges(TypedDict, total=False):
    """Fields of `Plan`, and of its network; a test compares both."""

    title: str
    schemes: Sequence[str]
    baseline: str
    migration: Mapping[str, float]
    transactions_per_second: float
    block_bytes: int
    block_seconds: float
    data_bytes: int
    public_key: str
    transaction_aggregation: str
    accounts: int
    moves_register: bool
    moving_share: float
    adoption_days: float
    phase_a_days: float
    phase_b_days: float
    envelope_bytes: int
    framing_bytes: int
    signatures: float
    witness_discount: float
    block_weight: float
    block_gas: float
    sustained_share: float
    intrinsic_gas: float
    execution_gas: float
    calldata_gas: float
    floor_gas: float
    verification_gas: float
    packet_bytes: int
    votes_per_block: float
    vote_bytes: float
    vote_signature_bytes: float
    vote_aggregation: str
    vote_aggregates: float
    votes_in_block: bool
    most_votes: float
    vote_deadline_seconds: float
    final_blocks: float
    nodes: int
    delegates: int
    network: Network
    vote_phases: int
    verification_threads: int
    data_chunks: int
    parity_chunks: int
    retained_days: float
    repair_bits_per_second: float
    decode_bytes_per_second: float
    signer: str
    signing_factor: float
    costs: str
    own_schemes: tuple[Costs, ...]
    sources: Mapping[str, str]
    observed: tuple[Observation, ...]
    law: Law
    rate_bits_per_second: float
    latency_seconds: float
    peers: int
    world: bool
