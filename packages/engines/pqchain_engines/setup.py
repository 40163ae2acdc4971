"""The setup of a run of an engine: validators, links, blocks, faults."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

from pqchain import checks
from pqchain.checks import field
from pqchain.consensus.scenario import quorum
from pqchain.errors import UsageError

INTERVALS = ("poll_seconds", "flush_seconds", "commit_timeout_seconds")
"""Fields of a setup that only some engines have. The defaults are those of CometBFT's release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One run of an engine. Seconds are virtual in the mode "virtual"."""

    algorithm: str
    """Signature scheme of the validators."""
    nodes: int = field(4, help="validators", least=1, most=256)
    mode: str = field(
        "virtual", help="clock and network of the engine", choices=("virtual", "loopback", "netns")
    )
    heights: int = field(20, help="block heights that count", least=1, most=10_000)
    warmup: int = field(5, help="heights before them that do not count", most=1000)
    latency_seconds: float = field(0.05, help="one-way latency of a link", most=60.0)
    rate_bits_per_second: float = field(
        0.0, help="rate of a node (cometbft: of a link, not in netns); 0: unlimited", most=1e12
    )
    block_bytes: int = field(1000, help="bytes of a block", least=16, most=1 << 26)
    transactions: int = field(0, help="signed transactions of a block", most=100_000)
    sign_seconds: float = field(0.0, help="processor time of a signature (virtual)", most=100.0)
    verify_seconds: float = field(
        0.0, help="processor time of a verification with a decoded key (virtual)", most=100.0
    )
    aggregate_seconds: float = field(
        0.0, help="processor time per signature of a BLS aggregate (virtual)", most=100.0
    )
    leader_timeout_seconds: float | None = field(
        None, help="default: 600 virtual, else 2", least=0.01, most=3600.0
    )
    poll_seconds: float = field(
        0.1, help="wait of CometBFT's gossip routines", least=0.001, most=10.0
    )
    flush_seconds: float = field(
        0.01, help="wait before CometBFT writes to a connection", least=0.0001, most=1.0
    )
    commit_timeout_seconds: float = field(1.0, help="pause of CometBFT after a height", most=60.0)
    limit_seconds: float = field(
        3600.0, help="give up after this time of the run's clock", least=1.0, most=1e6
    )
    seed: int = field(0, help="seed of the run", most=2**63 - 1)
    killed_node: int | None = field(None, help="validator that is killed", most=255)
    killed_after_height: int = field(0, help="height after which it is killed", most=10_000)
    slow_node: int | None = field(None, help="validator with slow links", most=255)
    slow_latency_seconds: float = field(0.0, help="latency of its links", most=60.0)

    def __post_init__(self) -> None:
        checks.check_declared(self)
        for name in ("killed_node", "slow_node"):
            value = getattr(self, name)
            if value is not None and value >= self.nodes:
                raise UsageError(f"{name} must be below nodes ({self.nodes}); got {value}")

    @property
    def quorum(self) -> int:
        """Number of signatures of a quorum."""
        return quorum(self.nodes)

    def scenario(self, run: int, library: str, options: Collection[str] = ()) -> dict[str, Any]:
        """Return the setup as the adapters read it, in SI units with bytes for bits.

        `options` names the intervals that the engine has.
        """
        values = {k: v for k, v in asdict(self).items() if k not in INTERVALS or k in options}
        values["scheme"] = values.pop("algorithm")
        values["runtime"] = values.pop("mode")
        values["rate_bytes_per_second"] = values.pop("rate_bits_per_second") / 8
        if self.leader_timeout_seconds is None:
            # In virtual time a validator that waits costs nothing, and no timeout hides a defect.
            values["leader_timeout_seconds"] = 600.0 if self.mode == "virtual" else 2.0
        return values | {"id": run, "library": library}
