"""Plots of a study: values and labels."""

from matplotlib.colors import to_hex, to_rgb

from pqchain import plots
from pqchain.plots import fields, marks
from pqchain.render import palette
from tests.plots import samples
from tests.plots.common import caption, contrast, labelled_lines, legend_texts, notes, row_heights
from tests.plots.samples import SCHEMES


def test_capacity_has_bars_losses_and_binding_limits() -> None:
    limits = {SCHEMES[0]: "gas", SCHEMES[1]: "weight"}
    axes = plots.plot_capacity(samples.capacity().head(2), limits, baseline=SCHEMES[0])
    points = [line.get_xdata()[0] for line in axes.lines if line.get_marker() != "None"]
    assert points == [50.0, 20.0]
    assert legend_texts(axes) == ["limit: gas", "limit: weight"]
    assert axes.texts[1].get_text().endswith("(\N{MINUS SIGN}60\N{NARROW NO-BREAK SPACE}%)")
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == [f"{SCHEMES[0]} (today)", SCHEMES[1]]
    alike = plots.plot_capacity(samples.capacity(), dict.fromkeys(SCHEMES, "gas"))
    assert not legend_texts(alike)
    assert "limit of all: gas" in notes(alike)


def test_load_draws_a_line_and_a_wall_for_each_scheme_on_log_axes() -> None:
    axes = plots.plot_load(samples.load())
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    rates, latencies = labelled_lines(axes)[SCHEMES[1]]
    assert rates == [1.0, 10.0, 100.0, 1000.0]
    assert latencies == [8.0, 15.0, 29.0, 57.0]
    walls = [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == ":"]
    assert walls == [2000.0] * len(SCHEMES)
    assert set(legend_texts(axes)) == set(SCHEMES)


def test_fields_in_print_have_a_hatch_for_each_scheme() -> None:
    names = ("MAYO-2", "Falcon-512", "ML-DSA-44")
    assert len(set(fields._hatches(names).values())) == 1
    with plots.style("paper"):
        assert len(set(fields._hatches(names).values())) == len(names)


def test_numbers_on_the_strongest_fields_have_a_contrast_of_more_than_4_5() -> None:
    leads = plots.plot_winners(samples.winners().assign(lead=9.0)).axes[0].collections
    losses = plots.plot_cost_on_chains(samples.costs().assign(lost_share=1.0)).collections
    families = {name for name, _ in marks.FAMILIES.values()}
    for shown, names in ((leads, families), (losses, {"vermilion"})):
        alpha = max(field.get_alpha() or 0.0 for field in shown)
        for theme in range(3):
            rgb = {name: to_rgb(row[theme]) for name, row in palette.COLOURS.items()}
            for name in names:
                pairs = zip(rgb[name], rgb["paper"], strict=True)
                field = [alpha * colour + (1 - alpha) * page for colour, page in pairs]
                assert contrast(to_hex(field), to_hex(rgb["ink"])) > 4.5, (name, theme)


def test_tornado_states_the_base_value_and_the_first_input() -> None:
    axes = plots.plot_tornado(samples.tornado().iloc[::-1])
    assert caption(axes).endswith("to 1800 tx/s with verification threads doubled")
    assert row_heights(axes).keys() >= {"verification threads (8)", "size of a block (4\u202fB)"}


def test_matrix_has_the_loss_of_each_scheme_on_each_chain() -> None:
    frame = samples.costs().sample(frac=1, random_state=1)
    axes = plots.plot_cost_on_chains(frame)
    rows = [label.get_text() for label in axes.get_yticklabels()]
    # Those that lose most are at the bottom, and what no observation tests is marked.
    space = "\N{NARROW NO-BREAK SPACE}"
    assert rows == [f"Ethereum until Glamsterdam{space}*", "Bitcoin", f"TRON{space}\N{DAGGER}"]
    columns = list(dict.fromkeys(frame["algorithm"]))
    shown = {tuple(map(round, text.get_position())): text.get_text() for text in axes.texts}
    assert len(shown) == len(frame)
    for row in frame.to_dict("records"):
        titles = [name.rstrip(f"{space}*\N{DAGGER}") for name in rows]
        value = shown[columns.index(row["algorithm"]), titles.index(row["title"])]
        middle, ends = value.split("\n")
        assert float(middle.split(space)[0]) == round(100 * row["lost_share"])
        assert ends == f"{100 * row['lost_low']:.0f}\N{EN DASH}{100 * row['lost_high']:.0f}"
    assert "not tested" in notes(axes) and "25 % off" in notes(axes) and "mix" in notes(axes)
    tested = plots.plot_cost_on_chains(frame[frame["title"] == "Bitcoin"])
    assert "not tested" not in notes(tested) and "off" not in notes(tested)
