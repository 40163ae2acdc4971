"""Alternative encodings of a Falcon signature, which can be made without the secret key."""

from __future__ import annotations

from dataclasses import dataclass

from pqchain_conform.models import falcon as model
from pqchain_conform.models.falcon import PARAMETER_SETS, Integers, Q
from pqchain_conform.vector import Collector, flip


@dataclass(frozen=True, slots=True)
class SignatureParts:
    """A message, and the salt and s2 of a valid signature of it."""

    message: bytes
    salt: bytes
    s2: Integers
    zeros: tuple[int, ...]
    """Positions where s2 is zero."""

    @property
    def bits(self) -> str:
        """Compressed s2, as a string of the digits 0 and 1."""
        return model.compress(list(self.s2))


class Encodings:
    """Generator of vectors with alternative encodings, for one algorithm and public key."""

    def __init__(self, collector: Collector, kind: str, public_key: bytes) -> None:
        self.collector = collector
        self.p = PARAMETER_SETS[collector.algorithm]
        self.kind, self.public_key = kind, public_key
        self.prefix = "honest key, " if kind == "honest" else ""
        # Header and salt take 1 + 40 bytes.
        self.room = self.p.padded_bytes - 41

    def signature(self, salt: bytes, bits: str, header: int | None = None) -> bytes:
        """Return the encoded signature, padded with zeros if the algorithm's form is padded."""
        head = bytes([0x30 + self.p.log_n if header is None else header])
        body = model.to_bytes(bits)
        return head + salt + (body.ljust(self.room, b"\0") if self.p.padded else body)

    def add(
        self,
        family: str,
        probe: str,
        expected: str | bool,
        message: bytes,
        signature: bytes,
        public_key: bytes | None = None,
    ) -> None:
        """Add a vector, under the generator's key unless `public_key` is given."""
        self.collector.add(
            family, self.prefix + probe, expected, key=self.kind, message=message,
            signature=signature, public_key=self.public_key if public_key is None else public_key,
        )  # fmt: skip

    def add_all(self, parts: SignatureParts) -> None:
        """Add vectors with all changes below of the signature, the key, the salt or the message."""
        self.signs_and_bits(parts)
        self.padding(parts)
        self.truncated(parts)
        self.headers(parts)
        self.uncompressed(parts)
        self.keys(parts)
        self.salts(parts)

    def signs_and_bits(self, m: SignatureParts) -> None:
        """Add vectors with sign bits set on zeros, or with bits set after the last coefficient."""
        bits = m.bits
        good = self.signature(m.salt, bits)
        self.add("form", "all as it should be", True, m.message, good)
        # A minus zero or a set unused bit is a second encoding of the same signature; a verifier
        # that accepts it makes signatures malleable.
        for i in m.zeros:
            at = len(model.compress(list(m.s2[:i])))
            other = bits[:at] + "1" + bits[at + 1 :]
            probe = f"minus zero at s2[{i}]"
            self.add("minus-zero", probe, False, m.message, self.signature(m.salt, other))
        spare = -len(bits) % 8
        for position in range(spare):
            other = bits + "0" * position + "1"
            probe = f"bit {position} of {spare} behind the last coefficient"
            self.add("unused-bits", probe, False, m.message, self.signature(m.salt, other))

    def padding(self, m: SignatureParts) -> None:
        """Add vectors whose padding is non-zero, partial, or that of the other form."""
        bare = self.signature(m.salt, m.bits)[:41] + model.to_bytes(m.bits)
        full = bare.ljust(self.p.padded_bytes, b"\0")
        room = len(full) - len(bare)
        for position, name in ((len(bare), "first"), (len(full) - 1, "last")):
            for value in (1, 128, 255):
                other = full[:position] + bytes([value]) + full[position + 1 :]
                probe = f"padded, {name} byte of padding {value}"
                self.add("padding", probe, False, m.message, other)
        for count in (1, 2, room - 1, room + 1):
            probe = f"{count} bytes of padding where {room} fill it"
            self.add("padding", probe, False, m.message, bare + bytes(count))
        for value in (1, 128, 255):
            probe = f"byte {value} behind the last coefficient, no padding"
            self.add("padding", probe, False, m.message, bare + bytes([value]))
            probe = f"byte {value} behind the padding"
            self.add("padding", probe, False, m.message, full + bytes([value]))
        # The specification defines both forms but leaves it to a verifier which ones it accepts.
        if self.p.padded:
            self.add("form", "no padding", "acceptable", m.message, bare)
        else:
            self.add("form", "padded", "acceptable", m.message, full)

    def truncated(self, m: SignatureParts) -> None:
        """Add vectors with truncated signatures."""
        good = self.signature(m.salt, m.bits)
        body = model.to_bytes(m.bits)
        for name, other in (
            ("empty", b""),
            ("the header alone", good[:1]),
            ("one byte less than header and salt", good[:40]),
            ("header and salt", good[:41]),
            ("one byte of s2", good[:42]),
            ("half of s2", good[: 41 + len(body) // 2]),
            ("last byte of s2 missing", good[: 40 + len(body)]),
        ):
            self.add("truncated", f"signature ends early: {name}", False, m.message, other)
        endless = self.signature(m.salt, m.bits[:-1] + "0")
        self.add("truncated", "the last coefficient does not end", False, m.message, endless)
        zeros = good[:41] + bytes(self.room)
        self.add("truncated", "s2 of zero bytes", False, m.message, zeros)

    def headers(self, m: SignatureParts) -> None:
        """Add vectors with each header bit flipped, and with headers of other degrees and forms."""
        right = 0x30 + self.p.log_n
        values = [right ^ 1 << bit for bit in range(8)]
        values += [self.p.log_n, 0x20 + self.p.log_n, 0x50 + self.p.log_n, 0x30, 0x3F, 0xFF]
        for value in dict.fromkeys(values):
            other = self.signature(m.salt, m.bits, value)
            self.add("header", f"signature header {value:02x}", False, m.message, other)

    def uncompressed(self, m: SignatureParts) -> None:
        """Add vectors in the form with 12 bits per coefficient, whose support is optional."""
        head = bytes([0x50 + self.p.log_n]) + m.salt
        body = model.encode_uncompressed(list(m.s2))
        self.add("form", "uncompressed", "acceptable", m.message, head + body)
        wrong = bytes([0x30 + self.p.log_n]) + m.salt + body
        probe = "uncompressed, with the header of the compressed form"
        self.add("form", probe, False, m.message, wrong)
        lowest = model.encode_uncompressed([-2048, *m.s2[1:]])
        probe = "uncompressed, with a coefficient of -2048"
        self.add("form", probe, False, m.message, head + lowest)

    def keys(self, m: SignatureParts) -> None:
        """Add vectors with alternative and invalid encodings of the public key."""
        good = self.signature(m.salt, m.bits)
        h = [int(value) for value in model.decode_key(self.public_key[1:])]
        # Only these values leave room for a second encoding, h + q, in 14 bits.
        small = [i for i, value in enumerate(h) if value + Q < 1 << 14]
        log_n, key = self.p.log_n, self.public_key
        others = [
            (f"h[{i}] + q", model.encode_key([*h[:i], h[i] + Q, *h[i + 1 :]]))
            for i in (small[0], small[len(small) // 2], small[-1])
        ]
        for value in (0, 19 - log_n, *(log_n ^ 1 << bit for bit in range(4, 8))):
            others.append((f"header {value:02x}", bytes([value]) + key[1:]))
        others += [
            ("a zero appended", key + b"\0"),
            ("last byte missing", key[:-1]),
            ("without its header", key[1:]),
            ("empty", b""),
        ]
        for name, other in others:
            self.add("key", f"public key: {name}", False, m.message, good, other)

    def salts(self, m: SignatureParts) -> None:
        """Add vectors with changed salts and messages, and a message byte moved into the salt."""
        good = self.signature(m.salt, m.bits)
        for i in (0, 1, 20, 38, 39):
            self.add("salt", f"salt changed in byte {i}", False, m.message, flip(good, 1 + i))
        self.add("salt", "message changed", False, flip(m.message, 0), good)
        moved = good[:1] + m.message[:1] + m.salt[1:] + good[41:]
        probe = "first byte of the message moved into the salt"
        self.add("salt", probe, False, m.message[1:], moved)
