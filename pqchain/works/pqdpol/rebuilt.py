"""Tables 5 and 6 of the PQ-DPoL paper: printed, modelled, and the error of the model."""

from __future__ import annotations

import pandas as pd

from pqchain.consensus import model
from pqchain.consensus.network import SerialLaw, named
from pqchain.consensus.scenario import Scenario
from pqchain.costs import CostTable
from pqchain.results import Contract
from pqchain.works import papers
from pqchain.works.paper import Erratum

CELLS = Contract.of(
    "pqdpol-cells",
    ("str", "algorithm"),
    ("Int64", "n nodes"),
    ("float64", "transactions_per_block"),
    ("float64", "published_latency_seconds corrected_latency_seconds latency_seconds"),
    ("float64", "latency_error_percent latency_error_corrected_percent"),
    ("float64", "published_throughput_per_second corrected_throughput_per_second"),
    ("float64", "throughput_per_second"),
    ("float64", "throughput_error_percent throughput_error_corrected_percent"),
    ("str", "costs scenario note"),
)

QUANTITIES = {"table5": "throughput_per_second", "table6": "latency_seconds"}


def errata(table: str) -> dict[tuple[str, int], Erratum]:
    """Return the errata of the cells of a table by (algorithm, n)."""
    paper = papers.paper("pqdpol")
    return {
        (paper.names[erratum.row], int(erratum.column)): erratum
        for erratum in paper.errata
        if erratum.table == table and erratum.row
    }


def cells(*, corrected: bool = True) -> pd.DataFrame:
    """Return the 30 cells of Tables 5 and 6, with errata corrected or as printed.

    Columns: algorithm, n, latency_seconds, throughput_per_second, note (the erratum, or "").
    """
    latency, rate = (
        papers.table("pqdpol", name).drop(columns="printed_name") for name in ("table6", "table5")
    )
    frame = latency.merge(rate, on=["algorithm", "n"], validate="one_to_one").assign(note="")
    for table, quantity in QUANTITIES.items():
        for (algorithm, n), erratum in errata(table).items():
            row = (frame["algorithm"] == algorithm) & (frame["n"] == n)
            frame.loc[row, "note"] = f"{table}: {erratum.note}"
            if corrected:
                frame.loc[row, quantity] = float(erratum.expected)
    return frame


def tables(costs: CostTable | None = None, law: SerialLaw | None = None) -> pd.DataFrame:
    """Model every cell of Tables 5 and 6 with `costs`, by default the paper's.

    Columns: algorithm, n, nodes, transactions_per_block; published_latency_seconds (as printed),
    corrected_latency_seconds (errata corrected), latency_seconds, latency_error_percent (of
    the printed number) and latency_error_corrected_percent; the same of throughput_per_second; and
    costs, scenario, note. Throughput is the mean number of transactions that fill a block over the
    latency of a block. With costs measured here only the order of the schemes is meaningful: the
    coefficients belong to the paper's machine.
    """
    used = costs if costs is not None else papers.costs("pqdpol")
    network = named("paper-serial", serial=law or SerialLaw())
    rows = []
    pairs = zip(cells(corrected=False).to_dict("records"), cells().to_dict("records"), strict=True)
    for printed, corrected in pairs:
        # Costs measured here may lack schemes.
        if printed["algorithm"] not in used:
            continue
        scenario = Scenario(
            algorithm=printed["algorithm"],
            costs=used,
            nodes=2 ** int(printed["n"]),
            network=network,
        )
        fill = scenario.transactions_per_block()
        latency = model.run(scenario).latency_seconds
        keys = [scenario.algorithm, int(printed["n"]), scenario.nodes, fill]
        ours = {"latency_seconds": latency, "throughput_per_second": fill / latency}
        numbers = []
        for quantity, value in ours.items():
            pair = [printed[quantity], corrected[quantity]]
            numbers += [*pair, value, *(100 * (value / other - 1) for other in pair)]
        rows.append([*keys, *numbers, used.source, scenario.identifier, printed["note"]])
    return CELLS.frame(rows)


def settings(modelled: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Return settings of the model of a frame of `tables`, by name and quantity."""
    algorithm = str(modelled["algorithm"].iloc[0])
    block_bytes = Scenario(algorithm=algorithm, costs=papers.costs("pqdpol")).block_bytes
    nodes = modelled.loc[modelled["n"] == 1, "nodes"].iloc[0]
    return {
        ("scenario", "block_kilobytes"): block_bytes / 1000,
        ("scenario", "network_size_base"): float(nodes),
    }
