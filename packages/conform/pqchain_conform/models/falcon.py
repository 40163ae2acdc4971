"""Model of Falcon (specification 1.2, round 3): encodings, and verification by rules.

Written from the specification, independent of the tested C code, with integers only.
`FalconVerifier.checks` continues after a rule that fails, unless the remaining rules cannot be
applied. Rules that the specification leaves to the verifier are marked as open: the form with or
without padding, the uncompressed form, and coefficients that the reference code does not encode.
Each rule is a method, so that a mutant is a subclass that overrides one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import shake_256

import numpy as np
from numpy.typing import NDArray

from pqchain_conform.models.checks import ReferenceModel, RuleCheck

Integers = NDArray[np.int64]

Q = 12289
SALT_BYTES = 40
MAX_COEFFICIENT = 2047
"""Greatest absolute coefficient of s2 that the reference code encodes and decodes."""
SECOND_ROUND_BOUNDS = {512: 43533782, 1024: 87067565}
"""Bound on the squared norm in the reference code of the second-round submission, by n."""


@dataclass(frozen=True, slots=True)
class FalconParameters:
    """One column of the specification's table 3.3, with padded or unpadded signatures."""

    name: str
    n: int
    bound: int
    """Greatest squared norm of a signature."""
    padded_bytes: int
    padded: bool

    @property
    def log_n(self) -> int:
        """Binary logarithm of n, in the low bits of both header bytes."""
        return self.n.bit_length() - 1

    @property
    def public_key_bytes(self) -> int:
        """Length of a public key: a header byte and n values of 14 bits."""
        return 1 + 14 * self.n // 8


PARAMETER_SETS = {
    parameters.name: parameters
    for parameters in (
        FalconParameters("Falcon-512", 512, 34034726, 666, False),
        FalconParameters("Falcon-1024", 1024, 70265242, 1280, False),
        FalconParameters("Falcon-padded-512", 512, 34034726, 666, True),
        FalconParameters("Falcon-padded-1024", 1024, 70265242, 1280, True),
    )
}


