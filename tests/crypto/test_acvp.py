"""All ACVP vectors of SLH-DSA on every build (`make test-acvp`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pqchain import algorithms
from pqchain.crypto import open_signer
from pqchain.crypto.native_signers import SlhDsaSigner, prehashed_message
from tests.crypto.acvp import acvp
from tests.crypto.builds import need

pytestmark = [pytest.mark.acvp, pytest.mark.native]

COUNTS = {"keyGen": 10, "verify": 42, "sigGen": 52}
"""Vectors of each set."""


def cases(kind: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield each vector of a set with its results; check their count."""
    files = (f"sign/slhdsa/testdata/{kind}_{part}.json.gz" for part in ("prompt", "results"))
    chosen = [test for test in acvp(*files) if test["parameterSet"] == name]
    assert len(chosen) == COUNTS[kind]
    yield from chosen


def formatted(case: dict[str, Any]) -> bytes:
    """Return what a vector's interface signs."""
    message, context = (bytes.fromhex(case.get(key, "")) for key in ("message", "context"))
    if case["signatureInterface"] == "internal":
        return message
    if case["preHash"] == "pure":
        return bytes((0, len(context))) + context + message
    return prehashed_message(message, case["hashAlg"], context)


CELLS = [
    (name, build)
    for name in algorithms.names(family="SLH-DSA")
    for build in algorithms.get(name).implementations
]


def signer(name: str, build: str) -> SlhDsaSigner:
    """Return the signer of a build, or skip what this processor cannot run."""
    need(build, name)
    opened = open_signer(name, build)
    assert isinstance(opened, SlhDsaSigner)
    return opened


@pytest.mark.parametrize(("name", "build"), CELLS)
def test_every_key_is_reproduced(name: str, build: str) -> None:
    opened = signer(name, build)
    for case in cases("keyGen", name):
        seeds = bytes.fromhex(case["skSeed"] + case["skPrf"] + case["pkSeed"])
        with opened.library.randomness(lambda _, seeds=seeds: seeds):
            keys = opened.generate_keypair()
        assert keys == (bytes.fromhex(case["pk"]), bytes.fromhex(case["sk"])), case["tcId"]


@pytest.mark.parametrize(("name", "build"), CELLS)
def test_every_signature_is_reproduced(name: str, build: str) -> None:
    opened = signer(name, build)
    for case in cases("sigGen", name):
        secret_key = bytes.fromhex(case["sk"])
        n = len(secret_key) // 4
        randomness = (
            secret_key[2 * n : 3 * n]
            if case["deterministic"]
            else bytes.fromhex(case["additionalRandomness"])
        )
        with opened.library.randomness(lambda _, randomness=randomness: randomness):
            signature = opened.sign_internal(formatted(case), secret_key)
        assert signature == bytes.fromhex(case["signature"]), case["tcId"]


@pytest.mark.parametrize(("name", "build"), CELLS)
def test_every_verdict_is_right(name: str, build: str) -> None:
    opened = signer(name, build)
    for case in cases("verify", name):
        signature, public_key = (bytes.fromhex(case[key]) for key in ("signature", "pk"))
        verdict = opened.verify_internal(formatted(case), signature, public_key)
        assert verdict == case["testPassed"], case["tcId"]
