"""Tables 5 and 6 of the PQ-DPoL paper: printed, modelled, and how far apart they are."""

from __future__ import annotations

import pandas as pd

from pqchain import papers, results
from pqchain.consensus import calibration, named, preset, run
from pqchain.costs import CostTable

KEY = "pqdpol"
"""The work's key."""

CALIBRATED_ON = (
    "The four prices of paper-serial are fitted to the 30 latencies of Table 6 with the costs of "
    "Tables 1 to 4, so that table is described, not predicted; throughput follows from packing, "
    "which was adjusted to the 29.42 transactions of Falcon-512 alone. Established are the form, "
    "N squared with pairs of a node with itself, and growth with size and verification time; the "
    "prices are not: other combinations fit nearly as well. Which shared resource is behind the "
    "form, a channel or the simulating computer, only the authors can tell."
)
"""What the agreement with the paper is worth; stands beside every table of it."""


def cells() -> pd.DataFrame:
    """Return the 30 cells of Tables 5 and 6, errata corrected.

    Columns: algorithm, n, latency_seconds, throughput_per_second, note (the erratum, or "").
    """
    latency = papers.table(KEY, "table6").drop(columns="printed_name")
    rate = papers.table(KEY, "table5").drop(columns="printed_name")
    frame = latency.merge(rate, on=["algorithm", "n"], validate="one_to_one").assign(note="")
    names = papers.paper(KEY).names
    columns = {"table5": "throughput_per_second", "table6": "latency_seconds"}
    for erratum in papers.paper(KEY).errata:
        if erratum.table not in columns or not erratum.row:
            continue
        found = (frame["algorithm"] == names[erratum.row]) & (frame["n"] == int(erratum.column))
        frame.loc[found, columns[erratum.table]] = float(erratum.expected)
        frame.loc[found, "note"] = f"{erratum.table} corrected: {erratum.note}"
    return frame


def tables(costs: CostTable | None = None) -> pd.DataFrame:
    """Run every cell of Tables 5 and 6, with the paper's costs or others.

    Columns: those of `pqchain.consensus.calibration.tables` and note; latencies in seconds, errors
    in percent of the printed number. With costs measured here only the agreement of the order
    means something: the prices belong to the paper's machine.
    """
    printed = cells()
    used = costs if costs is not None else papers.costs(KEY)
    known = printed[[name in used for name in printed["algorithm"]]].reset_index(drop=True)
    modelled = calibration.tables(known, used)
    return results.check(modelled.assign(note=known["note"]), "pqdpol-cells")


def calibrate() -> calibration.Fit:
    """Fit the prices of paper-serial to Table 6, as the defaults of SerialLaw were."""
    return calibration.fit(cells(), papers.costs(KEY))


def statements(modelled: pd.DataFrame) -> pd.DataFrame:
    """Check section 4.3's statements on latency and throughput on a frame of `tables`.

    Returns a frame of the contract "claims" with source "modelled". What the calibration put in,
    the order of latencies, is checked all the same: a fit with four prices could miss it.
    """
    frame = results.check(modelled, "pqdpol-cells")
    latency = frame.pivot(index="n", columns="algorithm", values="latency_seconds")
    rate = frame.pivot(index="n", columns="algorithm", values="throughput_per_second")
    sphincs = "SPHINCS+-SHA2-128f-simple"
    rows = []

    def check(claim: str, statement: str, holds: bool, evidence: str) -> None:
        verdict = "holds" if holds else "does not hold"
        rows.append([KEY, claim, "4.3", statement, verdict, evidence, "modelled"])

    if {"Falcon-512", "Dilithium2", sphincs} <= set(latency.columns):
        ordered = latency.apply(lambda row: list(row.sort_values().index), axis=1)
        first = ordered.map(lambda names: names[:2] == ["Falcon-512", "Dilithium2"]).all()
        last = ordered.map(lambda names: names[-1] == sphincs).all()
        check(
            "latency-order",
            "Falcon-512 has the lowest latency, then Dilithium2; SPHINCS+ has the highest.",
            bool(first and last),
            f"order at n = {latency.index.max()}: {', '.join(ordered.iloc[-1])}",
        )
        best = rate.idxmax(axis=1).eq("Falcon-512").all()
        worst = rate.idxmin(axis=1).eq(sphincs).all()
        check(
            "falcon-512-best-throughput",
            "In throughput, too, Falcon-512 is the best and SPHINCS+ the worst.",
            bool(best and worst),
            f"best {rate.idxmax(axis=1).iloc[-1]}, worst {rate.idxmin(axis=1).iloc[-1]}",
        )
        ratio = rate["Falcon-512"] / rate["Dilithium2"]
        check(
            "dilithium-throughput-similar-to-falcon",
            "Dilithium's throughput is similar to Falcon's (within a factor 1.5).",
            bool(ratio.between(1 / 1.5, 1.5).all()),
            f"Falcon-512 over Dilithium2: {ratio.min():.3g} to {ratio.max():.3g}",
        )
    check(
        "throughput-falls-with-network",
        "The larger the network, the fewer transactions per second.",
        bool((rate.sort_index().diff().iloc[1:] < 0).all().all()),
        f"a doubling of the nodes leaves {_least(rate):.3g} to {_most(rate):.3g} of it",
    )
    return results.check(pd.DataFrame(rows, columns=list(results.CONTRACTS["claims"])), "claims")


def delegation(costs: CostTable | None = None, *, nodes: int = 32) -> pd.DataFrame:
    """Model Falcon-512 with fewer and fewer delegates, on paper-serial and on a mesh.

    Columns: network, nodes, delegates, latency_seconds, throughput_per_second. The paper prints
    nothing without delegation; this is what its statement amounts to in either model.
    """
    used = costs if costs is not None else papers.costs(KEY)
    rows = []
    for law in ("paper-serial", "mesh"):
        for count in (nodes, nodes // 2, nodes // 4, nodes // 8):
            one = preset("paper", used, nodes=nodes, delegates=count, network=named(law))
            latency = run(one).latency_seconds
            rate = one.transactions_per_block() / latency
            rows.append([law, nodes, count, latency, rate])
    columns = ["network", "nodes", "delegates", "latency_seconds", "throughput_per_second"]
    return pd.DataFrame(rows, columns=columns)


def _least(rate: pd.DataFrame) -> float:
    """Return the least share of throughput that a doubling leaves."""
    return float((rate / rate.shift()).iloc[1:].min().min())


def _most(rate: pd.DataFrame) -> float:
    """Return the greatest share of throughput that a doubling leaves."""
    return float((rate / rate.shift()).iloc[1:].max().max())
