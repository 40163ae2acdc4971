"""Texts of the works, if available, compared without white space and punctuation."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

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
