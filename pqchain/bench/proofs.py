"""Benchmark of proofs that aggregate leanXMSS signatures, by py-lean-pq.

Signing and each proof run in a child process, so that the peak of memory is that of one proof. The
times of a proof are those of a prover that has no other work on this machine: all processors that
the process may use.
"""

from __future__ import annotations

import itertools
import os
import re
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from pqchain.bench.timing import timed
from pqchain.crypto import isolation
from pqchain.errors import CryptoFailure, UsageError
from pqchain.installation import install_command
from pqchain.results import Contract, machine

PROOFS = Contract.of(
    "proofs",
    ("str", "algorithm version"),
    ("Int64", "signatures children cores"),
    ("float64", "sign_seconds verify_signature_seconds signature_bytes prove_seconds"),
    ("float64", "prove_cpu_seconds proof_bytes claims_bytes verify_seconds setup_seconds"),
    ("float64", "setup_peak_bytes peak_bytes"),
    ("str", "status reason"),
)

ALGORITHM = "leanXMSS"

PACKAGE = "py-lean-pq"

MOST_SIGNATURES = 8192

TIMED_SIGNATURES = 32
"""Signatures whose signing and verification are timed, one after the other."""

_ROW_BYTES = 32 + 32 + 2404
"""Public key, message and signature in the files between the processes."""

_LIMIT_SECONDS = 86_400.0

_CLAIM_BYTES = 64
"""Public key and message of each signature, which a proof repeats."""


def parse_sizes(text: Sequence[str]) -> list[tuple[int, int]]:
    """Return (proofs to merge, signatures of each) of sizes such as 64 or 2x64.

    A size without "x" is one proof of signatures: (1, 64). Raises UsageError.
    """
    sizes = []
    for size in text:
        match = re.fullmatch(r"(?:([2-9]|[1-9]\d)x)?([1-9]\d{0,3})", size)
        children, count = (int(part or 1) for part in match.groups()) if match else (0, 0)
        if not match or children * count > MOST_SIGNATURES:
            raise UsageError(
                f"a size must be a number of signatures, such as 64, or of merged proofs, such as "
                f"2x64, with at most {MOST_SIGNATURES} signatures; got {size!r}"
            )
        sizes.append((children, count))
    return sizes


def measure_proofs(sizes: Sequence[tuple[int, int]]) -> pd.DataFrame:
    """Sign, aggregate and verify leanXMSS signatures for each size of `parse_sizes`.

    Returns a frame, one row per size: algorithm, version (of py-lean-pq), signatures, children
    (proofs that are merged; 0 if signatures are proven), cores; sign_seconds and
    verify_signature_seconds (medians of the first 32 signatures), signature_bytes; prove_seconds
    (merging only if there are children), prove_cpu_seconds (of all threads), proof_bytes, of which
    claims_bytes are the keys and messages; verify_seconds (median of five); setup_seconds and
    setup_peak_bytes (tables of the prover, once per process), peak_bytes (memory of the process
    that proves); status ("ok", "unsupported", "failed") and reason. Without the package or a
    processor that it needs, one row with the reason. Signing takes a third of a processor second
    per signature.
    """
    if reason := unavailable_reason():
        frame = PROOFS.frame([_row(status="unsupported", reason=reason)])
    else:
        with tempfile.TemporaryDirectory() as folder:
            signed = _signed(max(children * count for children, count in sizes), folder)
            frame = PROOFS.frame(_measured(*size, folder, signed) for size in sizes)
    frame.attrs["provenance"] = {**machine.provenance(), "preset": "one proof per size"}
    return frame


def unavailable_reason() -> str:
    """Return why leanXMSS cannot be measured here; "" if it can."""
    try:
        version(PACKAGE)
    except PackageNotFoundError:
        return f"{PACKAGE} is not installed: {install_command('py_lean_pq')}"
    flags = machine.cpu_flags()
    if missing := [flag for flag in ("avx2", "pclmulqdq") if flag not in flags]:
        return f"this processor lacks {', '.join(missing)}, which {PACKAGE} needs"
    return ""


def _row(**known: Any) -> dict[str, Any]:
    cores = len(os.sched_getaffinity(0))
    texts = {"algorithm": ALGORITHM, "version": "", "status": "ok", "reason": ""}
    return {"signatures": 0, "children": 0, "cores": cores} | texts | known


