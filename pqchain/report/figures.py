"""The figures of the report: what each shows, to those who see it and to those who do not.

Knows what a run has found and which plot shows it; knows neither files nor HTML.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pqchain import algorithms, plots
from pqchain.consensus import landscape
from pqchain.render import html
from pqchain.report.run import Reproduction
from pqchain.works.pqdpol import work as pqdpol
from pqchain.works.quic_reencoding import work as reencoding
from pqchain.works.round3 import work as round3

BLOCKS, CONSENSUS = "block", "consensus"
"""Chapters of figures that are no work's own."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot and its words."""

    axes: Any
    description: str
    """For those who cannot see it."""
    caption: str


Figures = dict[tuple[str, str], Figure]
"""By chapter, the key of a work or one of the two above or none, and name within it."""


def stem(where: tuple[str, str]) -> str:
    """Return the name of a figure's files."""
    return "-".join(part for part in where if part)


def drawn(done: Reproduction) -> Figures:
    """Draw what there is to draw."""
    figures: Figures = {}
    for key, rows in done.comparison.groupby("paper", sort=False):
        fine = rows[rows["status"] == "ok"]
        if len(fine) and fine["ratio"].notna().any():
            low, high = fine["ratio"].min(), fine["ratio"].max()
            figures[str(key), "ratio"] = Figure(
                plots.plot_ratio(rows),
                f"Dots on a logarithmic axis around 1, from {low:.2g} to {high:.2g}: our time "
                f"divided by that of {key}, for each algorithm and operation.",
                f"Our times over those published in {key}. Left of the line, this machine is "
                "faster. The pattern, not the distance from the line, is what two machines share.",
            )
    figures |= _blocks(done.blocks)
    figures |= _consensus(done.study) if done.study else {}
    if round3.KEY in done.keys:
        figures |= _round3(done.measurements)
    if done.replays:
        figures |= _replays(done.replays)
    measured = done.measurements
    kinds = measured["algorithm"].map(lambda name: algorithms.get(name).kind)
    done_here = measured["status"] == "ok"
    if (done_here & (kinds == "signature")).any():
        figures["", "speed-signatures"] = Figure(
            plots.plot_speed(measured[kinds == "signature"]),
            "Median times of key generation, signing and verification of each signature scheme, "
            "on a logarithmic axis; the table below holds the values.",
            "Signature schemes on this machine.",
        )
    if (done_here & (kinds == "kem")).any():
        figures["", "speed-kems"] = Figure(
            plots.plot_speed(measured[kinds == "kem"]),
            "Median times of key generation, encapsulation and decapsulation of each KEM, on a "
            "logarithmic axis; the table below holds the values.",
            "Key encapsulation on this machine.",
        )
    if len(plots.speedups(measured)):
        figures["", "speedup"] = Figure(
            plots.plot_speedup(measured),
            "How many times faster AVX2 is than portable C, for each algorithm and operation.",
            "What AVX2 gains over portable C, in the same library and the same run.",
        )
    if (done_here & (measured["operation"] == "verify")).any():
        figures["", "tradeoff"] = Figure(
            plots.plot_tradeoff(measured),
            "Scatter plot: bytes of public key and signature against the time of one "
            "verification, both axes logarithmic.",
            "What a transaction costs every node of a chain: bytes to store and time to verify. "
            "Nearer the lower left corner is cheaper.",
        )
    signatures = list(dict.fromkeys(measured["algorithm"][kinds == "signature"]))
    if signatures:
        figures["", "sizes"] = Figure(
            plots.plot_sizes(signatures),
            "Sizes of public key and signature of each scheme on a logarithmic axis.",
            "Bytes of public key and signature, from the registry.",
        )
    return figures


def _blocks(blocks: pd.DataFrame) -> Figures:
    """Draw what a block costs, if blocks were measured."""
    if not (blocks["status"] == "ok").any():
        return {}
    return {
        (BLOCKS, "bytes"): Figure(
            plots.plot_blocks(blocks, "bytes"),
            "Bytes of block per transaction for each signature scheme, on a logarithmic axis.",
            "What a transaction adds to a block, with its public key, signature and addresses.",
        ),
        (BLOCKS, "verify"): Figure(
            plots.plot_blocks(blocks, "verify"),
            "Time to check one signature of a block, for each scheme and number of threads.",
            "Checking the signatures of a block, per transaction, by number of threads.",
        ),
        (BLOCKS, "rate"): Figure(
            plots.plot_blocks(blocks, "rate"),
            "Bytes of block validated in a second, for each scheme and number of threads.",
            "Bytes of block validated in a second: decoding, hashes, balances and signatures.",
        ),
    }


