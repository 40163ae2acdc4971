"""The explorer without a browser: sliders are set and results are read."""

import sys

import pytest

import pqchain as pq
from pqchain import plots
from pqchain.errors import Unsupported, UsageError
from pqchain.study.files import parse
from tests.study import plans

pytest.importorskip("ipywidgets", reason="ipywidgets is not installed: pip install ipywidgets")
explorer_module = pytest.importorskip("pqchain.study.explorer")


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
    before, picture = capacity(explorer.frame), explorer._picture.value
    explorer.sliders["nodes"].value = 64
    assert explorer.plan == explorer.start.with_(nodes=64)
    assert capacity(explorer.frame) < before
    assert explorer._picture.value == repr(widths(explorer.plot())).encode() != picture
    assert "nodes = 64" in explorer._text.value
    explorer.reset()
    assert explorer.plan == explorer.start and capacity(explorer.frame) == before


def test_labels_have_units_and_a_moved_slider_is_not_followed(explorer):
    slider = explorer.sliders["block_bytes"]
    assert slider.label == "50\N{NARROW NO-BREAK SPACE}000\N{NARROW NO-BREAK SPACE}B"
    assert not slider.continuous_update


def test_toml_gives_the_same_plan(explorer):
    explorer.sliders["block_bytes"].value = 100_000
    explorer.sliders["key_mode"].value = "registered"
    explorer._algorithms.value = ("Dilithium2", "Falcon-512")
    assert parse(explorer.toml, "plan.toml") == explorer.plan
    pq_frame = pq.study.evaluate(explorer.plan, explorer.costs)
    assert pq_frame["value"].equals(explorer.frame["value"])


def test_invalid_combinations_show_a_message_only(explorer):
    explorer._algorithms.value = ()
    assert "algorithms must" in explorer._message.value
    explorer._algorithms.value = ("Falcon-512",)
    assert explorer._message.value == "" and capacity(explorer.frame) > 0


def test_user_scheme_is_included(sketched):
    with pq.algorithms.temporary_registrations():
        pq.register("Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms")
        start = plans.plan(costs="paper:mini-blockchain", baseline="", algorithms=("Falcon-512",))
        explorer = pq.study.explore(start)
        explorer._algorithms.value = ("Falcon-512", "Mine")
        plan, frame = explorer.plan, explorer.frame
    assert set(frame.loc[frame["algorithm"] == "Mine", "kind"]) >= {"given"}
    assert parse(explorer.toml, "plan.toml").own_schemes == plan.own_schemes


def test_figure_is_shown_without_widgets(shared):
    shared.reset()
    bundle, _ = shared._repr_mimebundle_()
    assert bundle["image/png"].startswith(b"\x89PNG")
    assert "--figure-ink" in bundle["image/svg+xml"]
    assert "application/vnd.jupyter.widget-view+json" in bundle


def test_missing_library_names_the_install_command(monkeypatch):
    monkeypatch.delitem(sys.modules, "pqchain.study.explorer")
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    monkeypatch.delattr(pq.study, "explore", raising=False)
    with pytest.raises(Unsupported, match="pip install ipywidgets"):
        pq.study.explore("pqdpol")


def test_errors_are_shown_as_text(explorer, monkeypatch):
    def fail(*_):
        raise UsageError("<b>\x1b[2J\u202e")

    monkeypatch.setattr("pqchain.study.explorer.evaluate", fail)
    explorer.sliders["nodes"].value = 64
    assert explorer._message.value == ("<b>Not possible:</b> &lt;b&gt;\\u001b[2J\\u202e")


def test_every_slider_value_alone_gives_a_possible_plan():
    for name in ("algorand", "ethereum", "cometbft"):
        plan = pq.study.load(name)
        values = explorer_module.input_values(plan)
        assert {"nodes", "block_bytes"} <= values.keys() and plan.network.nodes in values["nodes"]
        for key, possible in values.items():
            assert all(plan.with_(**{key: value}).value(key) == value for value in possible)
