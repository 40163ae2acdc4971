"""Types of the keyword arguments of `Scenario.with_`, for type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from pqchain.consensus.faults import Faults
    from pqchain.consensus.network import Network
    from pqchain.consensus.scenario import Certificates, Exchange, Layout, Proposal, Voting
    from pqchain.costs import CostTable


class ScenarioChanges(TypedDict, total=False):
    """The fields of `Scenario`, all optional; a test compares the two classes."""

    algorithm: str
    costs: CostTable
    nodes: int
    delegates: int | None
    network: Network
    exchange: Exchange | None
    vote_phases: int | None
    proposal: Proposal
    round_seconds: float
    attestation_seconds: float
    attestation_verify_seconds: float
    voting: Voting
    block_bytes: int
    layout: Layout
    arrivals_per_second: float
    signed_blocks: bool
    signed_votes: bool
    verification_threads: int
    certificates: Certificates
    pipelined: bool
    blocks: int
    view_timeout_seconds: float | None
    max_views: int
    faults: Faults
    seed: int
