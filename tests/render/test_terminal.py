"""Tables and texts in a terminal: every word whole, nothing wider than the terminal, colours."""

from hypothesis import given
from hypothesis import strategies as st

from pqchain.figures import NARROW_SPACE
from pqchain.render import terminal
from pqchain.render.table import Column

WORDS = (
    "alpha", "be", f"1.23{NARROW_SPACE}ms", "Falcon-512", "(0.000878", "SPHINCS+-SHA2-128f-simple",
    "x", "한국어",
)  # fmt: skip
LONGEST = max(map(terminal.display_width, WORDS))

cells = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Column], list[list[str]], int]:
    """Return columns, rows and the width of a terminal that a few words fit in."""
    count = draw(st.integers(1, 8))
    columns = [
        Column(
            draw(st.sampled_from(WORDS)),
            group=draw(st.sampled_from(["", "", "time of a run"])),
            numeric=draw(st.booleans()),
        )
        for _ in range(count)
    ]
    rows = draw(st.lists(st.lists(cells, min_size=count, max_size=count), min_size=1, max_size=4))
    return columns, rows, draw(st.integers(3 * LONGEST, 130))


@given(tables())
def test_no_word_is_cut_and_no_line_is_wider_than_the_terminal(drawn) -> None:
    columns, rows, width = drawn
    text = terminal.layout(columns, rows, width)
    assert max(map(terminal.display_width, text.splitlines())) <= width
    written = set(text.replace("\n", " ").split(" "))
    assert {word for row in rows for cell in row for word in cell.split(" ") if word} <= written


def test_the_widest_column_wraps_first() -> None:
    columns = [Column("a"), Column("remark")]
    text = terminal.layout(columns, [["x", "one two three four five"]], 18)
    assert text.splitlines() == ["a  remark", "─  " + 15 * "─", "x  one two three", "   four five"]
    columns = [Column("a"), Column("two words", "time", True), Column("b")]
    lines = terminal.layout(columns, [["x", "1", "y"]], 11).splitlines()
    assert lines == ["   time", "     two", "a  words  b", "─  ─────  ─", "x      1  y"]


def test_a_continued_table_repeats_what_identifies_a_row_and_its_group() -> None:
    columns = [Column("scheme"), *(Column(x, "time", True) for x in "ab")]
    first, second = terminal.layout(columns, [["Falcon", 9 * "1", 9 * "2"]], 20).split("\n\n")
    assert first.splitlines()[0].split() == second.splitlines()[0].split() == ["time"]
    assert first.splitlines()[-1].split() == ["Falcon", 9 * "1"]
    assert second.splitlines()[-1].split() == ["Falcon", 9 * "2"]


def test_texts_wrap_between_words_under_their_column() -> None:
    line = "  ok  liboqs-0.13/avx2      30 algorithms, GNU 12.2.0; ML-DSA-44 signs and verifies"
    wrapped = terminal.wrapped(line, 60).splitlines()
    assert max(map(len, wrapped)) <= 60
    assert wrapped[1].startswith(28 * " ") and not wrapped[1].startswith(29 * " ")
    assert " ".join(" ".join(wrapped).split()) == " ".join(line.split())
    assert terminal.wrapped("- a b c d e f g h i j k l m", 20).splitlines()[1].startswith("  j")
    assert terminal.wrapped("\nx\n", 80) == "\nx"
