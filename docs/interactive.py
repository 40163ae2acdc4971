"""Interactive versions of figures of the gallery, in Vega-Lite through Altair.

Colours are CSS variables of `pqchain.render.palette`, which `static/gallery.js` replaces when it
draws, because a chart must follow the switch between light and dark pages.
"""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import pandas as pd
import vl_convert

from pqchain import algorithms
from pqchain.plots.marks import FAMILIES
from pqchain.render import palette

_SHAPES = {
    "o": "circle", "s": "square", "^": "triangle-up", "v": "triangle-down", "<": "triangle-left",
    ">": "triangle-right", "D": "diamond", "d": "M0,-1L.6,0L0,1L-.6,0Z", "P": "cross", "X":
    "M-1,-.5L-.5,-1L0,-.5L.5,-1L1,-.5L.5,0L1,.5L.5,1L0,.5L-.5,1L-1,.5L-.5,0Z", "*": "stroke",
    "p": "M0,-1L.95,-.3L.6,.8L-.6,.8L-.95,-.3Z", "h": "M0,-1L.87,-.5L.87,.5L0,1L-.87,.5L-.87,-.5Z",
}  # fmt: skip
"""Shapes of Vega by marker of matplotlib."""


def script() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, bundled and loading nothing."""
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return f"(() => {{{bundle}}})();\n"


def _families(frame: pd.DataFrame) -> pd.DataFrame:
    known = algorithms.ALGORITHMS
    return frame.assign(
        family=[known[name].family if name in known else "own" for name in frame["algorithm"]]
    )


def _looks(frame: pd.DataFrame) -> dict[str, Any]:
    """Return colour and shape by family, with a selection by click on the legend."""
    names = [name for name in FAMILIES if name in set(frame["family"])]
    legend = alt.Legend(title="family (click to select)", symbolType="circle")
    colours = [f"var(--figure-{FAMILIES[name][0]})" for name in names]
    shapes = [_SHAPES[FAMILIES[name][1]] for name in names]
    chosen = alt.selection_point(fields=["family"], bind="legend")
    return {
        "color": alt.Color("family:N", scale=alt.Scale(domain=names, range=colours), legend=legend),
        "shape": alt.Shape("family:N", scale=alt.Scale(domain=names, range=shapes), legend=legend),
        "opacity": alt.condition(chosen, alt.value(1.0), alt.value(0.12)),
        "chosen": chosen,
    }


def _chart(chart: Any) -> dict[str, Any]:
    ink, muted, line = (f"var(--figure-{name})" for name in ("ink", "muted", "line"))
    axis = {
        "labelColor": ink, "titleColor": ink, "gridColor": line, "domainColor": muted,
        "tickColor": muted, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal",
        "labelLimit": 260,
    }  # fmt: skip
    legend = {"labelColor": ink, "titleColor": ink, "labelFontSize": 12, "titleFontSize": 12}
    legend |= {"titleFontWeight": "normal", "orient": "top", "columns": 4, "labelLimit": 200}
    config = {"axis": axis, "legend": legend, "view": {"stroke": None}, "background": None}
    config |= {"font": "system-ui, sans-serif", "text": {"color": ink, "fontSize": 12}}
    specification: dict[str, Any] = chart.to_dict()
    # Altair's theme has a configuration of its own, with another size and background.
    return specification | {"config": config, "width": "container"}


def tradeoff(measurements: pd.DataFrame) -> dict[str, Any]:
    """Return bytes over verification time; zoom by wheel, select families in the legend."""
    fine = measurements[(measurements["operation"] == "verify") & (measurements["status"] == "ok")]
    rows = fine.loc[fine.groupby("algorithm")["median_seconds"].idxmin()]
    facts = [algorithms.get(name) for name in rows["algorithm"]]
    frame = _families(
        pd.DataFrame(
            {
                "algorithm": rows["algorithm"].to_numpy(),
                "implementation": rows["implementation"].to_numpy(),
                "bytes": [row.public_key_bytes + row.signature_bytes for row in facts],
                "microseconds": 1e6 * rows["median_seconds"].to_numpy(),
                "level": [row.nist_level for row in facts],
            }
        )
    )
    looks = _looks(frame)
    base = alt.Chart(frame).encode(
        x=alt.X("bytes:Q", scale=alt.Scale(type="log"), title="public key and signature, bytes"),
        y=alt.Y("microseconds:Q", scale=alt.Scale(type="log"), title="one verification, µs"),
        opacity=looks["opacity"],
    )
    points = base.mark_point(size=110, filled=True).encode(
        color=looks["color"],
        shape=looks["shape"],
        tooltip=["algorithm", "implementation", "bytes", alt.Tooltip("microseconds", format=".3s"),
                 "level"],
    )  # fmt: skip
    names = base.mark_text(align="left", dx=9).encode(text="algorithm")
    layered = points.add_params(looks["chosen"], alt.selection_interval(bind="scales")) + names
    return _chart(layered.properties(height=380))


def speed(measurements: pd.DataFrame) -> dict[str, Any]:
    """Return times of every implementation; a menu selects the operation."""
    fine = measurements[measurements["status"] == "ok"]
    frame = _families(
        pd.DataFrame(
            {
                "algorithm": fine["algorithm"],
                "implementation": fine["implementation"],
                "operation": fine["operation"].str.replace("_", " "),
                "microseconds": 1e6 * fine["median_seconds"],
                "low": 1e6 * fine["min_seconds"],
                "high": 1e6 * fine["p95_seconds"],
            }
        )
    )
    operations = list(dict.fromkeys(frame["operation"]))
    menu = alt.binding_select(options=operations, name="operation ")
    operation = alt.selection_point(fields=["operation"], bind=menu, value=operations[-1])
    looks = _looks(frame)
    row = alt.Y("algorithm:N", sort=alt.EncodingSortField("microseconds", op="min"), title=None)
    base = alt.Chart(frame).transform_filter(operation).encode(y=row, opacity=looks["opacity"])
    axis = alt.X("low:Q", scale=alt.Scale(type="log"), title="minimum to 95th percentile, µs")
    whiskers = base.mark_rule(strokeWidth=2).encode(x=axis, x2="high", color=looks["color"])
    points = base.mark_point(size=90, filled=True).encode(
        x=alt.X("microseconds:Q", scale=alt.Scale(type="log")),
        color=looks["color"],
        shape=looks["shape"],
        tooltip=["algorithm", "implementation", alt.Tooltip("microseconds", format=".3s")],
    )
    layered = whiskers + points.add_params(operation, looks["chosen"])
    return _chart(layered.properties(height={"step": 24}))


def sizes(frame: pd.DataFrame) -> dict[str, Any]:
    """Return bytes of key and signature as stacked bars; the legend selects families."""
    frame = _families(frame).assign(sum=frame["public_key_bytes"] + frame["signature_bytes"])
    looks = _looks(frame)
    chart = (
        alt.Chart(frame)
        .mark_point(size=110, filled=True)
        .encode(
            x=alt.X("public_key_bytes:Q", scale=alt.Scale(type="log"), title="public key, bytes"),
            y=alt.Y("signature_bytes:Q", scale=alt.Scale(type="log"), title="signature, bytes"),
            color=looks["color"], shape=looks["shape"], opacity=looks["opacity"],
            tooltip=["algorithm", "public_key_bytes", "signature_bytes", "sum"],
        )
    )  # fmt: skip
    names = chart.mark_text(align="left", dx=9).encode(text="algorithm")
    names.encoding.color = names.encoding.shape = alt.Undefined
    layered = chart.add_params(looks["chosen"], alt.selection_interval(bind="scales")) + names
    return _chart(layered.properties(height=380))


def cost_on_chains(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the matrix of lost capacity, with limit and baseline in the tooltip."""
    frame = frame.assign(lost=(100 * frame["lost_share"]).round(1))
    order = frame.groupby("title")["lost_share"].mean().sort_values().index.tolist()
    schemes = list(dict.fromkeys(frame["algorithm"]))
    columns = ["title", "algorithm", "baseline", "lost", "limit", "calibrated"]
    base = alt.Chart(frame[columns]).encode(
        x=alt.X("algorithm:N", sort=schemes, title=None, axis=alt.Axis(orient="top", labelAngle=0)),
        y=alt.Y("title:N", sort=order, title=None),
        tooltip=columns,
    )
    strength = alt.Opacity("lost:Q", scale=alt.Scale(domain=[0, 100], range=[0, 0.62]), legend=None)
    fields = base.mark_rect(color="var(--figure-vermilion)").encode(opacity=strength)
    texts = base.mark_text().encode(text=alt.Text("lost:Q", format=".0f"))
    return _chart((fields + texts).properties(height={"step": 26}))


