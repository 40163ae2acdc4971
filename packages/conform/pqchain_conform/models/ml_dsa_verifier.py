"""ML-DSA and Dilithium verification, rule by rule.

`MLDSAVerifier.checks` applies every rule and does not stop at the first failure, to show whether
a single rule rejects a signature. Each rule is a method, so that a mutant is a subclass that
overrides one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from pqchain_conform.models import ml_dsa as model
from pqchain_conform.models.bits import Integers, unpack
from pqchain_conform.models.checks import RuleCheck, SignatureModel
from pqchain_conform.models.ml_dsa import PARAMETER_SETS, MLDSAParameters


@lru_cache(maxsize=8192)
def _commitment_of(p: MLDSAParameters, z: bytes, seed: bytes, public_key: bytes) -> Integers:
    """Return w' for an encoded z and public key. Cached, because most mutants share the result."""
    return model.commitment(
        p,
        public_key[:32],
        p.gamma1 - unpack(z, p.gamma1_bits + 1),
        model.sample_in_ball(p, seed),
        unpack(public_key[32:], 10),
    )


def _compared(signed: bytes, computed: bytes) -> str:
    if signed == computed:
        return f"{signed[:8].hex()}..., equal to the computed hash"
    pairs = enumerate(zip(signed, computed, strict=True))
    start = max(0, next(i for i, (a, b) in pairs if a != b) - 2)
    end = start + 6
    return f"byte {start} on is {signed[start:end].hex()}; computed {computed[start:end].hex()}"


class MLDSAVerifier(SignatureModel):
    """ML-DSA or Dilithium verifier for one parameter set; its methods are the rules."""

    parameters: MLDSAParameters
    domain = 0
    length_rules = ("FIPS 204, section 3.6.2",) * 2 + ("FIPS 204, algorithm 3, line 1",)

    def __init__(self, name: str) -> None:
        self.parameters = PARAMETER_SETS[name]
        self.max_context_bytes = 255 if self.parameters.standard else 0

    def checks(
        self, message: bytes, signature: bytes, public_key: bytes, context: bytes = b""
    ) -> Iterator[RuleCheck]:
        """Yield the result of each rule; stop at a wrong length, as no other rule applies then."""
        p = self.parameters
        lengths = self.lengths(signature, public_key, context)
        yield from lengths
        if not all(check.holds for check in lengths):
            return
        # Only in a mutant that truncates longer input can lengths exceed the standard's here.
        signature, shortened = signature[: p.signature_bytes], public_key[: p.public_key_bytes]
        seed, rest = signature[: p.challenge_bytes], signature[p.challenge_bytes :]
        z_bytes, hint_bytes = rest[: p.z_bytes], rest[p.z_bytes :]

        faults = self.counter_faults(hint_bytes)
        yield RuleCheck(
            "hint counters",
            "FIPS 204, algorithm 21, line 4",
            not faults,
            f"the counter of row {faults[0][0]} is {faults[0][1]}; at least {faults[0][2]} and at "
            f"most {p.omega}" if faults else f"counters {list(hint_bytes[p.omega :])}",
        )  # fmt: skip
        faults = self.order_faults(hint_bytes)
        yield RuleCheck(
            "hint order",
            "FIPS 204, algorithm 21, line 9",
            not faults,
            f"in row {faults[0][0]} position {faults[0][1]} follows {faults[0][2]}; it must be "
            "greater" if faults else "positions increase in every row",
        )  # fmt: skip
        padding = self.padding_faults(hint_bytes)
        yield RuleCheck(
            "hint padding",
            "FIPS 204, algorithm 21, line 17",
            not padding,
            f"byte {padding[0]} is {hint_bytes[padding[0]]}, after the last hint; it must be 0"
            if padding else "only zeros after the last hint",
        )  # fmt: skip

        z = p.gamma1 - unpack(z_bytes, p.gamma1_bits + 1)
        long = self.long_coefficients(z)
        row, n = long[0] if long else np.unravel_index(int(np.abs(z).argmax()), z.shape)
        yield RuleCheck(
            "bound on z",
            "FIPS 204, algorithm 8, line 13",
            not long,
            f"|z[{row}][{n}]| = {abs(int(z[row, n]))}; it must be below gamma1 - beta = {p.bound}",
        )

        values = _commitment_of(p, z_bytes, self.ball_seed(seed), shortened)
        high = self.corrected(model.read_hints(p, hint_bytes), values)
        mu = model.message_hash(p, self.hashed_key(public_key), message, self.prefix(context))
        computed = model.challenge_hash(p, mu, high)
        yield RuleCheck(
            "challenge",
            "FIPS 204, algorithm 8, line 13",
            self.same_challenge(seed, computed),
            _compared(seed, computed),
        )

    def counter_faults(self, data: bytes) -> list[tuple[int, int, int]]:
        """Return (row, counter, previous counter) where a counter decreases or exceeds omega."""
        counters = list(data[self.parameters.omega :])
        pairs = zip(counters, [0, *counters], strict=False)
        return [
            (row, count, before)
            for row, (count, before) in enumerate(pairs)
            if not before <= count <= self.parameters.omega
        ]

    def order_faults(self, data: bytes) -> list[tuple[int, int, int]]:
        """Return (row, position, previous position) where positions in a row do not increase."""
        faults, index = [], 0
        for row, count in enumerate(data[self.parameters.omega :]):
            positions = data[index:count]
            pairs = zip(positions[1:], positions, strict=False)
            faults += [(row, after, before) for after, before in pairs if after <= before]
            index = count
        return faults

    def padding_faults(self, data: bytes) -> list[int]:
        """Return the positions of non-zero bytes after the last hint."""
        return [i for i in range(data[-1], self.parameters.omega) if data[i]]

    def long_coefficients(self, z: Integers) -> list[tuple[int, int]]:
        """Return (row, position) of the coefficients of z that reach the bound."""
        return [(int(row), int(n)) for row, n in np.argwhere(np.abs(z) >= self.parameters.bound)]

    def ball_seed(self, seed: bytes) -> bytes:
        """Return the part of the challenge hash that determines the challenge polynomial."""
        return seed

    def corrected(self, hints: Integers, values: Integers) -> Integers:
        """Return the high parts of w' corrected by hints."""
        return model.use_hint(self.parameters, hints, values)

    def hashed_key(self, public_key: bytes) -> bytes:
        """Return the part of the public key that is hashed."""
        return public_key

    def prefix(self, context: bytes) -> bytes:
        """Return the prefix of the message."""
        return model.prefix(self.parameters, context)

    def same_challenge(self, signed: bytes, computed: bytes) -> bool:
        """Return whether the signature's challenge hash equals the computed one."""
        return signed == computed
