"""All boundary vectors: made, decided by the oracles, and written."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from tqdm import tqdm

from pqchain import installation, outputs
from pqchain.conform import formats, generators, oracles
from pqchain.conform.vector import ALGORITHMS, Vector
from pqchain.errors import DataError, UnknownName


def known(algorithms: Iterable[str] | None) -> tuple[str, ...]:
    """Return algorithms that have vectors, in our order and in any case of letters, else all.

    Raises UnknownName.
    """
    if algorithms is None:
        return ALGORITHMS
    folded = {name.casefold(): name for name in ALGORITHMS}
    chosen = list(algorithms)
    for name in chosen:
        if name.casefold() not in folded:
            raise UnknownName("algorithm with boundary vectors", name, ALGORITHMS)
    names = {folded[name.casefold()] for name in chosen}
    return tuple(name for name in ALGORITHMS if name in names)


def vectors(
    algorithms: Iterable[str] | None = None, *, progress: bool = False
) -> tuple[Vector, ...]:
    """Return the vectors of these algorithms, or of all, on which the oracles agree.

    Takes half a minute for all. Raises UnknownName; Unsupported without the portable build;
    DataError if the oracles differ.
    """
    names = tqdm(known(algorithms), desc="vectors", disable=not progress)
    return tuple(each for name in names for each in _decided(name))


@cache
def _decided(algorithm: str) -> tuple[Vector, ...]:
    return oracles.decided(generators.generate(algorithm), algorithm)


def digests() -> Mapping[str, str]:
    """Return the SHA-256 that each file of vectors has to have, by its name."""
    path = installation.data("conform") / "digests.json"
    try:
        found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}; restore the file") from error
    return found


def write(made: Sequence[Vector], folder: Path) -> dict[str, str]:
    """Write both files of every algorithm, and the schemas; return the digests by name.

    Files of other algorithms stay. Raises UsageError as `pqchain.outputs.claim` does.
    """
    written = {}
    with outputs.filled(folder, keep=True) as building:
        for name, text in formats.files(made):
            path = building / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            written[name] = hashlib.sha256(text.encode()).hexdigest()
        for schema in sorted(installation.data("conform").glob("*.schema.json")):
            shutil.copyfile(schema, building / schema.name)
    return written