def networks(frame: pd.DataFrame) -> dict[str, Any]:
    """Return latency over nodes; hovering a line names it."""
    fine = frame[frame["status"] == "ok"]
    rows = fine.groupby(["setting", "nodes"], sort=False)["latency_seconds"].median().reset_index()
    return _lines(rows, "nodes", "latency_seconds", "setting", "nodes", "latency, s", base=2)


def load(frame: pd.DataFrame) -> dict[str, Any]:
    """Return latency over arrivals; the legend selects schemes."""
    rows = frame[["algorithm", "arrivals_per_second", "latency_seconds"]]
    return _lines(
        rows, "arrivals_per_second", "latency_seconds", "algorithm", "arrivals per second",
        "mean latency, s",
    )  # fmt: skip


def _lines(
    rows: pd.DataFrame, x: str, y: str, name: str, x_title: str, y_title: str, base: int = 10
) -> dict[str, Any]:
    names = list(dict.fromkeys(rows[name]))
    series = ("indigo", "crimson", "teal", "olive", "violet", "slate", "ink", "muted")
    known = algorithms.ALGORITHMS
    colours = [
        f"var(--figure-{FAMILIES[known[row].family][0] if row in known else series[at % 8]})"
        for at, row in enumerate(names)
    ]
    chosen = alt.selection_point(fields=[name], bind="legend")
    colour = alt.Color(
        f"{name}:N", scale=alt.Scale(domain=names, range=colours),
        legend=alt.Legend(title="click to select"),
    )  # fmt: skip
    ends = 0.97 * float(rows[y].min()), 1.03 * float(rows[y].max())
    assert all(math.isfinite(end) for end in ends), y
    chart = (
        alt.Chart(rows)
        .mark_line(point=True)
        .encode(
            x=alt.X(f"{x}:Q", scale=alt.Scale(type="log", base=base), title=x_title),
            y=alt.Y(f"{y}:Q", scale=alt.Scale(type="log", domain=ends), title=y_title),
            color=colour,
            opacity=alt.condition(chosen, alt.value(1.0), alt.value(0.1)),
            tooltip=[name, x, alt.Tooltip(y, format=".4s")],
        )
        .add_params(chosen, alt.selection_interval(bind="scales"))
    )
    return _chart(chart.properties(height=380))


VARIABLES = tuple(palette.COLOURS)
"""Names of the CSS variables, without their prefix."""
