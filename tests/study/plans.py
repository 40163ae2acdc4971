"""A small plan with synthetic costs."""

from typing import Any

from pqchain.algorithms import get
from pqchain.costs import Costs, CostTable
from pqchain.study import Plan, load
from pqchain.study.chain import Use, use
from pqchain.study.plan import INPUTS
from pqchain.study.sampling import CostSamples, Findings, run
from pqchain.study.text import parts

_SECONDS = {
    "ECDSA-secp256k1": (35e-6, 45e-6), "ML-DSA-44": (75e-6, 33e-6), "Falcon-512": (300e-6, 44e-6),
    "SPHINCS+-SHA2-128s-simple": (0.3, 430e-6), "MAYO-2": (80e-6, 23e-6),
    "Falcon-1024": (600e-6, 90e-6), "Ed25519": (30e-6, 80e-6),
    "Schnorr-secp256k1": (50e-6, 45e-6),
}  # fmt: skip


def _table(seconds: dict[str, tuple[float, float]]) -> CostTable:
    rows = (
        Costs(
            algorithm=name,
            public_key_bytes=get(name).public_key_bytes,
            signature_bytes=get(name).signature_bytes,
            generate_keypair_seconds=1e-3,
            sign_seconds=sign,
            verify_seconds=verify,
            source="liboqs-0.13/avx2 on a-machine",
        )
        for name, (sign, verify) in seconds.items()
    )
    return CostTable(tuple(rows), "measured:a-machine")


COSTS = _table(_SECONDS)

_ALL = _table(
    _SECONDS
    | {
        "Falcon-padded-512": (218e-6, 38e-6), "ML-DSA-65": (97e-6, 38e-6),
        "SLH-DSA-SHA2-128s": (0.1, 100e-6),
    }
)  # fmt: skip

ALL_COSTS = CostTable((*_ALL.rows, *load("bitcoin-p2mr").own_schemes), _ALL.source)
"""Costs of the schemes of every ready plan."""


def plan(**changes: Any) -> Plan:
    """Return a plan of sixteen nodes around a hub."""
    values: dict[str, Any] = {
        "algorithms": ("Falcon-512", "ML-DSA-44"), "transactions_per_second": 2.0,
        "block_bytes": 50_000, "block_seconds": 5.0, "nodes": 16, "law": "star",
    }  # fmt: skip
    tables: dict[str, Any] = {}
    for name, value in (values | changes).items():
        table = INPUTS[name].table if name in INPUTS else ""
        (tables.setdefault(table, {}) if table else tables)[name] = value
    return Plan.of(tables)


def found(one: Plan, costs: CostTable = COSTS, *, draws: int = 1) -> Findings:
    """Return the results of a plan with these costs."""
    return run(one, CostSamples((costs,)), draws=draws)


def used(one: Plan, algorithm: str, lengths: dict[int, int] | None = None) -> Use:
    """Return what a transaction uses of a block."""
    row = COSTS[algorithm]
    baseline = COSTS[one.chain.baseline] if one.chain.baseline else None
    return use(one, row, lengths or {row.signature_bytes: 1}, baseline)


def text(findings: Findings, *, complete: bool = False) -> str:
    """Return what a terminal shows of a study."""
    shown = parts(findings, complete)
    return "\n\n".join(part if isinstance(part, str) else part.text() for part in shown)


GOOD = """
costs = "paper:mini-blockchain"

[chain]
algorithms = ["Falcon-512", "falcon-512"]
transactions_per_second = 5
block_bytes = 50_000
block_seconds = 1.5

[network]
law = "star"
nodes = 16
"""
"""A study file."""
