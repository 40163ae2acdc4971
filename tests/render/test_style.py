"""The style sheet of HTML pages."""

from pathlib import Path

from pqchain.render import html


def test_style_sheet_covers_dark_narrow_and_print():
    style = (Path(html.__file__).parent / "report.css").read_text(encoding="utf-8")
    for wanted in ("prefers-color-scheme: dark", "@media print", "max-width: 600px", "sticky"):
        assert wanted in style


def test_wide_tables_scroll_on_screen_and_not_in_print():
    style = (Path(html.__file__).parent / "report.css").read_text(encoding="utf-8")
    everywhere = style[: style.index("@media (max-width: 1050px)")]
    box = everywhere.partition("\n.scroll {")[2].partition("}")[0]
    # Positioned; otherwise text for screen readers makes the page scroll.
    for wanted in ("position: relative", "overflow: auto", "max-width: 100%"):
        assert wanted in box
    caption = everywhere.partition("\ncaption {")[2].partition("}")[0]
    assert "position: sticky" in caption
    assert "100cqw" in caption
    paper = style[style.index("@media print") :]
    assert "overflow: visible" in paper.partition("  .scroll {")[2].partition("}")[0]
