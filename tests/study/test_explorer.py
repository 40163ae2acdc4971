"""The explorer without a browser: sliders are set and results are read."""

import asyncio
import json
import sys

import pandas as pd
import pytest

import pqchain as pq
from pqchain import plots
from pqchain.commands.main import main
from pqchain.errors import Unsupported, UsageError
from pqchain.study.reading import parse
from tests.study import plans

pytest.importorskip("ipywidgets", reason="ipywidgets is not installed: pip install ipywidgets")


@pytest.fixture(scope="module")
def shared():
    return pq.study.explore("pqdpol")


@pytest.fixture
def sketched(monkeypatch):
    """Record the plotted data without drawing, which takes a third of a second."""
    monkeypatch.setattr(plots, "figure_bytes", lambda axes, _: repr(widths(axes)).encode())


@pytest.fixture
def explorer(shared, sketched):
    shared.reset()
    return shared


def widths(axes):
    return [bar.get_width() for bar in axes.patches]


def capacity(frame, algorithm="Falcon-512"):
    rows = frame[(frame["algorithm"] == algorithm) & (frame["quantity"] == "capacity_per_second")]
    return rows["value"].item()


def test_slider_changes_plan_figures_and_plot(explorer):
    before, shown = capacity(explorer.frame), explorer._picture.value
    explorer.sliders["nodes"].value = 64
    assert explorer.plan == explorer.start.with_(nodes=64)
    assert capacity(explorer.frame) < before
    assert explorer._picture.value == repr(widths(explorer.plot())).encode() != shown
    assert "--set nodes=64" in explorer._text.value
    explorer.reset()
    assert explorer.plan == explorer.start and capacity(explorer.frame) == before


def test_labels_have_units_and_are_sorted_by_effect(explorer):
    assert (
        explorer.sliders["block_bytes"].label
        == "50\N{NARROW NO-BREAK SPACE}000\N{NARROW NO-BREAK SPACE}B"
    )
    strongest, *_ = explorer._tabs.children
    assert strongest.children[0] is explorer.sliders["nodes"]
    assert explorer._tabs.titles[0] == "strongest"


def test_python_toml_and_command_give_the_same_figures(explorer, capsys, tmp_path):
    explorer.sliders["block_bytes"].value = 100_000
    explorer.sliders["key_mode"].value = "registered"
    explorer._algorithms.value = ("Dilithium2", "Falcon-512")
    made: dict[str, pd.DataFrame] = {}
    exec(explorer.python, made)
    pd.testing.assert_frame_equal(made["frame"], explorer.frame)
    assert parse(explorer.toml, "plan.toml") == explorer.plan
    assert main([*explorer.command.split()[1:], "--json"]) == 0
    told = pd.DataFrame(json.loads(capsys.readouterr().out)["figures"])
    assert told["value"].astype(float).round(9).equals(explorer.frame["value"].round(9))


def test_invalid_combinations_show_a_message_only(explorer):
    explorer._algorithms.value = ()
    assert "algorithms must be a list" in explorer._message.value
    explorer._algorithms.value = ("Falcon-512",)
    assert explorer._message.value == "" and capacity(explorer.frame) > 0


def test_changing_the_law_changes_the_inputs(explorer):
    assert "link_latency_seconds" not in explorer.sliders
    explorer.sliders["law"].value = "mesh"
    assert explorer.plan.network.law == "mesh" and "link_latency_seconds" in explorer.sliders
    assert explorer.command.startswith("pqchain study pqdpol --set law=mesh")


def test_user_scheme_is_included(sketched):
    with pq.algorithms.temporary_registrations():
        pq.register("Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms")
        start = plans.plan(costs="paper:mini-blockchain", baseline="", algorithms=("Falcon-512",))
        explorer = pq.study.explore(start)
        explorer._algorithms.value = ("Falcon-512", "Mine")
        plan, frame = explorer.plan, explorer.frame
    assert set(frame.loc[frame["algorithm"] == "Mine", "kind"]) >= {"given"}
    assert parse(explorer.toml, "plan.toml").own_schemes == plan.own_schemes


def test_dragged_slider_updates_when_it_stops(explorer):
    async def drag():
        shown = explorer._picture.value
        for nodes in (48, 64, 96):
            explorer.sliders["nodes"].value = nodes
        assert explorer._picture.value == shown
        assert explorer.plan.nodes == 96
        await asyncio.sleep(0.3)
        return explorer._picture.value != shown

    assert asyncio.run(drag())


def test_requested_figures_are_computed_at_once(explorer):
    async def ask():
        explorer.sliders["nodes"].value = 64
        return capacity(explorer.frame)

    assert asyncio.run(ask()) == pytest.approx(
        capacity(pq.study.evaluate(explorer.plan, explorer.costs))
    )


def test_figure_is_shown_without_widgets(shared):
    shared.reset()
    bundle, _ = shared._repr_mimebundle_()
    assert bundle["image/png"].startswith(b"\x89PNG")
    assert "--figure-ink" in bundle["image/svg+xml"]
    assert bundle["text/plain"].startswith("Explorer: pqchain study pqdpol")
    assert "application/vnd.jupyter.widget-view+json" in bundle


def test_missing_library_names_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(Unsupported, match="pip install"):
        pq.study.explore("pqdpol")


def test_errors_and_commands_are_shown_as_text(explorer):
    explorer._show_error(UsageError("<b>\x1b[2J\u202e"))
    assert explorer._message.value == ("<b>Not possible:</b> &lt;b&gt;\\u001b[2J\\u202e")
