"""HTML elements of pages."""

from html.parser import HTMLParser

from pqchain import plots
from pqchain.render import html
from pqchain.render.html import Markup


class Reader(HTMLParser):
    """Collects tags with their attributes."""

    def __init__(self, text: str) -> None:
        """Parse a text."""
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag."""
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def all(self, tag: str) -> list[dict[str, str]]:
        """Return the attributes of all tags of a name."""
        return [attributes for name, attributes in self.tags if name == tag]


def test_text_is_escaped_and_markup_is_not():
    inside = html.element("b", "a < b & c")
    assert html.element("p", inside, ' "x"', title='say "x"') == (
        '<p title="say &quot;x&quot;"><b>a &lt; b &amp; c</b> &quot;x&quot;</p>'
    )
    assert isinstance(inside, Markup)


def test_every_verdict_has_a_word_and_a_sign():
    for verdict, (tone, sign) in html.VERDICTS.items():
        written = html.badge(verdict)
        assert verdict in written
        assert sign in written
        assert tone in written


def test_figures_have_distinct_identifiers_and_page_colours():
    svg = plots.figure_bytes(plots.plot_sizes(["Falcon-512", "Kyber512"]), "svg")
    figures = [
        html.figure(svg, identifier=name, description="Dots.", caption="C.")
        for name in ("one", "two")
    ]
    used = [
        {attributes["id"] for _, attributes in Reader(figure).tags if "id" in attributes}
        for figure in figures
    ]
    assert used[0]
    assert not used[0] & used[1]
    assert "#222222" not in figures[0].replace("var(--figure-ink,#222222)", "")
    assert "var(--figure-ink,#222222)" in figures[0]
    assert Reader(figures[0]).all("svg")[0]["aria-label"] == "Dots."
    assert "<metadata>" not in figures[0]
    for reference in Reader(figures[0]).all("use"):
        assert reference["xlink:href"].removeprefix("#") in used[0]


def test_document_is_complete_and_loads_nothing_external():
    text = html.document("T & U", [("a", "First")], html.section("a", "First", "body"))
    reader = Reader(text)
    assert text.startswith("<!doctype html>")
    assert reader.all("html") == [{"lang": "en"}]
    assert reader.all("meta")[0] == {"charset": "utf-8"}
    assert not reader.all("script")
    assert not reader.all("link")
    assert "url(" not in text.partition("</style>")[0]
    assert "@import" not in text
    assert "<title>T &amp; U</title>" in text
    assert {"href": "#a"} in reader.all("a")
