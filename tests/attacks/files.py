"""Every other file that the toolkit reads, damaged: what was written comes back, or an error."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pqchain import results
from pqchain.conform import formats
from pqchain.conform.vector import Vector, families
from pqchain.consensus import sweep
from pqchain.costs import CostTable
from pqchain.installation import data
from pqchain.reencode.storage.erasure import ReedSolomon
from pqchain.reencode.storage.store import ChunkStore, encode_block
from pqchain.results import Contract
from pqchain.study import reading
from pqchain.works import paper, papers, statements
from tests.attacks.harness import Attack, Input, Inputs, Outcome, Try
from tests.attacks.mutations import flips, mutations, texts
from tests.consensus.scenarios import scenario

Reads = Callable[[], bool]
"""Reads the damaged file; whether what it says is what was written."""


def all_kinds(data: bytes, rng: random.Random, count: int, *, text: bool) -> Iterator[Input]:
    """Flip bits, damage bytes and, where it is a text, words: a third of the inputs each."""
    share = count // 3 if text else count // 2
    yield from flips(data, range(len(data)), rng, share)
    if text:
        yield from texts(data, rng, share)
    yield from mutations(data, rng, count - share * (2 if text else 1), sector=16)


def file_attack(
    surface: str, prepare: Callable[[Path], tuple[Path, Reads]], *, text: bool = True, **counts: int
) -> Attack:
    """Return the attack on one file of those that `prepare` writes."""

    def prepared(folder: Path) -> tuple[Inputs, Try]:
        path, reads = prepare(folder)
        whole = path.read_bytes()

        def attempt(damaged: bytes) -> Outcome:
            path.write_bytes(damaged)
            return Outcome.FINE if reads() else Outcome.WRONG

        return lambda rng, count: all_kinds(whole, rng, count, text=text), attempt

    return Attack(surface=surface, name="bits, bytes, words", prepare=prepared, **counts)


MEASURED = Contract.of("attack", ("str", "algorithm"), ("Int64", "runs"), ("float64", "seconds"))


def _results(suffix: str) -> Callable[[Path], tuple[Path, Reads]]:
    def prepare(folder: Path) -> tuple[Path, Reads]:
        rows = [("Falcon-512", 3, 0.5e-4), ("ML-DSA-44", None, float("nan"))]
        frame = MEASURED.frame(rows)
        path = results.save(frame, folder / "a.csv", provenance={"machine_id": "m", "runs": [1]})
        honest = results.load(path)

        def reads() -> bool:
            frame = results.load(path)
            pd.testing.assert_frame_equal(frame, honest)
            return frame.attrs == honest.attrs

        return path.with_suffix(suffix), reads

    return prepare


def _chunks(name: str) -> Callable[[Path], tuple[Path, Reads]]:
    def prepare(folder: Path) -> tuple[Path, Reads]:
        block = np.random.default_rng(1).bytes(700)
        manifest, chunks = encode_block(block, ReedSolomon(3, 2), epoch=1, members=tuple(range(5)))
        store = ChunkStore(folder / "node")
        store.put(manifest, 2, chunks[2])

        def reads() -> bool:
            (found,) = store.manifests()
            same = found == manifest == store.manifest(manifest.block_hash, 1)
            return same and np.array_equal(store.get(found, 2), chunks[2])

        return folder / "node" / manifest.block_hash / "1" / name, reads

    return prepare


def _sweep(folder: Path) -> tuple[Path, Reads]:
    store, cases = folder / "sweep.jsonl", [scenario(), scenario(seed=1)]
    honest = sweep(cases, workers=1, store=store)

    def reads() -> bool:
        frame = sweep(cases, workers=1, store=store)
        pd.testing.assert_frame_equal(frame, honest)
        return True

    return store, reads


def _plan(folder: Path) -> tuple[Path, Reads]:
    """A plan is the user's own: whatever is a plan is fine."""
    path = folder / "plan.toml"
    path.write_text(reading.ready("pqdpol"), encoding="utf-8")
    return path, lambda: reading.load(path) is not None


def _paper(name: str) -> Callable[[Path], tuple[Path, Reads]]:
    """A folder of a work is its author's own: whatever keeps the layout is fine."""

    def prepare(folder: Path) -> tuple[Path, Reads]:
        copy = shutil.copytree(data("papers") / "falcon-hls", folder / "falcon-hls")

        def reads() -> bool:
            source = paper.read(copy)
            papers.published(source)
            for table in source.tables:
                papers.table(source, table)
            statements.read(copy)
            return isinstance(papers._costs(source, ""), CostTable)

        return copy / name, reads

    return prepare


def _vectors(form: str) -> Callable[[Path], tuple[Path, Reads]]:
    """Vectors of somebody else: whatever is of the form is fine, and is asked as it stands."""

    def prepare(folder: Path) -> tuple[Path, Reads]:
        family, rng = next(iter(families("ml-dsa"))), random.Random(1)
        vectors = [
            Vector(
                algorithm="ML-DSA-44",
                family=family,
                key="honest",
                probe=f"probe {number}",
                expected=expected,
                public_key=rng.randbytes(40),
                message=b"message",
                signature=rng.randbytes(50),
                number=number,
            )
            for number, expected in enumerate(("valid", "invalid", "invalid"), 1)
        ]
        path = folder / "vectors.json"
        make: Any = getattr(formats, form)
        path.write_text(formats.text(make(vectors)), encoding="utf-8")
        return path, lambda: all(vector.case for vector in formats.read(path))

    return prepare


ATTACKS = [
    file_attack("sidecar of results", _results(".json"), small=150, large=10_000),
    file_attack("table of results", _results(".csv"), small=60, large=10_000),
    file_attack("manifest of chunks", _chunks("manifest.json"), small=150, large=10_000),
    file_attack("chunk", _chunks("chunk-2"), text=False, small=60, large=10_000),
    file_attack("store of a sweep", _sweep, small=60, large=10_000),
    file_attack("plan of a study", _plan, small=100, large=10_000),
    file_attack("paper.toml of a work", _paper("paper.toml"), small=15, large=10_000),
    file_attack("claims.toml of a work", _paper("claims.toml"), small=15, large=10_000),
    file_attack("printed table of a work", _paper("table1.csv"), small=15, large=10_000),
    file_attack("vectors of Wycheproof", _vectors("wycheproof"), small=60, large=10_000),
    file_attack("vectors of ACVP", _vectors("acvp"), small=60, large=10_000),
]