def centred(values: Integers) -> Integers:
    """Reduce values modulo q to representatives in (-q/2, q/2)."""
    reduced: Integers = (values + Q // 2) % Q - Q // 2
    return reduced


def times(a: Integers, b: Integers) -> Integers:
    """Return the product of two polynomials modulo x^n + 1, over the integers."""
    # The convolution of int64 arrays is exact; x^n = -1 folds its upper half back with a minus.
    n = len(a)
    full = np.convolve(a, b)
    product: Integers = full[:n] - np.append(full[n:], 0)
    return product


def samples_used(n: int, data: bytes, limit: int = 5 * Q) -> Integers:
    """Return the 16-bit samples drawn until n of them are below `limit` (algorithm 3)."""
    samples = np.frombuffer(shake_256(data).digest(4 * n), ">u2").astype(np.int64)
    accepted = np.flatnonzero(samples < limit)
    assert len(accepted) >= n, "fewer than n of 2n samples are below the limit: 1 in 2^300"
    return samples[: accepted[n - 1] + 1]


@lru_cache(maxsize=4096)
def hash_to_point(n: int, data: bytes, limit: int = 5 * Q) -> Integers:
    """Return the n coefficients to which `data`, salt and message, hashes (algorithm 3)."""
    samples = samples_used(n, data, limit)
    return samples[samples < limit] % Q


def to_bytes(bits: str) -> bytes:
    """Return bits as bytes, highest bit first, padded with zeros."""
    bits += "0" * (-len(bits) % 8)
    return int(bits or "0", 2).to_bytes(len(bits) // 8, "big")


def to_bits(data: bytes) -> str:
    """Return the bits of bytes, highest bit first."""
    return f"{int.from_bytes(data, 'big'):0{8 * len(data)}b}" if data else ""


def compress(s2: Sequence[int]) -> str:
    """Compress s2 to bits: for each value, sign, seven low bits, rest in unary (algorithm 17)."""
    return "".join(f"{int(v < 0)}{abs(v) & 127:07b}{'0' * (abs(v) >> 7)}1" for v in map(int, s2))


@dataclass(frozen=True, slots=True)
class Decoded:
    """Result of decoding the compressed bits of s2."""

    s2: list[int]
    """The coefficients; fewer than n if the bits end early."""
    minus_zeros: list[int]
    used_bits: int


@lru_cache(maxsize=4096)
def decompress(n: int, data: bytes) -> Decoded:
    """Decode n coefficients (algorithm 18), without the validity checks of the algorithm."""
    bits, at = to_bits(data), 0
    s2: list[int] = []
    minus_zeros = []
    while len(s2) < n:
        end = bits.find("1", at + 8)
        if end < 0:
            break
        size = int(bits[at + 1 : at + 8], 2) + 128 * (end - at - 8)
        if bits[at] == "1" and not size:
            minus_zeros.append(len(s2))
        s2.append(-size if bits[at] == "1" else size)
        at = end + 1
    return Decoded(s2, minus_zeros, at)


def encode_key(coefficients: Sequence[int], header: int | None = None) -> bytes:
    """Return an encoded public key: header, 14 bits per coefficient (section 3.11.4)."""
    n = len(coefficients)
    head = n.bit_length() - 1 if header is None else header
    return bytes([head]) + to_bytes("".join(f"{int(value):014b}" for value in coefficients))


@lru_cache(maxsize=256)
def decode_key(body: bytes) -> Integers:
    """Return the 14-bit values of a public key without its header; values of q or more are kept."""
    bits = np.unpackbits(np.frombuffer(body, np.uint8)).reshape(-1, 14)
    values: Integers = bits @ (np.int64(1) << np.arange(13, -1, -1))
    return values


def encode_uncompressed(s2: Sequence[int]) -> bytes:
    """Encode s2 with 12 bits per coefficient, in two's complement (section 3.11.3, cc = 10)."""
    return to_bytes("".join(f"{int(value) & 4095:012b}" for value in s2))


@lru_cache(maxsize=4096)
def _first_half(h: bytes, s2: tuple[int, ...], salt: bytes, message: bytes, limit: int) -> Integers:
    """Return s1 = c - s2 h modulo q, centred. Cached, because most mutants share the result."""
    c = hash_to_point(len(s2), salt + message, limit)
    # Key values from q on are reduced, so that the norm rule can be applied to them too.
    return centred(c - times(np.array(s2, dtype=np.int64), decode_key(h) % Q))


class FalconVerifier(ReferenceModel):
    """Falcon verifier for one parameter set; its methods are the rules, in order of application."""

    sample_limit = 5 * Q
    """Hash samples of this value or more are rejected (algorithm 3)."""

    def __init__(self, name: str) -> None:
        self.parameters = PARAMETER_SETS[name]

    def checks(
        self, message: bytes, signature: bytes, public_key: bytes, context: bytes = b""
    ) -> Iterator[RuleCheck]:
        """Yield the result of each rule; stop at a failure that makes the others inapplicable."""
        p = self.parameters
        section = "Falcon 1.2, section 3.11.4"
        if context:
            # Falcon's hash does not cover a context, so no other rule can be applied.
            yield RuleCheck("context", "Falcon 1.2, algorithm 16", False, "Falcon has no context")
            return
        fits = self.key_fits(len(public_key))
        detail = f"{len(public_key)} bytes; {p.name} has {p.public_key_bytes}"
        yield RuleCheck("public key length", section, fits, detail)
        if not fits:
            return
        detail = f"{public_key[0]:02x}; expected {p.log_n:02x}"
        yield RuleCheck("public key header", section, self.key_header_fits(public_key[0]), detail)
        h = public_key[1 : p.public_key_bytes]
        large = self.large_values(decode_key(h))
        detail = "every value of h is below q"
        if large:
            detail = f"h[{large[0]}] = {decode_key(h)[large[0]]}; it must be below q = {Q}"
        yield RuleCheck("public key range", section, not large, detail)
        yield from self.signature_checks(message, signature, h)

    def signature_checks(self, message: bytes, signature: bytes, h: bytes) -> Iterator[RuleCheck]:
        """Yield the results of the signature rules; `h` is a key of valid length, headerless."""
        p = self.parameters
        section = "Falcon 1.2, section 3.11.3"
        enough = len(signature) > 1 + SALT_BYTES
        detail = f"{len(signature)} bytes; header and salt take {1 + SALT_BYTES}"
        yield RuleCheck("signature length", section, enough, detail)
        if not enough:
            return
        header, salt = signature[0], signature[1 : 1 + SALT_BYTES]
        body = signature[1 + SALT_BYTES :]
        if header == 0x50 + p.log_n and len(body) == 12 * p.n // 8:
            yield from self.uncompressed_checks(message, salt, body, h)
            return
        detail = f"{header:02x}; expected {0x30 + p.log_n:02x}"
        yield RuleCheck("signature header", section, self.header_fits(header), detail)

        decoded = decompress(p.n, body)
        complete = len(decoded.s2) == p.n
        detail = f"the bits encode {len(decoded.s2)} of {p.n} coefficients"
        yield RuleCheck("end of s2", "Falcon 1.2, algorithm 18, line 6", complete, detail)
        if not complete:
            return
        signed = self.signed_zeros(decoded)
        detail = f"s2[{signed[0]}] is a negative zero" if signed else "no zero is negative"
        yield RuleCheck("minus zero", "Falcon 1.2, algorithm 18, line 9", not signed, detail)
        yield from self.padding_checks(body, decoded.used_bits)
        yield from self.norm_checks(message, salt, decoded.s2, h)

    def padding_checks(self, body: bytes, used_bits: int) -> Iterator[RuleCheck]:
        """Yield the results of the rules on the bits and bytes after the last coefficient."""
        p = self.parameters
        used = -(-used_bits // 8)
        spare = to_bits(body[used - 1 : used])[used_bits - 8 * (used - 1) :]
        yield RuleCheck(
            "unused bits",
            "Falcon 1.2, algorithm 18, line 12",
            self.unused_bits_fit(spare),
            f"the last byte of s2 ends in {spare or 'no spare bits'}; all must be 0",
        )
        padding = body[used:]
        faults = self.padding_faults(padding)
        yield RuleCheck(
            "padding",
            "Falcon 1.2, section 3.11.3",
            not faults,
            f"byte {faults[0]} of the padding is {padding[faults[0]]}; it must be 0"
            if faults else f"{len(padding)} bytes of padding, all zero",
        )  # fmt: skip
        length = 1 + SALT_BYTES + len(body)
        is_padded, is_unpadded = length == p.padded_bytes, not padding
        fits = self.length_fits(length, len(padding))
        # The specification defines padded and unpadded signatures. It leaves open whether to accept
        # a complete signature of the other form; any other length is invalid.
        yield RuleCheck(
            "form",
            "Falcon 1.2, section 3.11.3",
            fits,
            f"{length} bytes with {len(padding)} of padding; {p.name} has "
            + (f"{p.padded_bytes}" if p.padded else "no padding"),
            open=is_padded or is_unpadded,
        )

    def uncompressed_checks(
        self, message: bytes, salt: bytes, body: bytes, h: bytes
    ) -> Iterator[RuleCheck]:
        """Yield the results of the rules on the uncompressed form, whose support is optional."""
        detail = "the form is uncompressed (cc = 10); expected the compressed form"
        form = "Falcon 1.2, section 3.11.3"
        yield RuleCheck("form", form, False, detail, open=True)
        bits = to_bits(body)
        values = [int(bits[i : i + 12], 2) for i in range(0, len(bits), 12)]
        s2 = [value - 4096 if value >= 2048 else value for value in values]
        fits = min(s2) > -2048
        detail = f"the least coefficient is {min(s2)}; it must be above -2048"
        yield RuleCheck("range of s2", form, fits, detail)
        yield from self.norm_checks(message, salt, s2, h)

    def norm_checks(
        self, message: bytes, salt: bytes, s2: Sequence[int], h: bytes
    ) -> Iterator[RuleCheck]:
        """Yield the results of the rules on the size of coefficients and on the norm."""
        p = self.parameters
        longest = max(map(abs, s2))
        yield RuleCheck(
            "size of s2",
            "Falcon 1.2, algorithm 18; the reference code allows at most 2047",
            self.size_fits(longest),
            f"the greatest |s2[i]| is {longest}; the reference code allows {MAX_COEFFICIENT}",
            open=True,
        )
        s1 = self.first_half(h, tuple(s2), salt, message)
        first, second = int(s1 @ s1), sum(value * value for value in s2)
        yield RuleCheck(
            "norm",
            "Falcon 1.2, algorithm 16, line 6",
            self.norm_fits(first, second),
            f"|s1|^2 + |s2|^2 = {first} + {second} = {first + second}; at most {p.bound}",
        )

    def key_fits(self, length: int) -> bool:
        """Return whether a public key may have this length in bytes."""
        return length == self.parameters.public_key_bytes

    def key_header_fits(self, header: int) -> bool:
        """Return whether a public key may have this header byte."""
        return header == self.parameters.log_n

    def large_values(self, h: Integers) -> list[int]:
        """Return the positions of key values that are at least q."""
        return [int(i) for i in np.flatnonzero(h >= Q)]

    def header_fits(self, header: int) -> bool:
        """Return whether a compressed signature may have this header byte."""
        return header == 0x30 + self.parameters.log_n

    def signed_zeros(self, decoded: Decoded) -> list[int]:
        """Return the positions of zero coefficients of s2 with the sign bit set."""
        return decoded.minus_zeros

    def unused_bits_fit(self, spare: str) -> bool:
        """Return whether the bits after s2 in its last byte are zero."""
        return "1" not in spare

    def padding_faults(self, padding: bytes) -> list[int]:
        """Return the positions of non-zero bytes in the padding."""
        return [i for i, byte in enumerate(padding) if byte]

    def length_fits(self, length: int, padding: int) -> bool:
        """Return whether a signature may have this length and padding, both in bytes."""
        p = self.parameters
        return length == p.padded_bytes if p.padded else not padding

    def size_fits(self, longest: int) -> bool:
        """Return whether a coefficient of s2 may have this absolute value."""
        return longest <= MAX_COEFFICIENT

    def first_half(self, h: bytes, s2: tuple[int, ...], salt: bytes, message: bytes) -> Integers:
        """Return s1, the first half of the signature."""
        return _first_half(h, s2, salt, message, self.sample_limit)

    def norm_fits(self, first: int, second: int) -> bool:
        """Return whether the sum of the squared norms of s1 and s2 is within the bound."""
        return first + second <= self.parameters.bound
