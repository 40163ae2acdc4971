"""Plot of certificates: bytes or verification time over the number of validators."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pqchain import figures
from pqchain.algorithms import ALGORITHMS
from pqchain.figures import Kind, Unit
from pqchain.plots.canvas import canvas, headline, require
from pqchain.plots.marks import (
    Mark,
    brief,
    dashes,
    family_mark,
    grid,
    label_ends,
    legend_above,
    log_ticks,
    mark_of,
    props,
    with_prefix,
)


def plot_certificates(
    frame: pd.DataFrame, quantity: Literal["bytes", "verify"] = "bytes", *, ax: Axes | None = None
) -> Axes:
    """Draw the certificate of a quorum over the number of validators; both axes are logarithmic.

    Takes a frame of `pqchain.study.certificates`: a line for each list or aggregate, marks for the
    proofs of all signatures in one, by the scheme of the signatures; those from publications are
    hollow. "bytes" or "verify" (seconds of a processor). Raises DataError, UsageError.
    """
    require(frame, "algorithm form nodes certificate_bytes verify_seconds kind source")
    column = "certificate_bytes" if quantity == "bytes" else "verify_seconds"
    drawn = frame[frame[column].notna()]
    votes, proofs = drawn[drawn["form"] != "proof"], drawn[drawn["form"] == "proof"]
    what = "size of a certificate" if quantity == "bytes" else "time to verify a certificate"
    with canvas(ax, 4.4) as axes:
        ends = _votes(axes, votes, column)
        _proofs(axes, proofs, column)
        log_ticks(axes, "x", with_prefix(""))
        log_ticks(axes, "y", with_prefix("B") if quantity == "bytes" else brief)
        grid(axes)
        axes.set(xlabel="validators", ylabel=what)
        if len(proofs):
            legend_above(axes, 4)
        headline(axes, _crossing(votes, proofs, column))
        label_ends(axes, ends)
    return axes


def _votes(
    axes: Axes, votes: pd.DataFrame, column: str
) -> list[tuple[str, tuple[float, float], str]]:
    """Draw lists and aggregates; return their names, ends and colours."""
    axes.set(xscale="log", yscale="log")
    lines, ends = dashes(dict.fromkeys(votes["algorithm"])), []
    for name, rows in votes.groupby("algorithm", sort=False):
        rows, mark = rows.sort_values("nodes"), mark_of(str(name))
        style = props(color=mark.colour, linewidth=1.5, linestyle=lines[str(name)])
        label = f"{name}, {rows['form'].iloc[0]}"
        # Names stand at the lines, and the legend has only proofs.
        axes.plot(rows["nodes"].astype(float), rows[column], label=f"_{label}", **style)
        end = float(rows["nodes"].iloc[-1]), float(rows[column].iloc[-1])
        ends.append((label, end, mark.colour))
    return ends


def _proofs(axes: Axes, proofs: pd.DataFrame, column: str) -> None:
    """Draw the proofs of each prover, joined; the legend names each scheme once."""
    named: set[str] = set()
    for (_, algorithm, kind), rows in proofs.groupby(["source", "algorithm", "kind"], sort=False):
        rows = rows.sort_values("nodes")
        label = f"{str(algorithm).partition(' of ')[0]}, proof"
        if kind == Kind.MEASURED:
            label += " (measured)"
        mark = _mark(str(algorithm))
        style = mark.style(8 if mark.marker == "*" else 5.5, is_published=kind != Kind.MEASURED)
        style |= props(linewidth=0.8, label="_" * (label in named) + label)
        # Marks that would cover each other are left out; the line has their values.
        style |= props(markevery=0.04) if len(rows) > 1 else {}
        axes.plot(rows["nodes"].astype(float), rows[column], zorder=3, **style)
        named.add(label)


def _mark(algorithm: str) -> Mark:
    # "XMSS of leanSig" is a parameter set of a family, without an entry of its own.
    return mark_of(algorithm) if algorithm in ALGORITHMS else family_mark(algorithm.split()[0])


def _crossing(votes: pd.DataFrame, proofs: pd.DataFrame, column: str) -> str:
    """Return from how many validators on proofs cost less than the cheapest post-quantum list."""
    most = votes[votes["nodes"] == votes["nodes"].max()].sort_values(column)
    new = most[[mark_of(str(name)).post_quantum for name in most["algorithm"]]]
    if new.empty:
        return ""
    unit, row = Unit.of(column), new.iloc[0]
    name, is_size = row["algorithm"], unit == "B"
    listed = votes[votes["algorithm"] == name].sort_values("nodes")
    nodes = listed["nodes"].to_numpy(float)
    limits = np.interp(proofs["nodes"].astype(float), nodes, listed[column].to_numpy(float))
    dearer = proofs["nodes"][proofs[column].to_numpy(float) >= limits]
    start = nodes[nodes > dearer.max()] if len(dearer) else nodes
    if len(start) and (proofs["nodes"] >= start[0]).any():
        least = "smaller than" if is_size else "verified faster than"
        return (
            f"From {figures.integer(start[0])} validators on, each proof shown is {least} a list "
            f"of {name} signatures"
        )
    thing = "a list of" if is_size else "verifying a list of"
    text = f"With {figures.integer(row['nodes'])} validators, {thing} {name} signatures takes "
    return text + unit.text(float(row[column]))
