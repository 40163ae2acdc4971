"""Attacks on other files: reading a damaged one returns the written data or raises an error."""

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
from pqchain.costs import CostTable, from_frame
from pqchain.crypto import open_signer
from pqchain.installation import data
from pqchain.reencode.storage.erasure import ReedSolomon
from pqchain.reencode.storage.store import ChunkStore, encode_block
from pqchain.render.notebook import show
from pqchain.results import Contract, checksum
from pqchain.study import files as plans
from pqchain.study import provers
from pqchain.works import paper, papers
from pqchain_conform import formats
from pqchain_conform import reading as vector_files
from pqchain_conform.vector import SignatureVector, families
from tests.attacks.harness import Attack, Input, Inputs, Outcome, Try
from tests.attacks.mutations import cells, entries, flips, mutations, texts
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


def file_attack(surface, small, large, prepare, *arguments: str, text=True):
    """Return the attack on one of the files that `prepare` writes."""

    def prepared(folder: Path) -> tuple[Inputs, Try]:
        path, reads = prepare(folder, *arguments)
        original = path.read_bytes()

        def attempt(damaged: bytes) -> Outcome:
            path.write_bytes(damaged)
            return Outcome.FINE if reads() else Outcome.WRONG

        return lambda rng, count: all_kinds(original, rng, count, text=text), attempt

    return Attack(surface, "bits, bytes, words", small, large, prepared)


MEASURED = Contract.of("attack", ("str", "algorithm"), ("Int64", "runs"), ("float64", "seconds"))


def _results(folder: Path, suffix: str) -> tuple[Path, Reads]:
    rows = [("Falcon-512", 3, 0.5e-4), ("ML-DSA-44", None, float("nan"))]
    path = results.save(MEASURED.frame(rows), folder / "a.csv", provenance={"machine_id": "m"})
    honest = results.load(path)

    def reads() -> bool:
        frame = results.load(path)
        pd.testing.assert_frame_equal(frame, honest)
        return frame.attrs == honest.attrs

    return path.with_suffix(suffix), reads


def _sealed(part: str, small: int, large: int, use: Callable[[Path, Path], object]) -> Attack:
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

    name = use.__name__.strip("_")
    return Attack(f"{part} with a right checksum", name, small, large, prepare)


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


def _chunks(folder: Path, name: str) -> tuple[Path, Reads]:
    block = np.random.default_rng(1).bytes(700)
    manifest, chunks = encode_block(block, ReedSolomon(3, 2), epoch=1, members=tuple(range(5)))
    store = ChunkStore(folder / "node")
    store.put(manifest, 2, chunks[2])

    def reads() -> bool:
        (read,) = store.manifests()
        same = read == manifest == store.manifest(manifest.block_hash, 1)
        return same and np.array_equal(store.get(read, 2), chunks[2])

    return folder / "node" / manifest.block_hash / "1" / name, reads


_USER_SCHEME = """
[[scheme]]
name = "Mine"
public_key_bytes = 1000
signature_bytes = 300
sign_seconds = 1e-3
verify_seconds = 1e-4
source = "my own"
"""


def _plan(folder: Path, name: str, more: str = "") -> tuple[Path, Reads]:
    """Read a plan: every valid plan is fine, because the user writes it."""
    path = folder / "plan.toml"
    path.write_text(plans.ready(name) + more, encoding="utf-8")
    return path, lambda: plans.load(path) is not None


def _prover(folder: Path) -> tuple[Path, Reads]:
    """Read published numbers of a prover: every valid file is fine."""
    path = shutil.copy(data("provers") / "leanmultisig.toml", folder)
    return Path(path), lambda: provers.read(Path(path)).proof_bytes(1000) >= 0


def _key(folder: Path, algorithm: str, implementation: str, kind: str) -> tuple[Path, Reads]:
    """Use a damaged key: a signature must be valid, and none is valid for another public key."""
    signer = open_signer(algorithm, implementation)
    public_key, secret_key = signer.generate_keypair()
    signature = signer.sign(b"message", secret_key)
    path = folder / "key"
    path.write_bytes(secret_key if kind == "secret" else public_key)

    def reads() -> bool:
        key = path.read_bytes()
        if kind == "secret":
            return signer.verify(b"message", signer.sign(b"message", key), public_key)
        return signer.verify(b"message", signature, key) == (key == public_key)

    return path, reads


def _paper(folder: Path, name: str) -> tuple[Path, Reads]:
    """Read the folder of a work: every valid file is fine, because the author writes it."""
    copy = shutil.copytree(data("papers") / "falcon-hls", folder / "falcon-hls")

    def reads() -> bool:
        source = paper.read(copy)
        papers.published(source)
        for table in source.tables:
            papers.table(source, table)
        paper.read_statements(copy)
        return isinstance(papers._costs(source, ""), CostTable)

    return copy / name, reads


def _vectors(folder: Path, form: str) -> tuple[Path, Reads]:
    """Read external test vectors: every valid file is fine."""
    family, rng = next(iter(families("ml-dsa"))), random.Random(1)
    vectors = [
        SignatureVector(
            algorithm="ML-DSA-44", family=family, key="honest", probe=f"probe {number}",
            expected=expected, public_key=rng.randbytes(40), message=b"message",
            signature=rng.randbytes(50), number=number,
        )
        for number, expected in enumerate(("valid", "invalid", "invalid"), 1)
    ]  # fmt: skip
    path = folder / "vectors.json"
    make: Any = getattr(formats, form)
    path.write_text(formats.text(make(vectors)), encoding="utf-8")
    return path, lambda: all(vector.case for vector in vector_files.read(path)[0].vectors)


ATTACKS = [
    _sealed("sidecar", 60, 4_000, _compare),
    _sealed("table", 60, 4_000, _compare),
    _sealed("sidecar", 60, 4_000, _costs),
    _sealed("table", 60, 4_000, _costs),
    _sealed("table", 0, 1_000, _plot),
    file_attack("sidecar of results", 150, 10_000, _results, ".json"),
    file_attack("table of results", 60, 10_000, _results, ".csv"),
    file_attack("manifest of chunks", 150, 10_000, _chunks, "manifest.json"),
    file_attack("chunk", 60, 10_000, _chunks, "chunk-2", text=False),
    file_attack("plan of a study", 40, 10_000, _plan, "pqdpol"),
    file_attack("plan of a chain", 30, 10_000, _plan, "ethereum", _USER_SCHEME),
    file_attack("published prover", 30, 10_000, _prover),
    file_attack("paper.toml of a work", 15, 10_000, _paper, "paper.toml"),
    file_attack("claims.toml of a work", 15, 10_000, _paper, "claims.toml"),
    file_attack("printed table of a work", 15, 10_000, _paper, "table1.csv"),
    file_attack("vectors of Wycheproof", 60, 10_000, _vectors, "wycheproof"),
    file_attack("vectors of ACVP", 60, 10_000, _vectors, "acvp"),
]
ATTACKS += [
    file_attack(f"{kind} key of {name}, {build}", small, large, _key, name, build, kind, text=False)
    for name, build, small, large in (
        ("Falcon-512", "falcon/kernel", 40, 20_000),
        ("Falcon-512", "liboqs-0.13/ref", 0, 20_000),
        ("Hawk-512", "hawk/ref", 60, 10_000),
        ("BLS12-381", "blst/assembly", 20, 10_000),
    )
    for kind in ("secret", "public")
    # Another number is another key of BLS, and Hawk's holds a hash of the public key on trust.
    if kind == "public" or name.startswith("Falcon")
]
