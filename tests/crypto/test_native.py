"""The C interface: its algorithms, sizes, errors, and use by threads."""

import dataclasses
from pathlib import Path

import pytest

from pqchain import algorithms, errors, installation
from pqchain.crypto import native, open_kem, open_signer, unavailable_reason
from pqchain.results import machine

BUILDS = ("liboqs-0.13/avx2", "liboqs-0.13/ref")
ROUND3_BUILDS = ("liboqs-0.7.1/avx2", "liboqs-0.7.1/ref")


@pytest.fixture(params=(*BUILDS, *ROUND3_BUILDS))
def any_build(request: pytest.FixtureRequest) -> str:
    if reason := unavailable_reason(request.param):
        pytest.skip(reason)
    return str(request.param)


@pytest.fixture(params=BUILDS)
def build(request: pytest.FixtureRequest) -> str:
    if reason := unavailable_reason(request.param):
        pytest.skip(reason)
    return str(request.param)


def test_library_has_exactly_the_registry_algorithms(any_build: str) -> None:
    library = native.library(any_build)
    everything = library.build_facts()["algorithms"] == "all"
    promised = [
        name
        for name in algorithms.names(everything=everything)
        if any_build in algorithms.get(name).implementations
    ]
    assert sorted(library.names()) == sorted(promised)


def test_library_sizes_equal_the_registry(any_build: str) -> None:
    library = native.library(any_build)
    for name in library.names():
        row = algorithms.get(name).sized_for(any_build)
        stated = library.sizes(name)
        assert stated == {
            "kind": 1 if row.kind == "signature" else 2,
            "nist_level": row.nist_level,
            "public_key_bytes": row.public_key_bytes,
            "secret_key_bytes": row.secret_key_bytes,
            "signature_max_bytes": row.signature_max_bytes,
            "ciphertext_bytes": row.ciphertext_bytes,
            "shared_secret_bytes": row.shared_secret_bytes,
            "context": int(row.family_facts.context_bytes > 0),
        }, name


@pytest.mark.parametrize(
    ("name", "builds"),
    [("Falcon-512", BUILDS), ("Falcon-1024", BUILDS), ("Falcon-512", ROUND3_BUILDS)],
)
def test_nominal_signature_length_is_the_mean(name: str, builds: tuple[str, str]) -> None:
    build = next((b for b in builds if not unavailable_reason(b)), None)
    if build is None:
        pytest.skip("no native library")
    signer = open_signer(name, build)
    _, secret_key = signer.generate_keypair()
    lengths = [len(signer.sign(b"%d" % i, secret_key)) for i in range(150)]
    # The standard deviation is about 2.3 bytes, that of a mean of 150 is 0.2.
    assert sum(lengths) / len(lengths) == pytest.approx(signer.algorithm.signature_bytes, abs=1.5)
    assert max(lengths) <= signer.algorithm.signature_max_bytes


def test_unknown_scheme_says_how_to_get_it(build: str) -> None:
    with pytest.raises(errors.Unsupported, match="PQCHAIN_ALGORITHMS=all"):
        native.library(build).scheme("No-Such-Scheme")


def test_missing_avx2_is_reported_as_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cpu_flags", lambda: frozenset({"popcnt"}))
    assert unavailable_reason("liboqs-0.13/avx2") == (
        "this processor lacks avx2, bmi2, which liboqs-0.13/avx2 needs"
    )
    with pytest.raises(errors.Unsupported, match="lacks avx2, bmi2"):
        open_signer("ML-DSA-44", "liboqs-0.13/avx2")


def test_missing_library_is_reported_with_its_reason(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(installation, "folders", lambda: [tmp_path])
    assert "is not installed: build it with `make`" in unavailable_reason("liboqs-0.13/ref")
    place = tmp_path / "_native" / "liboqs-0.13-ref" / "reason.txt"
    place.parent.mkdir(parents=True)
    place.write_text("it was built with PQCHAIN_LIBOQS=off\n", encoding="utf-8")
    told = r"not installed \(it was built with PQCHAIN_LIBOQS=off\)"
    with pytest.raises(errors.NativeLibraryMissing, match=told):
        native.library("liboqs-0.13/ref")


def test_foreign_library_is_rejected(tmp_path: Path) -> None:
    libc = next(iter(Path("/lib").glob("*/libc.so.6")), None) or Path("/lib64/libc.so.6")
    if not libc.exists():
        pytest.skip("no libc.so.6 where this test looks")
    with pytest.raises(
        errors.NativeLibraryBroken, match=r"pqchain, version 5; .* Compile it as `pqchain"
    ):
        native.Library(libc)


def test_measure_fills_every_sample(build: str) -> None:
    plan = native.TimingPlan(operation=2, warmup=2, samples=5, minimum=5, pool=2, message_bytes=3)
    nanoseconds, cycles = native.library(build).measure("Dilithium2", plan)
    assert len(nanoseconds) == len(cycles) == 7
    assert all(value > 0 for value in nanoseconds)


def test_measure_stops_at_the_limit_but_not_before_the_minimum(build: str) -> None:
    plan = native.TimingPlan(
        operation=0, warmup=1, samples=100_000, minimum=2, limit_ns=1, pool=1, message_bytes=0
    )
    nanoseconds, _ = native.library(build).measure("ML-KEM-512", plan)
    assert len(nanoseconds) == 3


def test_measure_rejects_operations_of_the_other_kind(build: str) -> None:
    plan = native.TimingPlan(operation=3, samples=1, pool=1)
    with pytest.raises(errors.CryptoFailure, match="no such operation"):
        native.library(build).measure("ML-DSA-44", plan)


def test_missing_scheme_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        errors.Unsupported, match="implementation of ML-DSA-44 must be one of liboqs"
    ):
        open_signer("ML-DSA-44", "coincurve/libsecp256k1")
    lacking = dataclasses.replace(algorithms.get("Hawk-512"), implementations=())
    monkeypatch.setitem(algorithms.ALGORITHMS, "Hawk-512", lacking)
    with pytest.raises(errors.Unsupported, match="does not implement it"):
        open_signer("Hawk-512")


def test_first_available_build_replaces_a_missing_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_kem("NTRU-HPS-2048-509").implementation.startswith("liboqs-0.7.1/")
    monkeypatch.setattr(machine, "cpu_flags", lambda: frozenset())
    assert open_kem("NTRU-HPS-2048-509").implementation == "liboqs-0.7.1/ref"
