"""Certificates of quorums: bytes and verification time by number of validators and form.

A certificate is a list of signatures, an aggregate of BLS signatures, or a proof that signatures
are valid. Lists and aggregates grow with the quorum; a proof hardly does, but a prover takes
seconds to make it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import pandas as pd

from pqchain import algorithms, checks, installation, results
from pqchain.consensus.scenario import quorum
from pqchain.errors import UsageError
from pqchain.figures import Kind, Unit
from pqchain.render.table import Column, Table
from pqchain.results import Contract
from pqchain.study import provers
from pqchain.study.provers import BLS_SCHEME, MEASURED

CERTIFICATES = Contract.of(
    "certificates",
    ("str", "algorithm form"),
    ("Int64", "nodes signatures"),
    ("float64", "certificate_bytes verify_seconds"),
    ("str", "kind source"),
)
"""Rows of certificates.

Columns: algorithm (of the votes), form ("list", "aggregate" or "proof"), nodes (validators; for a
proof the fewest whose quorum has its signatures), signatures (of the quorum), certificate_bytes,
verify_seconds (of one processor, with public keys decoded where the engine keeps them so; NaN if
not published), kind (a value of `figures.Kind`) and source (of the prices, or the prover).
"""

NODES = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
"""Numbers of validators by default."""

MIN_NODES, MAX_NODES = 4, 1 << 20


def certificate_sizes(
    nodes: Iterable[int] = NODES, *, prices: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return CERTIFICATES: lists and BLS aggregates for each number of validators, and all proofs.

    `prices` is the frame of `pqchain engine prices simplex`, by default that of this version. A
    list has the signatures of a quorum, an aggregate one signature; both have a bit per validator.
    A list is verified one signature after the other; an aggregate takes one verification and the
    addition of every key. A proof is a row for each size that its source states; nothing is
    interpolated, and sizes below the quorum of four validators are left out.
    Raises UsageError for numbers of validators out of range.
    """
    counts = list(dict.fromkeys(nodes))
    if not counts:
        raise UsageError("nodes must have at least one number of validators; got none")
    for count in counts:
        checks.integer("nodes", count, least=MIN_NODES, most=MAX_NODES)
    # One engine: simplex has lists of every scheme and aggregates.
    frame = _stored_prices() if prices is None else prices[prices["engine"] == "simplex"]
    rows = [*_votes(counts, frame), *_proofs()]
    result = CERTIFICATES.frame(rows)
    result.attrs["provenance"] = frame.attrs["provenance"]
    return result


@cache
def _stored_prices() -> pd.DataFrame:
    return results.load(installation.data("engines") / "prices" / "simplex.csv")


def _votes(counts: Iterable[int], prices: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for price in prices[prices["status"] == "ok"].to_dict("records"):
        is_aggregate = price["algorithm"] == BLS_SCHEME
        signature_bytes = algorithms.get(price["algorithm"]).signature_bytes
        for count in counts:
            signatures = quorum(count)
            listed = 1 if is_aggregate else signatures
            added = price["aggregate_seconds"] * signatures if is_aggregate else 0.0
            yield {
                "algorithm": price["algorithm"],
                "form": "aggregate" if is_aggregate else "list",
                "nodes": count,
                "signatures": signatures,
                "certificate_bytes": float(listed * signature_bytes + -(-count // 8)),
                "verify_seconds": listed * price["verify_seconds"] + added,
                "kind": Kind.MODELLED.value,
                "source": f"prices of {price['engine']} {price['version']}",
            }


def _proofs() -> Iterator[dict[str, Any]]:
    for prover in map(provers.prover, provers.names()):
        kind = Kind.MEASURED if prover.evidence == MEASURED else Kind.CITED
        for signatures, length in prover.proofs:
            if signatures < quorum(MIN_NODES):
                continue
            yield {
                "algorithm": prover.algorithm,
                "form": "proof",
                "nodes": max(1, (3 * int(signatures) - 2) // 2),  # the inverse of `quorum`
                "signatures": int(signatures),
                "certificate_bytes": length,
                "verify_seconds": prover.verify_seconds(signatures),
                "kind": kind.value,
                "source": prover.name,
            }


def tables(frame: pd.DataFrame) -> list[Table]:
    """Return tables of CERTIFICATES: bytes and times by number of validators, and proofs."""
    votes, proofs = frame[frame["form"] != "proof"], frame[frame["form"] == "proof"]
    captions = {
        "certificate_bytes": "Bytes of the certificate of a quorum.",
        "verify_seconds": "Time of one processor to verify it.",
    }
    by_nodes = [_by_nodes(votes, column, caption) for column, caption in captions.items()]
    columns: list[Column | str] = [
        "algorithm",
        Column("prover", key="source"),
        "signatures",
        "nodes",
        *captions,
    ]
    caption = "Proofs, as their sources state them, and the fewest validators with such a quorum."
    kinds = [Kind(kind) for kind in dict.fromkeys(proofs["kind"])]
    return [*by_nodes, Table.of(proofs, columns, caption=caption, source=kinds)]


def _by_nodes(votes: pd.DataFrame, column: str, caption: str) -> Table:
    wide = votes.pivot(index=["nodes", "signatures"], columns="algorithm", values=column)
    names = list(dict.fromkeys(votes["algorithm"]))
    columns = [Column("nodes", numeric=True), Column("signatures", numeric=True)]
    columns += [Column(name, numeric=True, unit=Unit.of(column)) for name in names]
    rows = [[*key, *values] for key, values in zip(wide.index, wide[names].to_numpy(), strict=True)]
    return Table(columns=columns, rows=rows, caption=caption, source=[Kind.MODELLED])
