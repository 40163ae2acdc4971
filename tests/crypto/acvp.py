"""NIST's ACVP vectors, from the module of circl that the adapter in Go pins with a checksum."""

import gzip
import json
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pqchain_conform import registry


@cache
def _module() -> Path:
    """Return the folder of the module; Go downloads it once and compares it with go.sum."""
    if shutil.which("go") is None:
        pytest.skip("the vectors are in a Go module, and there is no go on the path")
    command = ["go", "mod", "download", "-json", "github.com/cloudflare/circl"]
    folder = registry.SOURCES / "go"
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"go cannot download the vectors: {done.stderr or done.stdout}")
    return Path(json.loads(done.stdout)["Dir"])


@cache
def _tests(prompt: str, results: str) -> tuple[dict[str, Any], ...]:
    documents = []
    for name in (prompt, results):
        content = json.loads(gzip.decompress((_module() / name).read_bytes()))
        # Some files are pairs of the protocol's version and the document.
        documents.append(content[-1] if isinstance(content, list) else content)
    rows = []
    for group, answers in zip(*(document["testGroups"] for document in documents), strict=True):
        for test, answer in zip(group["tests"], answers["tests"], strict=True):
            assert test["tcId"] == answer["tcId"]
            rows.append({**group, **test, **answer})
    return tuple(rows)


def acvp(prompt: str, results: str) -> Iterator[dict[str, Any]]:
    """Yield each test of a pair of files with the fields of its group and its results."""
    yield from _tests(prompt, results)


def document(tests: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Return tests of ML-KEM as one document with prompts and results."""
    groups = [
        {"parameterSet": test["parameterSet"], "function": test["function"], "tests": [test]}
        for test in tests
    ]
    return {"algorithm": "ML-KEM", "mode": "encapDecap", "testGroups": groups}
