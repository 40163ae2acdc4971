"""Bibliographic references of pqchain and of the published works, as text and as BibTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pqchain.installation import VERSION
from pqchain.render.latex import escaped
from pqchain.works import papers

SOFTWARE: dict[str, Any] = {
    "key": "pqchain",
    "type": "software",
    "title": "pqchain: post-quantum cryptography in blockchains, measured, modelled and compared",
    "authors": ["pqchain contributors"],
    "venue": "",
    "year": "2026",
    "pages": "",
    "doi": "",
    "url": "",
    "note": f"version {VERSION}",
}
"""The reference of this software; a test compares it with CITATION.cff."""


def entries(key: str | None = None) -> list[dict[str, Any]]:
    """Return the reference of a work, or those of pqchain and all works. Raises UnknownPaper."""
    works = map(_of_work, papers.keys() if key is None else [key])
    return [*[SOFTWARE] * (key is None), *works]


def _of_work(key: str) -> dict[str, Any]:
    paper = papers.paper(key)
    fields = {name: getattr(paper, name) for name in ("title", "venue", "pages", "doi", "url")}
    fields |= {"year": str(paper.year), "authors": list(paper.authors)}
    return {"key": paper.key, "type": "work", **fields, "note": paper.title_note}


def bibtex(entry: dict[str, Any]) -> str:
    """Return a reference as a BibTeX entry for any LaTeX engine; Korean words are left out.

    >>> print(bibtex(SOFTWARE).splitlines()[0])
    @misc{pqchain,
    """
    # In the proceedings of a conference pages are numbered.
    kind, venue = ("inproceedings", "booktitle") if entry["pages"] else ("misc", "howpublished")
    years = re.findall(r"\b\d{4}\b", entry["year"])
    if len(years) > 1:
        entry = entry | {"note": f"{entry['year']}. {entry['note']}".strip()}
    fields = {
        "author": " and ".join(_names(entry["authors"])),
        "title": f"{{{_latin(entry['title'])}}}",
        venue: _latin(entry["venue"]),
        "year": years[0] if years else "",
        "pages": entry["pages"].rstrip("-\N{EN DASH}"),
        "doi": entry["doi"],
        "url": entry["url"],
        "note": _latin(entry["note"]),
    }
    written = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{entry['key']},", *written, "}"])


def _names(authors: Sequence[str]) -> list[str]:
    # BibTeX takes the last word of an unbraced name for the family name.
    collective = set(SOFTWARE["authors"])
    return [f"{{{name}}}" if name in collective else _latin(name).strip("()") for name in authors]


def _latin(text: str) -> str:
    kept = re.sub(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]+", "", text)
    kept = re.sub(r"\(\s*[,;]?\s*\)|\s+(?=[,.)])", "", " ".join(kept.split()))
    return escaped(re.sub(r",[\d ]+$", "", kept).strip(" ,"))
