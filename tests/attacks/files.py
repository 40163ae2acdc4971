"""Attacks on other files: reading a damaged one returns the written data or raises an error."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pqchain import plots, results
from pqchain.bench import comparing, tables, variation
from pqchain.consensus import sweep
from pqchain.costs import CostTable, from_frame
from pqchain.crypto import open_signer
from pqchain.installation import data
from pqchain.reencode.storage.erasure import ReedSolomon
from pqchain.reencode.storage.store import ChunkStore, encode_block
from pqchain.render.notebook import show
from pqchain.results import Contract, checksum
from pqchain.study import provers, reading
from pqchain.works import paper, papers, statements
from pqchain_conform import formats
from pqchain_conform import reading as vector_files
from pqchain_conform.vector import SignatureVector, families
from tests.attacks.harness import Attack, Input, Inputs, Outcome, Try
from tests.attacks.mutations import cells, entries, flips, mutations, texts
from tests.consensus.scenarios import scenario
from tests.frames import PROVENANCE, measurements

Reads = Callable[[], bool]
"""Reads the damaged file; returns whether the content is what was written."""


def all_kinds(data: bytes, rng: random.Random, count: int, *, text: bool) -> Iterator[Input]:
    """Flip bits, damage bytes and, in a text, tokens: a third of the inputs each."""
    share = count // 3 if text else count // 2
    yield from flips(data, range(len(data)), rng, share)
    if text:
        yield from texts(data, rng, share)
    yield from mutations(data, rng, count - share * (2 if text else 1), sector=16)


def file_attack(
    surface: str, prepare: Callable[[Path], tuple[Path, Reads]], *, text: bool = True, **counts: int
) -> Attack:
    """Return the attack on one of the files that `prepare` writes."""

    def prepared(folder: Path) -> tuple[Inputs, Try]:
        path, reads = prepare(folder)
        original = path.read_bytes()

        def attempt(damaged: bytes) -> Outcome:
            path.write_bytes(damaged)
            return Outcome.FINE if reads() else Outcome.WRONG

        return lambda rng, count: all_kinds(original, rng, count, text=text), attempt

    return Attack(surface=surface, name="bits, bytes, words", prepare=prepared, **counts)


MEASURED = Contract.of("attack", ("str", "algorithm"), ("Int64", "runs"), ("float64", "seconds"))


def _results(suffix: str) -> Callable[[Path], tuple[Path, Reads]]:
    def prepare(folder: Path) -> tuple[Path, Reads]:
        rows = [("Falcon-512", 3, 0.5e-4), ("ML-DSA-44", None, float("nan"))]
        frame = MEASURED.frame(rows)
        path = results.save(frame, folder / "a.csv", provenance={"machine_id": "m"})
        honest = results.load(path)

        def reads() -> bool:
            frame = results.load(path)
            pd.testing.assert_frame_equal(frame, honest)
            return frame.attrs == honest.attrs

        return path.with_suffix(suffix), reads

    return prepare


def _sealed(part: str, use: Callable[[Path, Path], object], **counts: int) -> Attack:
    """Return the attack on a table or its sidecar whose checksums are those of the damaged content.

    `use` is what a command does with the table; its second argument is an undamaged one.
    """

    def prepare(folder: Path) -> tuple[Inputs, Try]:
        frame = measurements(["Falcon-512", "ML-DSA-44"])
        frame["algorithm"] = frame["algorithm"].replace("ML-DSA-44", "Mine")
        frame.attrs["provenance"] = PROVENANCE | {"schemes": [_DESCRIBED]}
        path, other = (results.save(frame, folder / name) for name in ("a.csv", "b.csv"))
        sidecar = checksum.loads(path.with_suffix(".json").read_bytes(), "", "")
        table, document = path.read_bytes(), json.dumps(sidecar, indent=2).encode()

        def make(rng: random.Random, count: int) -> Iterator[Input]:
            original, of_values = (table, cells) if part == "table" else (document, entries)
            yield from all_kinds(original, rng, count // 2, text=True)
            yield from of_values(original, rng, count - count // 2)

        def attempt(damaged: bytes) -> Outcome:
            content = damaged
            with suppress(ValueError, RecursionError):  # not JSON: written as it is
                plain = json.loads(damaged) if part == "sidecar" else sidecar
                if part == "table":
                    path.write_bytes(damaged)
                    plain = sidecar | {"csv_sha256": hashlib.sha256(damaged).hexdigest()}
                content = checksum.dumps(plain, allow_nan=True).encode(errors="surrogatepass")
            path.with_suffix(".json").write_bytes(content)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # of numpy, about NaN
                use(path, other)
            return Outcome.FINE

        return make, attempt

    return Attack(
        surface=f"{part} with a right checksum", name=use.__name__.strip("_"), prepare=prepare,
        **counts,
    )  # fmt: skip


_DESCRIBED = {
    "name": "Mine", "kind": "signature", "nist_level": 0, "public_key_bytes": 9,
    "secret_key_bytes": 32, "signature_bytes": 8, "signature_max_bytes": 8, "ciphertext_bytes": 0,
    "shared_secret_bytes": 0, "implementations": ["given"], "source": "given: my own",
}  # fmt: skip


def _compare(path: Path, other: Path) -> None:
    tables.compared_table(comparing.compare_runs([[path], [other]])).text(80)


def _costs(path: Path, other: Path) -> None:
    frame = results.load(path)
    variation.warnings(frame)
    show(frame)
    from_frame(frame)
    results.save(frame, other.with_name("c.csv"))
    pd.testing.assert_frame_equal(results.load(other.with_name("c.csv")), frame)


def _plot(path: Path, other: Path) -> None:
    plots.figure_bytes(plots.plot_speed(results.load(path)), "svg")


def _chunks(name: str) -> Callable[[Path], tuple[Path, Reads]]:
    def prepare(folder: Path) -> tuple[Path, Reads]:
        block = np.random.default_rng(1).bytes(700)
        manifest, chunks = encode_block(block, ReedSolomon(3, 2), epoch=1, members=tuple(range(5)))
        store = ChunkStore(folder / "node")
        store.put(manifest, 2, chunks[2])

        def reads() -> bool:
            (read,) = store.manifests()
            same = read == manifest == store.manifest(manifest.block_hash, 1)
            return same and np.array_equal(store.get(read, 2), chunks[2])

        return folder / "node" / manifest.block_hash / "1" / name, reads

    return prepare


def _sweep(folder: Path) -> tuple[Path, Reads]:
    store, cases = folder / "sweep.csv", [scenario(), scenario(seed=1)]
    honest = sweep(cases, workers=1, store=store)

    def reads() -> bool:
        frame = sweep(cases, workers=1, store=store)
        pd.testing.assert_frame_equal(frame, honest)
        return True

    return store, reads


_USER_SCHEME = """
[[scheme]]
name = "Mine"
public_key_bytes = 1000
signature_bytes = 300
sign_seconds = 1e-3
verify_seconds = 1e-4
source = "my own"
"""


def _plan(name: str, more: str = "") -> Callable[[Path], tuple[Path, Reads]]:
    """Read a plan: every valid plan is fine, because the user writes it."""

    def prepare(folder: Path) -> tuple[Path, Reads]:
        path = folder / "plan.toml"
        path.write_text(reading.ready(name) + more, encoding="utf-8")
        return path, lambda: reading.load(path) is not None

    return prepare


def _prover(folder: Path) -> tuple[Path, Reads]:
    """Read published numbers of a prover: every valid file is fine."""
    path = shutil.copy(data("provers") / "leanmultisig.toml", folder)
    return Path(path), lambda: provers.read(Path(path)).proof_bytes(1000) >= 0


def _secret_key(algorithm: str, implementation: str) -> Callable[[Path], tuple[Path, Reads]]:
    """Sign with a damaged secret key: a signature must be valid."""

    def prepare(folder: Path) -> tuple[Path, Reads]:
        signer = open_signer(algorithm, implementation)
        path = folder / "my.sk"
        public_key, secret_key = signer.generate_keypair()
        path.write_bytes(secret_key)

        def reads() -> bool:
            signature = signer.sign(b"message", path.read_bytes())
            return signer.verify(b"message", signature, public_key)

        return path, reads

    return prepare


def _public_key(algorithm: str, implementation: str) -> Callable[[Path], tuple[Path, Reads]]:
    """Verify with a damaged public key: no signature may be valid."""

    def prepare(folder: Path) -> tuple[Path, Reads]:
        signer = open_signer(algorithm, implementation)
        path = folder / "my.pk"
        public_key, secret_key = signer.generate_keypair()
        signature = signer.sign(b"message", secret_key)
        path.write_bytes(public_key)

        def reads() -> bool:
            key = path.read_bytes()
            return signer.verify(b"message", signature, key) == (key == public_key)

        return path, reads

    return prepare


def _paper(name: str) -> Callable[[Path], tuple[Path, Reads]]:
    """Read the folder of a work: every valid file is fine, because the author writes it."""

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
    """Read external test vectors: every valid file is fine."""

    def prepare(folder: Path) -> tuple[Path, Reads]:
        family, rng = next(iter(families("ml-dsa"))), random.Random(1)
        vectors = [
            SignatureVector(
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
        return path, lambda: all(vector.case for vector in vector_files.read(path)[0].vectors)

    return prepare


ATTACKS = [
    _sealed("sidecar", _compare, small=60, large=4_000),
    _sealed("table", _compare, small=60, large=4_000),
    _sealed("sidecar", _costs, small=60, large=4_000),
    _sealed("table", _costs, small=60, large=4_000),
    _sealed("table", _plot, small=0, large=1_000),
    file_attack("sidecar of results", _results(".json"), small=150, large=10_000),
    file_attack("table of results", _results(".csv"), small=60, large=10_000),
    file_attack("manifest of chunks", _chunks("manifest.json"), small=150, large=10_000),
    file_attack("chunk", _chunks("chunk-2"), text=False, small=60, large=10_000),
    file_attack("store of a sweep", _sweep, small=60, large=10_000),
    file_attack("plan of a study", _plan("pqdpol"), small=40, large=10_000),
    file_attack("plan of a chain", _plan("ethereum", _USER_SCHEME), small=30, large=10_000),
    file_attack("published prover", _prover, small=30, large=10_000),
    file_attack("paper.toml of a work", _paper("paper.toml"), small=15, large=10_000),
    file_attack("claims.toml of a work", _paper("claims.toml"), small=15, large=10_000),
    file_attack("printed table of a work", _paper("table1.csv"), small=15, large=10_000),
    file_attack("vectors of Wycheproof", _vectors("wycheproof"), small=60, large=10_000),
    file_attack("vectors of ACVP", _vectors("acvp"), small=60, large=10_000),
]
ATTACKS += [
    file_attack(f"{kind} key of {algorithm}, {build}", key(algorithm, build), text=False, **counts)
    for algorithm, build, counts in (
        ("Falcon-512", "falcon/kernel", {"small": 40, "large": 20_000}),
        ("Falcon-512", "liboqs-0.13/ref", {"small": 0, "large": 20_000}),
        ("Hawk-512", "hawk/ref", {"small": 60, "large": 10_000}),
        ("BLS12-381", "blst/assembly", {"small": 20, "large": 10_000}),
    )
    for kind, key in (("secret", _secret_key), ("public", _public_key))
    # Another number is another key of BLS, and Hawk's holds a hash of the public key on trust.
    if kind == "public" or algorithm.startswith("Falcon")
]
