"""Plots of a study: values and labels."""

from __future__ import annotations

import pandas as pd
from matplotlib.colors import to_hex, to_rgb, to_rgba

from pqchain import plots
from pqchain.plots import fields, marks
from pqchain.render import palette
from tests.plots.common import (
    LONG,
    SCHEMES,
    caption,
    contrast,
    labelled_lines,
    legend_texts,
    notes,
    row_heights,
)


def capacity_frame() -> pd.DataFrame:
    values = {"value": [50.0, 20, 9, 8], "low": [45.0, 18, 8, 7], "high": [60.0, 22, 10, 9]}
    return pd.DataFrame({"algorithm": SCHEMES, **values})


def load_frame() -> pd.DataFrame:
    rows = [
        {"algorithm": name, "arrivals_per_second": 10.0**n, "latency_seconds": 7.0 * 2**n + number}
        for number, name in enumerate(SCHEMES)
        for n in range(4)
    ]
    return pd.DataFrame(rows)


def tornado_frame() -> pd.DataFrame:
    inputs = ("verify_seconds", "block_bytes", "rate_bits_per_second", "verification_threads")
    rows = [
        {
            "algorithm": LONG,
            "output": "capacity_per_second",
            "unit": "1/s",
            "input": name,
            "input_value": 2.0 * number,
            "base": 1000.0,
            "low": 1000 - 100 * number,
            "high": 1000 + 200 * number,
        }
        for number, name in enumerate(inputs, start=1)
    ]
    return pd.DataFrame(rows)


def plane_frame() -> pd.DataFrame:
    factors = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)
    rows = [
        {
            "across": "rate_bits_per_second",
            "upwards": "verify_seconds",
            "across_factor": x,
            "upwards_factor": y,
            "winner": SCHEMES[(i + j) % 4],
            "capacity_per_second": 9.0,
            "margin": 1.2,
        }
        for i, x in enumerate(factors)
        for j, y in enumerate(factors)
    ]
    return pd.DataFrame(rows)


def migration_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "day": [1.0, 200.0, 700.0],
            "moved_share": [0.1, 0.5, 1.0],
            "waiting_share": [0.0, 0.2, 0.0],
            "growth_bytes_per_day": [1e8, 2e8, 3e8],
            "carried_per_second": [5.0, 4.0, 3.0],
            "wanted_per_second": [5.0, 5.0, 5.0],
        }
    )


def cost_frame() -> pd.DataFrame:
    chains = ("Ethereum until Glamsterdam", "Bitcoin", "TRON")
    return pd.DataFrame(
        {
            "title": chain,
            "algorithm": name,
            "lost_share": (row + column) / 5,
            "calibrated": chain != "TRON",
        }
        for row, chain in enumerate(chains)
        for column, name in enumerate(SCHEMES)
    )


SAMPLES = {
    "cost_on_chains": lambda: plots.plot_cost_on_chains(cost_frame()),
    "capacity": lambda: plots.plot_capacity(
        capacity_frame(), dict.fromkeys(SCHEMES, "bandwidth of a node")
    ),
    "load": lambda: plots.plot_load(load_frame()),
    "migration": lambda: plots.plot_migration(migration_frame()),
    "tornado": lambda: plots.plot_tornado(tornado_frame()),
    "plane": lambda: plots.plot_plane(plane_frame()),
}
"""Samples by kind of plot; `test_paper.py` draws them at a width of 3.5 inches."""


def test_capacity_has_bars_losses_and_binding_limits() -> None:
    limits = {SCHEMES[0]: "gas", SCHEMES[1]: "weight"}
    axes = plots.plot_capacity(capacity_frame().head(2), limits, baseline=SCHEMES[0])
    assert [bar.get_width() for bar in axes.patches] == [50.0, 20.0]
    assert legend_texts(axes) == ["limit: gas", "limit: weight"]
    assert axes.texts[1].get_text().endswith("(\N{MINUS SIGN}60\N{NARROW NO-BREAK SPACE}%)")
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == [f"{SCHEMES[0]} (today)", SCHEMES[1]]
    alike = plots.plot_capacity(capacity_frame(), dict.fromkeys(SCHEMES, "gas"))
    assert not legend_texts(alike)
    assert "limit of all: gas" in notes(alike)


def test_earlier_values_are_hollow_bars() -> None:
    axes = plots.plot_capacity(capacity_frame(), {}, before=dict.fromkeys(SCHEMES, 30.0))
    hollow = [bar for bar in axes.patches if to_rgba(bar.get_facecolor())[3] == 0]
    assert [bar.get_width() for bar in hollow] == [30.0] * len(SCHEMES)
    assert legend_texts(axes) == ["at the start"]


