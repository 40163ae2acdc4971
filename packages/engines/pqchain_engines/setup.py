"""The setup of a run of an engine: validators, links, blocks, faults."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pqchain.checks import Doc, Ge, Le, declared
from pqchain.consensus.scenario import quorum
from pqchain.errors import UsageError

INTERVALS = ("poll_seconds", "flush_seconds", "commit_timeout_seconds")
"""Fields of a setup that only some engines have. The defaults are those of CometBFT's release."""


Minute = Annotated[float, Ge(0), Le(60)]
Rate = Annotated[float, Ge(0), Le(1e12)]
Work = Annotated[float, Ge(0), Le(100)]
Node = Annotated[int | None, Ge(0), Le(255)]


@declared
class Setup:
    """One run of an engine. Seconds are virtual in the mode "virtual"."""

    algorithm: str
    """Signature scheme of the validators."""
    nodes: Annotated[int, Ge(1), Le(256), Doc("validators")] = 4
    mode: Annotated[
        Literal["virtual", "loopback", "netns"], Doc("clock and network of the engine")
    ] = "virtual"
    heights: Annotated[int, Ge(1), Le(10_000), Doc("block heights that count")] = 20
    warmup: Annotated[int, Ge(0), Le(1000), Doc("heights before them that do not count")] = 5
    latency_seconds: Annotated[Minute, Doc("one-way latency of a link")] = 0.05
    rate_bits_per_second: Annotated[
        Rate, Doc("rate of a node (cometbft: of a link); 0: unlimited")
    ] = 0.0
    block_bytes: Annotated[int, Ge(16), Le(1 << 26), Doc("bytes of a block")] = 1000
    transactions: Annotated[int, Ge(0), Le(100_000), Doc("signed transactions of a block")] = 0
    sign_seconds: Annotated[Work, Doc("processor time of a signature (virtual)")] = 0.0
    verify_seconds: Annotated[Work, Doc("time to verify with a decoded key (virtual)")] = 0.0
    aggregate_seconds: Annotated[Work, Doc("time per signature of a BLS aggregate (virtual)")] = 0.0
    leader_timeout_seconds: Annotated[
        float | None, Ge(0.01), Le(3600.0), Doc("default: 600 virtual, else 2")
    ] = None
    poll_seconds: Annotated[
        float, Ge(0.001), Le(10.0), Doc("wait of CometBFT's gossip routines")
    ] = 0.1
    flush_seconds: Annotated[float, Ge(0.0001), Le(1.0), Doc("wait before CometBFT writes")] = 0.01
    commit_timeout_seconds: Annotated[Minute, Doc("pause of CometBFT after a height")] = 1.0
    limit_seconds: Annotated[float, Ge(1.0), Le(1e6), Doc("time limit of the run's clock")] = 3600.0
    seed: Annotated[int, Ge(0), Le(2**63 - 1), Doc("seed of the run")] = 0
    killed_node: Annotated[Node, Doc("validator that is killed")] = None
    killed_after_height: Annotated[int, Ge(0), Le(10_000), Doc("height of the kill")] = 0
    slow_node: Annotated[Node, Doc("validator with slow links")] = None
    slow_latency_seconds: Annotated[Minute, Doc("latency of its links")] = 0.0

    def __post_init__(self) -> None:
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
