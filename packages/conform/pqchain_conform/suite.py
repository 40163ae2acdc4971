"""The suite of boundary vectors: generation, check against the oracles, and files."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from tqdm import tqdm

from pqchain.errors import DataError, UnknownName
from pqchain.results import outputs
from pqchain_conform import formats, generators, oracles
from pqchain_conform.vector import ALGORITHMS, DATA, Vector


def known(algorithms: Iterable[str] | None, among: tuple[str, ...] = ALGORITHMS) -> tuple[str, ...]:
    """Return the named algorithms, or all for None, in display order. Raises UnknownName."""
    if algorithms is None:
        return among
    folded = {name.casefold(): name for name in among}
    chosen = list(algorithms)
    for name in chosen:
        if name.casefold() not in folded:
            raise UnknownName("algorithm with boundary vectors", name, among)
    names = {folded[name.casefold()] for name in chosen}
    return tuple(name for name in among if name in names)


def vectors(
    algorithms: Iterable[str] | None = None, *, progress: bool = False
) -> tuple[Vector, ...]:
    """Return the vectors of these algorithms, or of all for None, checked against the oracles.

    Takes a minute or two for all. Raises UnknownName for an algorithm without vectors, Unsupported
    without the portable build, and InvalidResult if the oracles disagree.
    """
    names = tqdm(known(algorithms), desc="vectors", disable=not progress)
    return tuple(vector for name in names for vector in _decided(name))


@cache
def _decided(algorithm: str) -> tuple[Vector, ...]:
    return oracles.decided(generators.generate(algorithm), algorithm)


def digests() -> Mapping[str, str]:
    """Return the expected SHA-256 of each vector file, by file name. Raises DataError."""
    path = DATA / "digests.json"
    try:
        names: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}. Restore the file.") from error
    return names


def write(vectors: Sequence[Vector], folder: Path) -> dict[str, str]:
    """Write all vector files and their schemas; return SHA-256 digests by file name.

    Files of other algorithms are kept. Raises UsageError as `pqchain.results.outputs.claim` does.
    """
    written = {}
    with outputs.staged(folder, keep=True) as building:
        for name, text in formats.files(vectors):
            path = building / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            written[name] = hashlib.sha256(text.encode()).hexdigest()
        for schema in sorted(DATA.glob("*.schema.json")):
            shutil.copyfile(schema, building / schema.name)
    return written
