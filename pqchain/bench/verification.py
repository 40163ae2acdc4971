"""Times of verifications of one algorithm by pqchain, by clients' libraries and by user code.

Every verifier checks the same signatures of different keys, each several times in succession, of
which the fastest counts: the others were interrupted, or ran before caches and branch predictors
were warm. A round gives the time of the slowest signature, because an attacker can choose it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from statistics import median
from typing import Protocol

import numpy as np

from pqchain import algorithms as registry
from pqchain import crypto
from pqchain.bench.rounds import MESSAGE_BYTES
from pqchain.bench.timing import timed
from pqchain.crypto import isolation
from pqchain.errors import CryptoFailure, PqchainError

REPEATS = 7
"""Verifications of one signature per round, of which the fastest counts."""

MAX_INPUTS = 32
"""Maximum number of signatures per algorithm, of which the slowest counts."""

SIGNING_SECONDS = 2.0
"""Time limit for generating the signatures of one algorithm."""

ROUND_SECONDS = 0.05
"""Time of a client's verifications in one round; a slow client checks fewer signatures."""

WARM_UP_SECONDS = 0.02
"""Time of one step of a client's warm-up. Steps are repeated until one is not faster than the step
before."""

JIT_WARM_UP_SECONDS = 0.25
"""The same for languages that compile while they run: Java and JavaScript."""

WARM_UP_STEPS = 12
"""Maximum number of steps of a warm-up."""

WARM_UP_REQUESTS = 2000
"""Maximum number of requests of a step."""

WORDS = 256
"""Words of 32 bytes by which the long message is longer, to time the hashing of a word."""

RECOVERY = "ecrecover"
"""The algorithm that recovers a public key instead of checking one."""


@dataclass(frozen=True, slots=True)
class Case:
    """A valid signature and its inputs."""

    message: bytes
    signature: bytes
    public_key: bytes


@dataclass(frozen=True, slots=True)
class Times:
    """Times of one round in seconds; NaN for a part that the verifier cannot time."""

    slowest: float
    """The slowest signature's verification, decoding included."""
    decode_key: float = math.nan
    decode_signature: float = math.nan
    word: float = math.nan
    """One more word of 32 bytes of the message."""


class Client(Protocol):
    """A verifier that times itself, in its own process and language."""

    name: str
    """Name of the library."""
    version: str
    jit: bool
    """Whether its language compiles while it runs."""

    def supports(self, algorithm: str) -> bool:
        """Return whether to ask for an algorithm. Raises Unsupported if the client cannot run."""

    def times(
        self, algorithm: str, case: Case, repeat: int
    ) -> Mapping[str, Sequence[float]] | None:
        """Return durations in seconds of `repeat` verifications; None for an unknown algorithm.

        By the keys "verify" (all of it), and "decode_key" and "decode_signature" where it has them.
        Raises CryptoFailure if the signature is not accepted.
        """

    def close(self) -> None:
        """End the process."""


@dataclass(frozen=True, slots=True)
class TimedVerifier:
    """A verifier of one algorithm."""

    name: str
    """Name of the implementation or of a client's library."""
    round: Callable[[], Times]
    """Verifies all signatures and returns the times of this round. Raises CryptoFailure."""
    version: str = ""
    """Version of a client's library; "" for pqchain's implementations and user code."""
    source: str = ""
    """Source of given times; "" if they are measured."""
    anchor_seconds: float = 0.0
    """Given time of ecrecover on the machine of a given time; 0 if it is not known."""
    in_process: bool = False
    """Whether it is an implementation of pqchain, whose failure ends a run."""


def in_process(
    name: str, calls: Sequence[Callable[[], object]], long_call: Callable[[], object] | None = None
) -> TimedVerifier:
    """Return an implementation of pqchain, with a call for each signature.

    `long_call` is that of the first signature with a message that is longer by WORDS. A time
    includes a call through Python.
    """

    def round_times() -> Times:
        seconds = list(map(_fastest_seconds, calls))
        if long_call is None:
            return Times(max(seconds))
        return Times(max(seconds), word=(_fastest_seconds(long_call) - seconds[0]) / WORDS)

    return TimedVerifier(name, round_times, in_process=True)


def client_round(
    client: Client, algorithm: str, cases: Sequence[Case], long_case: Case | None
) -> Times:
    """Return the times of a client's library, which are those inside its process."""
    fastest = [_client_seconds(client, algorithm, case) for case in cases]
    word = math.nan
    if long_case:
        longer = _client_seconds(client, algorithm, long_case)
        word = (longer["verify"] - fastest[0]["verify"]) / WORDS
    slowest = max(fastest, key=lambda parts: parts["verify"])
    decoding = {name: slowest.get(name, math.nan) for name in ("decode_key", "decode_signature")}
    return Times(slowest["verify"], word=word, **decoding)


