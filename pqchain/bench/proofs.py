"""Benchmark of proofs that aggregate leanXMSS signatures, by py-lean-pq.

Signing and each proof run in a child process, so that the peak of memory is that of one proof. The
times of a proof are those of a prover that has no other work on this machine: all processors that
the process may use.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from pqchain.bench.timing import timed
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
"""Public key, message and signature in the file between the processes."""

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


def measure_proofs(
    sizes: Sequence[tuple[int, int]], *, signatures: Path | None = None
) -> pd.DataFrame:
    """Sign, aggregate and verify leanXMSS signatures for each size of `parse_sizes`.

    Returns a frame, one row per size: algorithm, version (of py-lean-pq), signatures, children
    (proofs that are merged; 0 if signatures are proven), cores; sign_seconds and
    verify_signature_seconds (medians of the first 32 signatures), signature_bytes; prove_seconds
    (merging only if there are children), prove_cpu_seconds (of all threads), proof_bytes, of which
    claims_bytes are the keys and messages; verify_seconds (median of five); setup_seconds and
    setup_peak_bytes (tables of the prover, once per process), peak_bytes (memory of the process
    that proves); status ("ok", "unsupported", "failed") and reason. Without the package or a
    processor that it needs, one row with the reason. Signing takes a third of a processor second
    per signature; `signatures` is a file that keeps them for later runs with the same version.
    """
    if reason := unavailable_reason():
        frame = PROOFS.frame([_row(status="unsupported", reason=reason)])
    else:
        with tempfile.TemporaryDirectory() as folder:
            file = str(signatures or Path(folder) / "signatures")
            signed = _signed(max(children * count for children, count in sizes), file)
            frame = PROOFS.frame(_measured(size, file, signed) for size in sizes)
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


def _measured(size: tuple[int, int], file: str, signed: dict[str, Any]) -> dict[str, Any]:
    children, count = size
    row = _row(
        version=version(PACKAGE),
        signatures=children * count,
        children=children if children > 1 else 0,
        **signed,
    )
    try:
        return row | _child("prove", children, count, file)
    except CryptoFailure as error:
        return row | {"status": "failed", "reason": str(error)}


def _signed(count: int, file: str) -> dict[str, Any]:
    """Sign `count` messages into the file, if it has fewer; return the times of some signatures."""
    with tempfile.TemporaryDirectory() as folder:
        timed_part = f"{folder}/timed"
        times = _child("sign", 0, min(count, TIMED_SIGNATURES), timed_part)
        if not Path(file).exists():
            shutil.copyfile(timed_part, file)
        known = Path(file).stat().st_size // _ROW_BYTES
        os.truncate(file, known * _ROW_BYTES)  # a run that was stopped may leave a part of a row
        # The others are not timed and are signed on all processors: one takes a third of a second.
        cores = len(os.sched_getaffinity(0))
        ends = [known + max(count - known, 0) * part // cores for part in range(cores + 1)]
        edges = itertools.pairwise(ends)
        parts = [(start, end, f"{folder}/{start}") for start, end in edges if start < end]
        with ThreadPoolExecutor(cores) as pool:
            list(pool.map(lambda part: _child("sign", *part), parts))
        with Path(file).open("ab") as rows:
            for *_, part in parts:
                rows.write(Path(part).read_bytes())
    return times


def _child(*arguments: object) -> dict[str, Any]:
    """Run a step of this module in a process of its own; return its result."""
    command = [sys.executable, "-m", "pqchain.bench.proofs", *map(str, arguments)]
    child = subprocess.run(command, capture_output=True, text=True)
    if child.returncode:
        # A prover without memory is killed: -9.
        last = child.stderr.strip().splitlines()[-1:] or [f"exit code {child.returncode}"]
        raise CryptoFailure(f"{PACKAGE} could not {arguments[0]}: {last[0]}")
    result: dict[str, Any] = json.loads(child.stdout)
    return result


def _peak_bytes() -> float:
    # Of this program: the maximum of getrusage includes that of the parent at the fork.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    match = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return float(match[1]) * 1024 if match else float("nan")


def _sign(start: int, end: int, file: str) -> dict[str, float]:
    """Write public key, message and signature of the leaves from `start` to `end` of one key."""
    import py_lean_pq as lean

    key = lean.XmssSecretKey.from_seed(bytes(32))
    # The tree of the first leaves, which the first signature would compute otherwise.
    key.prepare(start)
    signing, verifying = [], []
    with Path(file).open("wb") as rows:
        for leaf in range(start, end):
            message = leaf.to_bytes(32, "big")
            seconds, signature = timed(key.sign, message, leaf)
            row = key.public_key + message + signature
            if len(row) != _ROW_BYTES:
                raise SystemExit(f"a signature must have 2404 bytes; got {len(signature)}")
            rows.write(row)
            signing.append(seconds)
            verifying.append(timed(lean.xmss_verify, key.public_key, message, signature)[0])
    return {
        "sign_seconds": median(signing),
        "verify_signature_seconds": median(verifying),
        "signature_bytes": _ROW_BYTES - _CLAIM_BYTES,
    }


def _prove(children: int, count: int, file: str) -> dict[str, float]:
    """Prove signatures, or merge proofs; decode and verify the result."""
    import py_lean_pq as lean

    with Path(file).open("rb") as rows:
        data = [rows.read(_ROW_BYTES) for _ in range(children * count)]
    claims = [(row[:32], row[32:64], row[64:]) for row in data]
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
        raise SystemExit("the proof must cover the signatures; it does not")
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


if __name__ == "__main__":
    step, *counts, path = sys.argv[1:]
    steps: dict[str, Callable[..., Any]] = {"sign": _sign, "prove": _prove}
    json.dump(steps[step](*map(int, counts), path), sys.stdout)
