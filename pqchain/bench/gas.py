"""Cost of a signature verification in EVM gas, NEAR gas and Solana compute units.

Each chain prices a verification of today (the anchor), which is timed in the same rounds as the
other schemes. The gas of a scheme is its time divided by the anchor's time, times the anchor's gas,
so that slow and fast machines give the same gas. The slowest of many signatures counts, because an
attacker can choose it. `data/gas` has what drafts and chains state, for comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from pqchain import algorithms as registry
from pqchain import checks, crypto, installation, machine
from pqchain.bench.operations import MESSAGE_BYTES
from pqchain.bench.timing import one_processor, timed, with_bar
from pqchain.crypto import isolated
from pqchain.errors import PqchainError, Unsupported, UsageError
from pqchain.results import Contract

GAS = Contract.of(
    "gas",
    ("str", "algorithm unit anchor"),
    ("float64", "anchor_gas gas low high verify_seconds input_bytes calldata_gas"),
    ("str", "status reason"),
)

STATEMENTS: list[dict[str, Any]] = installation.read_toml(
    installation.data("gas") / "statements.toml"
)["statement"]
"""Gas stated by drafts and chains, with the keys algorithm, unit, gas, what, source and date."""

ALGORITHMS = ("ECDSA-P256", "ML-DSA-44", "ML-DSA-65", "Falcon-512", "Falcon-1024")
"""Signature schemes that are priced by default, in addition to the anchors."""

ROUNDS = 15
"""Number of rounds. Each round times all schemes in turn and gives one ratio per scheme."""

MAX_ROUNDS = 1000

REPEATS = 7
"""Verifications of one signature per round, of which the median counts."""

MAX_INPUTS = 32
"""Maximum number of signatures per scheme, of which the slowest counts."""

SIGNING_SECONDS = 2.0
"""Time limit for generating the signatures of one scheme."""

CALLDATA_GAS = 16
"""Gas of a non-zero byte of calldata (EIP-2028)."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A verification with a known price on a chain, the reference for other schemes."""

    unit: str
    algorithm: str
    gas: float
    source: str


ANCHORS = (
    Anchor("evm", "ecrecover", 841.0, "EIP-7904, draft of 2026-06-10: ecrecover at 100 Mgas/s"),
    Anchor("near", "Ed25519", 68_093_951_344.0, "near/nearcore pull request 8031, by time"),
    Anchor("solana", "Ed25519", 720.0, "Agave, cost model"),
)

P256_RATIO = 3814 / 841
"""Gas of P256VERIFY over gas of ecrecover in EIP-7904's draft, to check the anchor."""


@dataclass(frozen=True, slots=True)
class _Timed:
    """Verification calls of one scheme, one per signature, and the bytes of a call's input."""

    calls: tuple[Callable[[], object], ...]
    input_bytes: int
    given_seconds: float = math.nan
    """User-given verification time, which replaces the calls; NaN otherwise."""
    source: str = ""
    user_scheme: tuple[str, str] | None = None
    """(algorithm, implementation) of user code, which is timed in a child process."""

    def worst_seconds(self) -> float:
        if self.user_scheme is None:
            return max(map(_median_seconds, self.calls), default=self.given_seconds)
        name, implementation = self.user_scheme
        use_seconds = isolated.first_use_seconds(name, implementation)
        seconds: float = isolated.call(
            [registry.implementation(implementation).location],
            "pqchain.bench.gas:worst_verification_seconds",
            expected_seconds=SIGNING_SECONDS + MAX_INPUTS * (1 + REPEATS) * use_seconds,
            name=name,
        )
        return seconds


def measure_gas(
    algorithms: Iterable[str] = ALGORITHMS,
    *,
    anchor_gas: float | None = None,
    rounds: int = ROUNDS,
    progress: bool = False,
) -> pd.DataFrame:
    """Estimate each scheme's gas for its slowest verification from verifications of known gas.

    Returns a frame, one row per scheme and unit: algorithm, unit ("evm", "near", "solana"), anchor,
    anchor_gas, gas (median over rounds), low and high (5 % and 95 % quantiles of the rounds),
    verify_seconds (slowest signature, median over rounds; the given time of a scheme that is given
    by numbers), input_bytes (key, signature and a digest of 32), calldata_gas (EVM: 16 per byte),
    status ("ok", "unsupported", "failed") and reason.
    `anchor_gas` is the EVM gas of ecrecover, by default 841. Raises UsageError for values out of
    range and for a KEM, and UnknownAlgorithm.
    """
    if anchor_gas is not None and not 0 < anchor_gas < 1e9:
        raise UsageError(f"anchor_gas must be above 0 and below 1e9; got {anchor_gas}")
    checks.integer("rounds", rounds, least=2, most=MAX_ROUNDS)  # two make an interval
    schemes = list(map(registry.get, algorithms))
    if others := [row.name for row in schemes if row.kind != "signature"]:
        raise UsageError(f"every algorithm must be a signature scheme; got {', '.join(others)}")
    # The anchors are always timed.
    names = list(dict.fromkeys(["ecrecover", "Ed25519", *(row.name for row in schemes)]))
    prepared: dict[str, _Timed] = {}
    errors: dict[str, PqchainError] = {}
    for name in with_bar(names, str, unit="scheme", show=progress):
        try:
            prepared[name] = _recover() if name == "ecrecover" else _verify(name)
        except PqchainError as error:
            errors[name] = error
    # One processor for anchors and schemes, so that a migration does not distort their ratio.
    with one_processor():
        worst = _rounds(prepared, rounds, errors)
    rows = [
        _row(name, anchor, worst, prepared, errors, anchor_gas)
        for name in names
        for anchor in ANCHORS
    ]
    frame = GAS.frame(rows)
    frame.attrs["provenance"] = {**machine.provenance(), "preset": f"{rounds} rounds"}
    return frame