def _client_seconds(client: Client, algorithm: str, case: Case) -> dict[str, float]:
    """Return the times of the fastest verification and of its parts."""
    times = client.times(algorithm, case, REPEATS)
    if times is None:
        raise CryptoFailure(
            f"{client.name} must verify {algorithm} in every round; it answered "
            '"unsupported". Run `pqchain conform run`.'
        )
    at = int(np.argmin(times["verify"]))
    return {part: seconds[at] for part, seconds in times.items()}


def in_client(client: Client, algorithm: str) -> TimedVerifier | None:
    """Return a client's verifier after its warm-up; None if it does not know the algorithm.

    Raises Unsupported if the client cannot run, and CryptoFailure if it rejects a signature.
    """
    if not client.supports(algorithm):
        return None
    cases, long_case = signed_cases(algorithm)
    step_seconds = JIT_WARM_UP_SECONDS if client.jit else WARM_UP_SECONDS
    seconds = math.inf
    for _ in range(WARM_UP_STEPS):
        step: list[float] = []
        while not step or (sum(step) < step_seconds and len(step) < WARM_UP_REQUESTS):
            times = client.times(algorithm, cases[len(step) % len(cases)], REPEATS)
            if times is None:
                return None
            step.append(min(times["verify"]) * REPEATS)
        before, seconds = seconds, median(step) / REPEATS
        if seconds > 0.97 * before:
            break
    count = max(2, int(ROUND_SECONDS / (REPEATS * max(seconds, 1e-9))))  # a clock may be coarse
    timed_round = partial(client_round, client, algorithm, cases[:count], long_case)
    return TimedVerifier(client.name, timed_round, client.version)


def own(name: str) -> TimedVerifier:
    """Return pqchain's default verifier of an algorithm, or of user code, or given times."""
    if name == RECOVERY:
        recoverer = crypto.open_signer("ECDSA-secp256k1")
        assert isinstance(recoverer, crypto.RecoverableSigner)
        signatures = [case.signature for case in signed_cases(RECOVERY)[0]]
        calls = [partial(recoverer.recover, _message(i), row) for i, row in enumerate(signatures)]
        return in_process(recoverer.implementation, calls)
    row = registry.get(name)
    if given_seconds := dict(row.given_seconds):
        times = Times(given_seconds["verify"])
        return TimedVerifier("given", lambda: times, "", row.source, given_seconds["anchor"])
    signer = crypto.open_signer(row.name)
    if registry.implementation(signer.implementation).location:
        return TimedVerifier(signer.implementation, partial(_user_code_round, signer))
    cases, long_case = signed_cases(row.name)
    return timed_signer(signer, cases, long_case)


def _user_code_round(signer: crypto.Signer) -> Times:
    """Time user code in a child process."""
    location = registry.implementation(signer.implementation).location
    seconds: float = isolation.call(
        "pqchain.bench.verification:slowest_seconds", locations=[location], keep=True,
        limit_seconds=isolation.run_limit_seconds(), name=signer.algorithm.name,
    )  # fmt: skip
    return Times(seconds)


def timed_signer(
    signer: crypto.Signer, cases: Sequence[Case], long_case: Case | None = None
) -> TimedVerifier:
    """Return the verifier of one implementation."""
    calls = [
        partial(signer.verify, case.message, case.signature, case.public_key)
        for case in (*cases, *filter(None, [long_case]))
    ]
    return in_process(signer.implementation, calls[: len(cases)], *calls[len(cases) :])


def _message(index: int) -> bytes:
    return np.random.default_rng([1, index]).bytes(MESSAGE_BYTES)


@cache
def signed_cases(name: str) -> tuple[tuple[Case, ...], Case | None]:
    """Return signatures of different keys, and one of the first key with a longer message.

    For ecrecover the messages are digests, and there is no longer one.
    """
    signer = crypto.open_signer("ECDSA-secp256k1" if name == RECOVERY else name)
    cases: list[Case] = []
    long_case = None
    spent = 0.0
    # At least two signatures, because the slowest of several counts.
    while len(cases) < MAX_INPUTS and (len(cases) < 2 or spent < SIGNING_SECONDS):
        public, secret = signer.generate_keypair()
        message = _message(len(cases))
        if isinstance(signer, crypto.RecoverableSigner) and name == RECOVERY:
            seconds, signature = timed(signer.sign_recoverable, message, secret)
            message = hashlib.sha256(message).digest()
        else:
            seconds, signature = timed(signer.sign, message, secret)
            if not cases:
                longer = message + bytes(32 * WORDS)
                long_case = Case(longer, signer.sign(longer, secret), public)
        cases.append(Case(message, signature, public))
        spent += seconds
    return tuple(cases), long_case


def slowest_seconds(name: str) -> float:
    """Time verifications by user code in the child process; return the slowest time in seconds."""
    # The signatures are cached in the child, so that every round verifies the same ones.
    return timed_signer(crypto.open_signer(name), signed_cases(name)[0]).round().slowest


def _fastest_seconds(call: Callable[[], object]) -> float:
    results = [timed(call) for _ in range(REPEATS)]
    if not all(valid for _, valid in results):
        raise PqchainError("a valid signature did not verify; run `pqchain doctor`")
    return min(seconds for seconds, _ in results)
