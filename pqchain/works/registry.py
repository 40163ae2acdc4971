"""The published works in the order of the report; only this module imports the code of works."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from pqchain.works import papers
from pqchain.works.work import Work


def get(key: str) -> Work:
    """Return a work by its key. Raises UnknownPaper."""
    source = papers.paper(key)
    package = source.key.replace("-", "_")
    # A work without code of its own is complete: its tables and statements are data.
    if not (Path(__file__).parent / package / "work.py").is_file():
        return Work(source.folder)
    module = import_module(f"pqchain.works.{package}.work")
    classes = (item for item in vars(module).values() if isinstance(item, type))
    [work] = (item for item in classes if issubclass(item, Work) and item.key == source.key)
    return work(source.folder)


def works() -> list[Work]:
    """Return all works in the order of the report; those that are reproduced most come first."""
    return sorted(map(get, papers.keys()), key=lambda work: (work.paper.place, work.key))
