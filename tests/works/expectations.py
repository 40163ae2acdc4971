"""Expected contents of each work, cells of its tables, and its text if available."""

import csv
import re
import sys
import unicodedata
from pathlib import Path

from pqchain import installation
from pqchain.works import papers

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXPECTED = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent / "expected").glob("*.toml"))
}

KEYS = list(EXPECTED)
EVERY_TABLE = [(key, name) for key in KEYS for name in EXPECTED[key]["tables"]]


def printed(key: str, name: str) -> list[list[str]]:
    """Return the cells of a CSV file, headings first."""
    path = installation.data("papers") / key / papers.paper(key).tables[name].file
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def cell(key: str, table: str, printed_name: str, quantity: str, implementation: str = ""):
    """Return one number of a paper."""
    (found,) = [
        found
        for found in papers.cells(key)
        if (found.table, found.printed_name, found.quantity, found.implementation)
        == (table, printed_name, quantity, implementation)
    ]
    return found


SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"

WHY = "the texts of the works are not there"


def plain(text: str) -> str:
    """Return a text without white space and layout characters."""
    return re.sub(r"[\s\\]", "", unicodedata.normalize("NFC", text))


def quoted(quote: str, text: str) -> bool:
    """Return whether a plain text contains the parts of a quote in order."""
    at = 0
    for part in quote.split(" ... "):
        at = text.find(plain(part), at)
        if at < 0:
            return False
    return True


def text_of(quotes: dict[str, str]) -> tuple[str, list[str]]:
    """Return the text with most of the quotes, and the keys of the missing ones."""
    lacking = {}
    for file in sorted(SEEDS.glob("*.txt")):
        text = file.read_text(encoding="utf-8")
        missing = [name for name, quote in quotes.items() if not quoted(quote, plain(text))]
        lacking[text] = missing
    return min(lacking.items(), key=lambda found: len(found[1]))


def numbers(text: str) -> list[str]:
    """Return the numbers in a text, thousands separators left out."""
    result = re.findall(r"\d[\d,]*(?:\.\d+)?", text)
    return [number.rstrip(",").replace(",", "") for number in result]