def check_anchor(frame: pd.DataFrame) -> str:
    """Return a text that compares the measured ratio P-256 / ecrecover with EIP-7904's draft."""
    priced = frame[(frame["unit"] == "evm") & (frame["status"] == "ok")].to_dict("records")
    rows = {row["algorithm"]: row for row in priced}
    if not {"ECDSA-P256", "ecrecover"} <= set(rows):
        return "P-256 over ecrecover: not measured here."
    row = rows["ECDSA-P256"]
    low, middle, high = (row[end] / row["anchor_gas"] for end in ("low", "gas", "high"))
    ratios = f"P-256 over ecrecover: {middle:.2f} ({low:.2f} to {high:.2f}); EIP-7904's draft has "
    ratios += f"{P256_RATIO:.2f}"
    if low <= P256_RATIO <= high:
        return f"{ratios}, within the interval."
    reason = "OpenSSL's P-256 has assembly for this processor; the draft prices the slowest client"
    if middle > P256_RATIO:
        reason = "the P-256 timed here decompresses the key and is called through Python"
    return f"{ratios}, outside: {reason}."


def _recover() -> _Timed:
    """Return calls that recover a public key from a signature, as the precompile ecrecover does."""
    signer = crypto.open_signer("ECDSA-secp256k1")
    assert isinstance(signer, crypto.RecoverableSigner)
    rng = np.random.default_rng(1)
    calls: list[Callable[[], object]] = []
    for _ in range(MAX_INPUTS):
        _, secret = signer.generate_keypair()
        message = rng.bytes(MESSAGE_BYTES)
        calls.append(partial(signer.recover, message, signer.sign_recoverable(message, secret)))
    return _Timed(tuple(calls), 128)  # the precompile's input: digest, v, r and s of 32 bytes each


def _verify(name: str) -> _Timed:
    row = registry.get(name)
    # A digest of 32 bytes, the key and the longest signature.
    size = 32 + row.public_key_bytes + row.signature_max_bytes
    if given_seconds := dict(row.given_seconds):
        return _Timed((), size, given_seconds["verify"], row.source)
    signer = crypto.open_signer(row.name)
    if registry.implementation(signer.implementation).location:
        return _Timed((), size, user_scheme=(row.name, signer.implementation))
    rng = np.random.default_rng(2)
    calls: list[Callable[[], object]] = []
    spent = 0.0
    # At least two signatures, because the slowest of several counts.
    while len(calls) < MAX_INPUTS and (len(calls) < 2 or spent < SIGNING_SECONDS):
        public, secret = signer.generate_keypair()
        message = rng.bytes(MESSAGE_BYTES)
        seconds, signature = timed(signer.sign, message, secret)
        calls.append(partial(signer.verify, message, signature, public))
        spent += seconds
    return _Timed(tuple(calls), size)


# Cached in the child, so that every round verifies the same signatures.
_verify_user_code = cache(_verify)


def worst_verification_seconds(name: str) -> float:
    """Time verifications by user code in the child process; return the slowest time in seconds."""
    return _verify_user_code(name).worst_seconds()


def _rounds(
    prepared: Mapping[str, _Timed], rounds: int, errors: dict[str, PqchainError]
) -> dict[str, list[float]]:
    """Return, by scheme, the verification time of each round's slowest signature in seconds."""
    # Schemes alternate within a round, so that a ratio compares times of the same moment.
    worst: dict[str, list[float]] = {name: [] for name in prepared}
    for _ in range(rounds):
        for name, timed_calls in prepared.items():
            if name in errors:
                continue
            try:
                worst[name].append(timed_calls.worst_seconds())
            except PqchainError as error:
                if timed_calls.user_scheme is None:
                    raise
                errors[name] = error
    return worst


def _median_seconds(call: Callable[[], object]) -> float:
    # The median ignores an interruption of one call.
    results = [timed(call) for _ in range(REPEATS)]
    if not all(valid for _, valid in results):
        raise PqchainError("a valid signature did not verify; run `pqchain doctor`")
    return median(seconds for seconds, _ in results)


def _row(
    name: str,
    anchor: Anchor,
    worst: Mapping[str, list[float]],
    prepared: Mapping[str, _Timed],
    errors: Mapping[str, PqchainError],
    anchor_gas: float | None,
) -> dict[str, Any]:
    price = anchor_gas if anchor_gas is not None and anchor.unit == "evm" else anchor.gas
    row = {"algorithm": name, "unit": anchor.unit, "anchor": anchor.algorithm, "anchor_gas": price}
    if error := errors.get(name) or errors.get(anchor.algorithm):
        status = "unsupported" if isinstance(error, Unsupported) else "failed"
        return row | {"status": status, "reason": str(error)}
    ratios = np.array(worst[name]) / np.array(worst[anchor.algorithm])
    size = float(prepared[name].input_bytes)
    return row | {
        "gas": price * float(np.median(ratios)),
        "low": price * float(np.quantile(ratios, 0.05)),
        "high": price * float(np.quantile(ratios, 0.95)),
        "verify_seconds": median(worst[name]),
        "input_bytes": size,
        "calldata_gas": CALLDATA_GAS * size if anchor.unit == "evm" else np.nan,
        "status": "ok",
        "reason": prepared[name].source,
    }
