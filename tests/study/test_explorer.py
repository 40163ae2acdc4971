"""The explorer without a browser: sliders are set and results are read."""

import sys

import pytest

import pqchain as pq
from pqchain import plots
from pqchain.errors import UnknownName, Unsupported, UsageError
from pqchain.study.files import parse

pytest.importorskip("ipywidgets", reason="ipywidgets is not installed: pip install ipywidgets")
explorer_module = pytest.importorskip("pqchain.study.explorer")


@pytest.fixture
def explorer(monkeypatch):
    """Return an explorer that records the plotted data without drawing, a third of a second."""
    bars = lambda axes, _: repr([line.get_xdata()[0] for line in axes.lines]).encode()  # noqa: E731
    monkeypatch.setattr(plots, "figure_bytes", bars)
    return pq.study.explore("pqdpol")


def test_slider_changes_plan_figures_and_plot(explorer):
    before, picture = explorer.frame, explorer._picture.value
    explorer.sliders["nodes"].value = 64
    assert explorer.plan == explorer.start.with_(nodes=64)
    rows = [
        frame.set_index(["algorithm", "quantity"])["value"] for frame in (before, explorer.frame)
    ]
    key = "Falcon-512", "capacity_per_second"
    assert rows[1][key] < rows[0][key]
    assert explorer._picture.value != picture
    assert parse(explorer.toml, "plan.toml") == explorer.plan


def test_labels_have_units_and_a_moved_slider_is_not_followed(explorer):
    slider = explorer.sliders["block_bytes"]
    assert slider.label == "50\N{NARROW NO-BREAK SPACE}000\N{NARROW NO-BREAK SPACE}B"
    assert not slider.continuous_update


def test_figure_is_shown_without_widgets():
    bundle, _ = pq.study.explore(figure="final_seconds")._repr_mimebundle_()
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


def test_other_inputs_and_figures_are_rejected():
    for inputs, message in (
        (["node"], "'nodes'"), (["law"], "numbers above 0; got law"), ([], "1 to 3"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=message):
            pq.study.explore("pqdpol", inputs)
    with pytest.raises(UnknownName, match="capacity_per_second"):
        pq.study.explore("pqdpol", figure="capacity_per_secon")


def test_every_slider_value_alone_gives_a_possible_plan():
    for name in ("algorand", "ethereum", "cometbft"):
        plan = pq.study.load(name)
        for key in ("nodes", "block_bytes"):
            possible = explorer_module.input_values(plan, key)
            assert plan.value(key) in possible and len(possible) > 5
            assert all(plan.with_(**{key: value}).value(key) == value for value in possible)
