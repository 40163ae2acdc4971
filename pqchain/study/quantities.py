"""The figures of a study: their units, what they mean and which inputs change them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pqchain.results import Contract

STUDY = Contract.of(
    "study", ("str", "study scheme quantity"), ("float64", "value"), ("str", "unit kind source")
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure of a study."""

    unit: str
    about: str
    needs: frozenset[str]
    """The inputs of a plan that it depends on; no other changes it."""


_COSTS = frozenset({"costs", "schemes", "baseline", "migration"})
_SIZE = _COSTS | {"data_bytes", "public_key"}
_CONSENSUS = {"nodes", "delegates", "network", "vote_phases", "verification_threads"}
_FINAL = _SIZE | _CONSENSUS | {"block_bytes", "signer", "signing_factor"}
_CYCLE = _FINAL | {"block_seconds"}
_LOAD = _CYCLE | {"transactions_per_second"}
_REPAIR = _LOAD | {"retained_days"}
_RATES = {"repair_bits_per_second", "decode_bytes_per_second"}
_CHUNKS = frozenset({"data_chunks", "parity_chunks"})

QUANTITIES: Mapping[str, Quantity] = {
    "public_key_bytes": Quantity("B", "public key", _COSTS),
    "signature_bytes": Quantity("B", "signature, the mean where it varies", _COSTS),
    "sign_seconds": Quantity("s", "one signature", _COSTS | {"signer", "signing_factor"}),
    "verify_seconds": Quantity("s", "one verification", _COSTS),
    "transaction_bytes": Quantity("B", "a transaction in our encoding", _SIZE),
    "transactions_per_block": Quantity("", "transactions of a full block", _SIZE | {"block_bytes"}),
    "final_seconds": Quantity(
        "s", "a full block: from proposal to the last delegate's finality", _FINAL
    ),
    "capacity_per_second": Quantity("1/s", "capacity: the greatest throughput", _CYCLE),
    "throughput_per_second": Quantity("1/s", "throughput at the target load", _LOAD),
    "carried_share": Quantity("", "share of the target load; below 1 queues only grow", _LOAD),
    "block_fill": Quantity("", "share of a block that is used", _LOAD),
    "latency_seconds": Quantity("s", "mean latency of a transaction in the next block", _CYCLE),
    "received_bits_per_second": Quantity(
        "bit/s", "bandwidth into a node: transactions alone and in blocks", _LOAD
    ),
    "verification_cores": Quantity("", "cores of a node busy verifying", _LOAD),
    "signing_cores": Quantity("", "cores or accelerators busy signing, in all wallets", _LOAD),
    "growth_bytes_per_year": Quantity("B", "growth of a full node in a year", _LOAD),
    "coded_growth_bytes_per_year": Quantity(
        "B", "growth with one chunk of each block", _LOAD | {"data_chunks"}
    ),
    "coded_factor": Quantity("", "storage of all chunks, over one copy", _CHUNKS),
    "repair_bytes": Quantity("B", "traffic to rebuild the chunks of a lost node", _REPAIR),
    "repair_seconds": Quantity("s", "time to gather and decode that", _REPAIR | _RATES),
    "transaction_bytes_ratio": Quantity("×", "transaction over the baseline's", _SIZE),
    "capacity_ratio": Quantity("×", "capacity over the baseline's", _CYCLE),
    "verification_ratio": Quantity("×", "verification over the baseline's", _COSTS),
    "migration_seconds": Quantity(
        "s", "to register new keys of all accounts in full blocks", _CYCLE | {"accounts"}
    ),
}
"""Every figure, in the order of the page."""
