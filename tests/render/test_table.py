"""One table in all formats: terminal, HTML, Markdown, LaTeX, records."""

import json
import math

import pandas as pd

from pqchain.figures import SECONDS
from pqchain.render import html, latex
from pqchain.render.table import Column, Shown, Table, ours, verdict
from tests.render.test_html import Reader

COLUMNS = (
    Column("scheme", key="algorithm"),
    Column("from"),
    Column("sign", "time", True, SECONDS.text, "sign_seconds"),
    Column("verify", "time", True, SECONDS.text, "verify_seconds"),
)

FRAME = pd.DataFrame(
    {
        "algorithm": ["Falcon-512", "Falcon-512", "Dilithium2"],
        "from": ["avx2", "ref", "ref"],
        "sign_seconds": [0.0002, 0.005, math.nan],
        "verify_seconds": [4e-5, 5e-5, 6e-5],
        "note": ["", "slow", ""],
    }
)


def table(**changes: object) -> Table:
    about = {"caption": "C.", "source": ("measured",), "row_headers": 2, "remark": "note"}
    return Table.of(FRAME, COLUMNS, **(about | changes))


def test_text_table_aligns_numbers_and_merges_repeated_headers():
    lines = table(notes=("Read it so.",)).text().replace("\u202f", " ").splitlines()
    assert lines == [
        "C. [measured]",
        "                  time",
        "scheme      from     sign   verify",
        "──────────  ────  ───────  ───────",
        "Falcon-512  avx2   200 µs  40.0 µs",
        "            ref   5.00 ms  50.0 µs",
        "Dilithium2  ref         –  60.0 µs",
        "- Falcon-512: slow",
        "- Read it so.",
    ]


def test_title_of_a_group_is_not_cut():
    columns = [Column("a", "a long title", True), Column("b", "a long title", True), Column("c")]
    assert Table(columns=columns, rows=[["1", "2", "x"]]).text().splitlines() == [
        "a long title",
        "a          b  c",
        "─  ─────────  ─",
        "1          2  x",
    ]


def test_long_cell_wraps_between_words():
    rows = [["Falcon-512", "897", "a remark of many words, longer than a line"]]
    columns = [Column("name"), Column("bytes", numeric=True), Column("remark")]
    lines = Table(columns=columns, rows=rows).text(width=26).splitlines()
    assert max(map(len, lines)) <= 26
    assert " ".join("\n".join(lines).split()).endswith("a remark of many words, longer than a line")


def test_latex_is_booktabs_in_ascii_with_rules_under_groups():
    text = table(caption="Times_of 5 %").latex()
    assert text.isascii()
    assert text.splitlines() == [
        "% Times_of 5 % [measured]",
        "% Falcon-512: slow",
        r"% needs \usepackage{booktabs}",
        r"\begin{tabular}{llrr}",
        r"\toprule",
        r" & & \multicolumn{2}{c}{time} \\",
        r"\cmidrule(lr){3-4}",
        r"scheme & from & sign & verify \\",
        r"\midrule",
        r"Falcon-512 & avx2 & 200\,\ensuremath{\mu}s & 40.0\,\ensuremath{\mu}s \\",
        r"Falcon-512 & ref & 5.00\,ms & 50.0\,\ensuremath{\mu}s \\",
        r"Dilithium2 & ref & -- & 60.0\,\ensuremath{\mu}s \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_latex_drops_unsupported_accents():
    assert latex.escaped("Gagné, 한국_1") == r"Gagne, ??\_1"


def test_pages_and_papers_state_attacks_on_the_named_schemes():
    """In a cell, a heading or a group of headings; other tables end without such a line."""
    columns = [Column("algorithm"), Column("MAYO-2"), Column("median", "Hawk-512")]
    attacked = Table(columns=columns, rows=[["Rainbow-I-Classic", "x", Shown("OV-Is", "shown")]])
    starts = ("MAYO-2 (round 2): broken", "Hawk-512: broken", "Rainbow-I", "OV-Is (round 2): warn")
    assert [line.startswith(start) for line, start in zip(attacked.cautions, starts, strict=True)]
    for start in starts:
        assert start in str(attacked.html())
    assert "% MAYO-2 (round 2): broken" in attacked.latex()
    # Commands write them to stderr, once for all tables.
    assert "broken" not in attacked.text()
    assert Table(columns=[Column("ML-DSA-44")], rows=[["MAYO-3"]]).cautions == []


def test_records_are_json_with_unformatted_values():
    records = table().records()
    assert records[0] == {
        "algorithm": "Falcon-512", "from": "avx2", "sign_seconds": 0.0002, "verify_seconds": 4e-5,
    }  # fmt: skip
    assert records[2]["sign_seconds"] is None
    json.dumps(records, allow_nan=False)


def test_column_without_a_key_is_named_by_its_headings():
    one = Table(columns=[Column("printed", "public key", True)], rows=[[897]])
    assert one.records() == [{"public key printed": 897}]


def test_html_headings_have_a_scope():
    columns = [Column("name"), Column("a", "group", True), Column("b", "group", True)]
    written = Table(columns=columns, rows=[["x", "1", "2"]], caption="S.", source=("measured",))
    cells = Reader(written.html()).all("th")
    assert [cell["scope"] for cell in cells] == ["colgroup", "col", "col", "col", "row"]
    assert cells[0]["colspan"] == "2"


def test_equal_html_row_headers_are_written_once():
    written = table().html()
    assert written.count("Falcon-512</th>") == 1
    assert '<tr class="remark"><td colspan="4">slow</td></tr>' in written


def test_html_cells_are_escaped_and_may_have_classes():
    rows = [["<b>", Shown(1.0, "one", html.element("i", "1"))]]
    one = Table(columns=[Column("a"), Column("b", numeric=True)], rows=rows)
    assert "&lt;b&gt;" in one.html()
    assert "<i>1</i>" in one.html()
    assert one.text().splitlines()[-1] == "<b>  one"
    assert one.records() == [{"a": "<b>", "b": 1.0}]


def test_verdicts_are_text_in_a_terminal_and_marked_in_html():
    rows = [[verdict("holds"), ours(4e-5)]]
    one = Table(columns=[Column("verdict"), Column("time", numeric=True)], rows=rows)
    assert one.text().splitlines()[-1] == "holds    40.0\u202fµs"
    assert html.badge("holds") in one.html()
    assert '<span class="here">40.0\u202fµs</span>' in one.html()
    assert one.records() == [{"verdict": "holds", "time": 4e-5}]


def test_single_row_header_is_repeated():
    lines = table(row_headers=1).text().splitlines()
    assert [line.partition(" ")[0] for line in lines].count("Falcon-512") == 2
