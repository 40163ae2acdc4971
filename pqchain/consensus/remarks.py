"""Sentences on what the numbers of consensus runs are: modelled, replayed or measured."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from pqchain.costs import CostTable
from pqchain.figures import Kind

_EXECUTED: dict[str, str] = {
    Kind.REPLAYED: "Replayed in virtual time over {transport}: bytes, signatures and protocol are "
    "real, time is modelled from the costs.",
    Kind.MEASURED: "Measured on this machine over {transport}: every signature was made and "
    "verified. The delegates share its processors; --costs and --network have no effect.",
}


def modelled(runs: pd.DataFrame, costs: CostTable) -> Iterator[str]:
    """Yield the origin of the costs of modelled runs, and what limits their meaning."""
    origin = costs.source
    if costs.source == "paper:pqdpol":
        origin = "published, Tables 1 to 4 of pqdpol; lengths of Falcon's signatures counted"
    elif costs.source.startswith("paper:"):
        origin = f"published, {costs.source}"
    yield f"Modelled. Costs of the schemes: {origin}."
    if (runs["transactions_per_block"] % 1 != 0).any():
        yield (
            "Signatures vary in length: tx / block is the expected number, tx / s counts the "
            "transactions of the simulated blocks; with more --blocks or --seeds they agree."
        )
    if (runs["network"] == "paper-serial").any():
        yield (
            "paper-serial is not a network of the paper: its four coefficients are fitted to the "
            "paper's Table 6 and have no physical meaning. See `pqchain reproduce --only pqdpol`."
        )


def executed(runs: pd.DataFrame, *, is_cluster: bool) -> Iterator[str]:
    """Yield what executed runs measured or modelled."""
    transport = runs["transport"].iloc[0]
    if is_cluster:
        yield (
            f"Measured on the machines of a cluster over {transport}: every signature was made and "
            "verified; --costs and --network have no effect."
        )
    else:
        yield _EXECUTED[runs["kind"].iloc[0]].format(transport=transport)


def given(runs: pd.DataFrame, costs: CostTable) -> Iterator[str]:
    """Yield the source of the costs of each scheme that the user gave by numbers."""
    for name in runs["algorithm"].unique():
        if costs[name].is_given:
            yield f"{name}: {costs[name].source}."
