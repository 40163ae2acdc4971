"""Every build of pqchain is correct on the boundary vectors.

Honest signatures never come near these boundaries: known-answer tests pass with a verifier that
does not check the bound on z at all, such as the uncorrected AVX2 code of liboqs 0.13.0.
"""

import shutil
import subprocess
from functools import cache, partial
from pathlib import Path

import pytest

from packages.conform.tests import fuzz
from pqchain import algorithms
from pqchain.crypto import native
from pqchain_conform import implementations, oracles
from pqchain_conform.generators import generate, ml_dsa
from pqchain_conform.models import falcon, ml_kem, slh_dsa
from pqchain_conform.models import ml_dsa as ml_dsa_model
from pqchain_conform.models.ml_dsa import PARAMETER_SETS
from pqchain_conform.vector import ALGORITHMS, Vector, scheme
from tests.crypto.builds import IMPLEMENTATIONS, ROUND3_BUILDS, need

FALCON = ("Falcon-512", "Falcon-padded-512")

KEMS = tuple(ml_kem.PARAMETER_SETS)

QUICK = ("SLH-DSA-SHA2-128s", "SLH-DSA-SHAKE-128f")
LONG = pytest.mark.long

MIDDLE = ("ML-DSA-65", "Dilithium3")
"""Sets between the smallest and the largest, in `make test-long`."""


@cache
def vectors(name: str) -> tuple[Vector, ...]:
    """Return the vectors that the specification decides.

    For ML-DSA only those under crafted keys, which take a second; `make conform` uses all.
    """
    generated = ml_dsa.collect(name) if name in PARAMETER_SETS else generate(name)
    return tuple(vector for vector in generated if vector.expected != "acceptable")


def misjudged(name: str, accepts) -> list[str]:
    """Return descriptions of the wrong verdicts of a function of vectors."""
    return [
        f"{'rejects' if vector.expected == 'valid' else 'accepts'} {vector.probe}"
        for vector in vectors(name)
        if accepts(vector) != (vector.expected == "valid")
    ]


@pytest.mark.native
@pytest.mark.parametrize(
    ("name", "implementation"),
    [
        *(
            pytest.param(name, build, marks=LONG if name in MIDDLE else [])
            for name in PARAMETER_SETS
            for build in IMPLEMENTATIONS
        ),
        *(("Dilithium2", build) for build in ROUND3_BUILDS),
        *((name, build) for name in FALCON for build in (*IMPLEMENTATIONS, "falcon/kernel")),
        *((name, build) for name in KEMS for build in IMPLEMENTATIONS),
        *(
            pytest.param(name, f"slhdsa/{build}", marks=[] if name in QUICK else LONG)
            for name in ALGORITHMS
            if scheme(name) == "slh-dsa"
            for build in ("sha-ni", "avx2", "ref")
            if build != "sha-ni" or "SHA2" in name
        ),
    ],
)
def test_verification_is_exact_at_every_boundary(name, implementation):
    need(implementation, name)
    assert misjudged(name, partial(implementations.accepts, implementation)) == []


@pytest.mark.native
@pytest.mark.parametrize(
    ("name", "implementation"),
    [
        ("ML-DSA-44", "pqcp/avx2"),
        ("ML-DSA-44", "pqcp/avx512"),
        pytest.param("ML-DSA-65", "pqcp/avx2", marks=LONG),
        pytest.param("ML-DSA-65", "pqcp/avx512", marks=LONG),
        pytest.param("ML-DSA-87", "pqcp/avx2", marks=LONG),
        ("Falcon-512", "fn-dsa/avx2"),
        ("Falcon-padded-512", "fn-dsa/avx2"),
        pytest.param("Falcon-1024", "fn-dsa/avx2", marks=LONG),
        ("SLH-DSA-SHA2-128s", "slhdsa/sha-ni"),
        ("SLH-DSA-SHAKE-128f", "slhdsa/avx2"),
    ],
)
def test_batches_are_exact_at_every_boundary(name, implementation):
    need(implementation, name)
    in_batch = implementation + implementations.IN_BATCH
    assert misjudged(name, partial(implementations.accepts, in_batch)) == []


@pytest.mark.parametrize("name", ["ML-DSA-65", "ML-DSA-87", "Dilithium2"])
def test_model_gives_the_expected_verdicts(name):
    model = oracles.model(name)
    assert misjudged(name, lambda vector: model.verify(*vector.case)) == []
    verdicts = [vector.expected for vector in vectors(name)]
    assert min(verdicts.count("valid"), verdicts.count("invalid")) > 100


@pytest.mark.parametrize("scheme", [falcon, ml_dsa_model, ml_kem, slh_dsa])
def test_lengths_of_the_models_are_those_of_the_registry(scheme):
    names = ("public_key_bytes", "signature_max_bytes")
    if scheme is ml_kem:
        names = ("public_key_bytes", "secret_key_bytes", "ciphertext_bytes")
    for name, p in scheme.PARAMETER_SETS.items():
        if scheme is ml_kem:
            lengths = [p.encapsulation_key_bytes, p.decapsulation_key_bytes, p.ciphertext_bytes]
        elif scheme is falcon:
            lengths = [p.public_key_bytes, *([p.padded_bytes] if p.padded else [])]
        else:
            lengths = [p.public_key_bytes, p.signature_bytes]
        row = algorithms.get(name)
        assert lengths == [getattr(row, name) for name in names[: len(lengths)]]


SANITIZE = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    """Return the driver, compiled with the sanitizers."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to build the driver with")
    built = tmp_path_factory.mktemp("fuzz") / "conform-fuzz"
    source = Path(fuzz.__file__).with_suffix(".c")
    subprocess.run(
        [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", *SANITIZE, "-o", built, source],
        check=True,
    )
    return built


def shipped(implementations) -> list[Path | None]:
    """Return the files of these builds as packaged."""
    return [native.built_library(row) for row in fuzz.runnable(implementations)]


@pytest.mark.native
@pytest.mark.parametrize(
    ("algorithm", "implementations"), [("ML-DSA-44", fuzz.ML_DSA), ("Falcon-512", fuzz.FALCON)]
)
def test_builds_agree_on_damaged_vectors(program, algorithm, implementations):
    process = fuzz.fuzz(program, 2000, algorithm, shipped(implementations))
    assert (process.returncode, process.stderr) == (0, "")
    accepted, rejected = (int(word) for word in process.stdout.split()[::2])
    assert accepted + rejected == 2000
    assert accepted > 50
    assert rejected > 1000


@pytest.mark.native
def test_differing_builds_are_detected(program):
    """Round-2 Falcon has a larger norm bound."""
    libraries = shipped(["liboqs-0.13/ref", "liboqs-0.7.1/ref"])
    process = fuzz.fuzz(program, 2000, "Falcon-512", libraries)
    assert process.returncode == 1
    assert f"{libraries[0]} says 1, {libraries[1]} says 0" in process.stdout