def _consensus(study: pqdpol.Study) -> Figures:
    """Draw Tables 5 and 6 beside ours, latency on other networks, and who wins there."""
    cells = study.printed_costs
    figures: Figures = {
        (CONSENSUS, "throughput"): Figure(
            plots.plot_cells(cells, "throughput"),
            "Lines and hollow markers on logarithmic axes: transactions per second of six schemes "
            "over 2 to 32 nodes, modelled and printed. The table above holds the values.",
            "Table 5: transactions per second as printed (markers) and modelled with the paper's "
            "costs (lines).",
        ),
        (CONSENSUS, "latency"): Figure(
            plots.plot_cells(cells, "latency", per_pair=True),
            "Lines and hollow markers on logarithmic axes: latency over the square of the number "
            "of nodes, for six schemes; the lines are nearly level. The table above holds the "
            "latencies.",
            "Table 6: latency over N squared as printed (markers) and modelled with the paper's "
            "costs (lines). Level lines are the law; the scatter of the markers is the print's.",
        ),
    }
    figures[CONSENSUS, "networks"] = Figure(
        plots.plot_networks(study.laws),
        "Lines on two logarithmic axes: latency over the number of nodes up to 2 to the power of "
        "20, for each kind of network.",
        "Modelled: latency of a block of Falcon-512 on each kind of network. Solid: every node "
        "votes. Dashed: 128 delegates vote and the block travels by gossip. Bands: three draws of "
        "who lives in which region. Each kind has rates of its own, so compare how lines grow, "
        "not how high they lie.",
    )
    figures[CONSENSUS, "winners"] = Figure(
        plots.plot_winners(landscape.winners(study.contest)),
        "Four maps of squares over bandwidth and number of nodes; each square names the scheme "
        "that wins there and by what factor.",
        "Modelled: who wins where, by gossip with 128 delegates, with the paper's costs. Above: "
        "throughput of full blocks; below: latency of blocks that hold equally many transactions, "
        "because a full block holds 30 of Falcon-512 and 2 of SPHINCS+. In a square: how many "
        "times better than the runner-up, or the runner-up where both are as good.",
    )
    return figures


def _round3(measured: pd.DataFrame) -> Figures:
    """Draw Table 1 of the round-3 comparison, one figure for each operation, and its sizes."""
    table = round3.table1(measured)
    figures: Figures = {}
    for operation in algorithms.OPERATIONS:
        if not table.loc[table["quantity"] == f"{operation}_seconds", "here"].notna().any():
            continue
        spoken = html.spoken(operation)
        figures[round3.KEY, operation.partition("_")[0]] = Figure(
            plots.plot_operation(table, operation),
            f"Bars on a logarithmic axis: {spoken} of every algorithm that has it, reference and "
            "AVX2, as printed and here. The table above holds the values.",
            f"Table 1: {spoken}. Hatched: as printed, on another processor.",
        )
    figures[round3.KEY, "sizes"] = Figure(
        plots.plot_sizes(dict.fromkeys(table["algorithm"]), secret_keys=True),
        "Sizes of public key, secret key, and ciphertext or signature of the seven finalists on a "
        "logarithmic axis.",
        "Table 1: sizes, from the registry.",
    )
    return figures


def _replays(replays: Mapping[str, pd.DataFrame]) -> Figures:
    """Draw where the time of a re-encoding goes, and what streams and transports change."""
    key = reencoding.PAPER
    figures: Figures = {
        (key, "phases"): Figure(
            plots.plot_phases(replays["table1"]),
            "Stacked bars of shares in percent: transfer, decoding, encoding, files and the rest, "
            "as printed and in each replay. The table above holds the values.",
            "Table 1 as shares of the time of a node. Each bar says whether it is published, "
            "modelled or measured.",
        ),
    }
    if len(replays["figure1"]):
        figures[key, "streams"] = Figure(
            plots.plot_streams(replays["figure1"]),
            "Time of transfer against the number of blocks, single and multiplexed, with whiskers "
            "from the shortest to the longest run. The table above holds the values.",
            "Figure 1 replayed. Whiskers: shortest and longest run.",
        )
    if (replays["transports"]["status"] == "ok").any():
        figures[key, "transports"] = Figure(
            plots.plot_transports(replays["transports"]),
            "Bars: time of transfer of each transport over links of equal rate, with whiskers from "
            "the shortest to the longest run, and a line where the link alone would be.",
            "Transports at equal links, measured between network namespaces.",
        )
    return figures