def test_load_draws_a_line_and_a_wall_for_each_scheme_on_log_axes() -> None:
    axes = plots.plot_load(load_frame().assign(load=0.5))
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    rates, latencies = labelled_lines(axes)[SCHEMES[1]]
    assert rates == [1.0, 10.0, 100.0, 1000.0]
    assert latencies == [8.0, 15.0, 29.0, 57.0]
    walls = [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == ":"]
    assert walls == [2000.0] * len(SCHEMES)
    assert set(legend_texts(axes)) == set(SCHEMES)


def test_load_in_minutes_has_no_ticks_at_round_seconds_between_them() -> None:
    frame = load_frame()
    axes = plots.plot_load(frame.assign(latency_seconds=60 * frame["latency_seconds"]))
    assert not len(axes.yaxis.get_minorticklocs())


def test_migration_shows_percent_and_growth() -> None:
    shares = plots.plot_migration(migration_frame())
    assert list(shares.lines[0].get_ydata()) == [10.0, 50.0, 100.0]
    assert shares.get_ylabel() == "% of the accounts"
    assert legend_texts(shares) == ["moved", "waiting for room in blocks"]
    growth = shares.figure.axes[1]
    assert list(growth.lines[0].get_ydata()) == [1e8, 2e8, 3e8]
    assert growth.get_ylabel().replace("\n", " ") == "growth of the chain per day"
    assert "blocks are full from day 200, moves wait from day 200 to 200" in notes(growth)
    named = migration_frame().assign(study="Bitcoin: 600 s", algorithm="Falcon-512")
    title = caption(plots.plot_migration(named.assign(item="outputs")))
    assert title.startswith("Bitcoin to Falcon-512: 100 % of the outputs have moved")


def test_fields_in_print_have_a_hatch_for_each_scheme() -> None:
    names = ("MAYO-2", "Falcon-512", "ML-DSA-44")
    assert len(set(fields._hatches(names).values())) == 1
    with plots.style("paper"):
        assert len(set(fields._hatches(names).values())) == len(names)


def test_numbers_on_the_strongest_fields_have_a_contrast_of_more_than_4_5() -> None:
    leads = plots.plot_plane(plane_frame().assign(margin=9.0)).collections
    losses = plots.plot_cost_on_chains(cost_frame().assign(lost_share=1.0)).collections
    for shown, names in (
        (leads, {name for name, _ in marks.FAMILIES.values()}),
        (losses, {"vermilion"}),
    ):
        alpha = max(field.get_alpha() or 0.0 for field in shown)
        for theme in range(3):
            rgb = {name: to_rgb(row[theme]) for name, row in palette.COLOURS.items()}
            for name in names:
                pairs = zip(rgb[name], rgb["paper"], strict=True)
                field = [alpha * colour + (1 - alpha) * page for colour, page in pairs]
                assert contrast(to_hex(field), to_hex(rgb["ink"])) > 4.5, (name, theme)


def test_tornado_states_the_base_value_and_the_first_input() -> None:
    axes = plots.plot_tornado(tornado_frame().iloc[::-1])
    assert "verification threads changes" in caption(axes)
    assert caption(axes).endswith("1800 tx/s instead of 1000 tx/s")
    assert row_heights(axes).keys() >= {"verification threads (8)", "size of a block (4\u202fB)"}


def test_matrix_has_the_loss_of_each_scheme_on_each_chain() -> None:
    frame = cost_frame().sample(frac=1, random_state=1)
    axes = plots.plot_cost_on_chains(frame)
    rows = [label.get_text() for label in axes.get_yticklabels()]
    # Those that lose most are at the bottom, and what no observation tests is marked.
    assert rows == ["Ethereum until Glamsterdam", "Bitcoin", "TRON\N{NARROW NO-BREAK SPACE}*"]
    columns = list(dict.fromkeys(frame["algorithm"]))
    shown = {
        (
            rows[round(text.get_position()[1])].removesuffix("\N{NARROW NO-BREAK SPACE}*"),
            columns[round(text.get_position()[0])],
        ): text.get_text()
        for text in axes.texts
    }
    assert len(shown) == len(frame)
    for row in frame.to_dict("records"):
        value = shown[row["title"], row["algorithm"]]
        assert float(value.split("\N{NARROW NO-BREAK SPACE}")[0]) == round(100 * row["lost_share"])
    assert "not tested" in notes(axes)
    tested = plots.plot_cost_on_chains(frame[frame["calibrated"]])
    assert "not tested" not in notes(tested)
