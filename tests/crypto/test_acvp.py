"""All ACVP vectors of SLH-DSA on every build (`make test-acvp`).

The vectors are those of NIST's ACVP-Server (gen-val/json-files/SLH-DSA-*-FIPS205), as the Go module
github.com/cloudflare/circl has them, fetched at its version and checksum.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pqchain import algorithms
from pqchain.crypto import open_signer, slhdsa
from tests.crypto.builds import need

pytestmark = [pytest.mark.acvp, pytest.mark.native]

MODULE = "github.com/cloudflare/circl@v1.6.5"
SUM = "h1:O64F26HEqNhznd/hrC5KZXVKYuKM2rx4deZDTc4ihQA="

COUNTS = {"keyGen": 10, "verify": 42, "sigGen": 52}
"""Vectors of each set."""


@cache
def folder() -> Path:
    """Return the folder of the vectors; the module is fetched if it is not there."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("needs go to fetch the vectors")
    completed = subprocess.run(
        [go, "mod", "download", "-json", MODULE], capture_output=True, text=True, check=True
    )
    facts = json.loads(completed.stdout)
    assert facts["Sum"] == SUM
    return Path(facts["Dir"]) / "sign" / "slhdsa" / "testdata"


def read(name: str) -> dict[str, Any]:
    """Return a file of the vectors."""
    with gzip.open(folder() / f"{name}.json.gz") as file:
        document: dict[str, Any] = json.load(file)
    return document


@cache
def documents(kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return questions and answers of a kind."""
    return read(f"{kind}_prompt"), read(f"{kind}_results")


def cases(kind: str, name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield question, with its group, and answer of each vector of a set; check their count."""
    count = 0
    for group, answers in zip(*(it["testGroups"] for it in documents(kind)), strict=True):
        if group["parameterSet"] == name:
            for question, answer in zip(group["tests"], answers["tests"], strict=True):
                assert question["tcId"] == answer["tcId"]
                count += 1
                yield {**group, **question}, answer
    assert count == COUNTS[kind]


def formatted(case: dict[str, Any]) -> bytes:
    """Return what a vector's interface signs."""
    message, context = (bytes.fromhex(case.get(key, "")) for key in ("message", "context"))
    if case["signatureInterface"] == "internal":
        return message
    if case["preHash"] == "pure":
        return bytes((0, len(context))) + context + message
    return slhdsa.prehashed_message(message, case["hashAlg"], context)


CELLS = [
    (name, build)
    for name in algorithms.names(family="SLH-DSA")
    for build in algorithms.get(name).implementations
]


def signer(name: str, build: str) -> slhdsa.SlhDsaSigner:
    """Return the signer of a build, or skip what this processor cannot run."""
    need(build, name)
    opened = open_signer(name, build)
    assert isinstance(opened, slhdsa.SlhDsaSigner)
    return opened


@pytest.mark.parametrize(("name", "build"), CELLS)
def test_every_key_is_reproduced(name: str, build: str) -> None:
    opened = signer(name, build)
    for case, answer in cases("keyGen", name):
        seeds = bytes.fromhex(case["skSeed"] + case["skPrf"] + case["pkSeed"])
        with opened.library.randomness(lambda _, seeds=seeds: seeds):
            keys = opened.generate_keypair()
        assert keys == (bytes.fromhex(answer["pk"]), bytes.fromhex(answer["sk"])), case["tcId"]


@pytest.mark.parametrize(("name", "build"), CELLS)
def test_every_signature_is_reproduced(name: str, build: str) -> None:
    opened = signer(name, build)
    for case, answer in cases("sigGen", name):
        secret_key = bytes.fromhex(case["sk"])
        n = len(secret_key) // 4
        randomness = (
            secret_key[2 * n : 3 * n]
            if case["deterministic"]
            else bytes.fromhex(case["additionalRandomness"])
        )
        with opened.library.randomness(lambda _, randomness=randomness: randomness):
            signature = opened.sign_internal(formatted(case), secret_key)
        assert signature == bytes.fromhex(answer["signature"]), case["tcId"]


@pytest.mark.parametrize(("name", "build"), CELLS)
def test_every_verdict_is_right(name: str, build: str) -> None:
    opened = signer(name, build)
    for case, answer in cases("verify", name):
        signature, public_key = (bytes.fromhex(case[key]) for key in ("signature", "pk"))
        verdict = opened.verify_internal(formatted(case), signature, public_key)
        assert verdict == answer["testPassed"], case["tcId"]