def _measured(children: int, count: int, folder: str, signed: dict[str, Any]) -> dict[str, Any]:
    merged = {"signatures": children * count, "children": children if children > 1 else 0}
    row = _row(version=version(PACKAGE), **merged, **signed)
    try:
        return row | _child("prove", folder, children=children, count=count)
    except CryptoFailure as error:
        return row | {"status": "failed", "reason": str(error)}


def _signed(count: int, folder: str) -> dict[str, Any]:
    """Sign `count` messages into files of the folder; return the times of the first signatures."""
    timed_count = min(count, TIMED_SIGNATURES)
    times = _child("sign", folder, start=0, end=timed_count)
    # The others are not timed and are signed on all processors: one takes a third of a second.
    cores = len(os.sched_getaffinity(0))
    ends = [timed_count + (count - timed_count) * part // cores for part in range(cores + 1)]
    parts = [part for part in itertools.pairwise(ends) if part[0] < part[1]]
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(lambda part: _child("sign", folder, start=part[0], end=part[1]), parts))
    return times


def _child(step: str, folder: str, **counts: Any) -> dict[str, Any]:
    """Run a step of this module in a process of its own; return its result."""
    try:
        result: dict[str, Any] = isolation.call(
            f"{__name__}:{step}", limit_seconds=_LIMIT_SECONDS, folder=folder, **counts
        )
    except CryptoFailure as error:  # a prover without memory is killed
        raise CryptoFailure(f"{PACKAGE} could not {step}: {error}") from error
    return result


def _peak_bytes() -> float:
    # Of this program: the maximum of getrusage includes that of the parent at the fork.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    match = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return float(match[1]) * 1024 if match else float("nan")


def sign(folder: str, start: int, end: int) -> dict[str, float]:
    """Write public key, message and signature of the leaves from `start` to `end` of one key.

    Runs in the child, as `prove`. The file is named so that names sort as leaves do.
    """
    import py_lean_pq as lean

    key = lean.XmssSecretKey.from_seed(bytes(32))
    # The tree of the first leaves, which the first signature would compute otherwise.
    key.prepare(start)
    signing, verifying = [], []
    with (Path(folder) / f"{start:08}").open("wb") as rows:
        for leaf in range(start, end):
            message = leaf.to_bytes(32, "big")
            seconds, signature = timed(key.sign, message, leaf)
            row = key.public_key + message + signature
            if len(row) != _ROW_BYTES:
                raise CryptoFailure(f"a signature must have 2404 bytes; got {len(signature)}")
            rows.write(row)
            signing.append(seconds)
            verifying.append(timed(lean.xmss_verify, key.public_key, message, signature)[0])
    return {
        "sign_seconds": median(signing),
        "verify_signature_seconds": median(verifying),
        "signature_bytes": _ROW_BYTES - _CLAIM_BYTES,
    }


def prove(folder: str, children: int, count: int) -> dict[str, float]:
    """Prove signatures, or merge proofs; decode and verify the result."""
    import py_lean_pq as lean

    data = b"".join(path.read_bytes() for path in sorted(Path(folder).iterdir()))
    starts = range(0, children * count * _ROW_BYTES, _ROW_BYTES)
    rows = [data[start : start + _ROW_BYTES] for start in starts]
    claims = [(row[:32], row[32:64], row[64:]) for row in rows]
    setup_seconds, _ = timed(lean.setup)
    setup_peak = _peak_bytes()
    inputs: dict[str, Any] = {"xmss": claims}
    if children > 1:
        parts = (claims[start : start + count] for start in range(0, len(claims), count))
        inputs = {"children": [lean.aggregate(xmss=part) for part in parts]}
    before = os.times()
    seconds, proof = timed(partial(lean.aggregate, **inputs))
    after = os.times()
    encoded = proof.to_bytes()
    verified = [timed(lean.Aggregate.from_bytes, encoded) for _ in range(5)]
    if sorted(verified[0][1].xmss_claims) != sorted((key, message) for key, message, _ in claims):
        raise CryptoFailure("the proof must cover the signatures; it does not")
    return {
        "prove_seconds": seconds,
        "prove_cpu_seconds": after.user + after.system - before.user - before.system,
        "proof_bytes": len(encoded),
        "claims_bytes": _CLAIM_BYTES * len(claims),
        "verify_seconds": median(elapsed for elapsed, _ in verified),
        "setup_seconds": setup_seconds,
        "setup_peak_bytes": setup_peak,
        "peak_bytes": _peak_bytes(),
    }
