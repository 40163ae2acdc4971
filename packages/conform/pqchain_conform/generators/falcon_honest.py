"""Falcon vectors under a key of liboqs; the secret key is used to reach norms near the bound.

Adding a multiple of (g, -f) to a signature (s1, s2) gives another solution of the verification
equation. As f and g are short, adding one or two such vectors reaches any squared norm near the
bound.
"""

from __future__ import annotations

from functools import cache
from hashlib import shake_256

import numpy as np

from pqchain.crypto import native, open_signer
from pqchain_conform.generators.falcon_forms import Encodings, SignatureParts
from pqchain_conform.models import falcon as model
from pqchain_conform.models.falcon import PARAMETER_SETS, Integers, Q
from pqchain_conform.vector import Collector

BUILD = "liboqs-0.13/ref"
"""Implementation that signs; its integer arithmetic gives the same bytes on every machine."""

SECRET_BITS = {512: 6, 1024: 5}
"""Bits per coefficient of f and g in an encoded secret key (section 3.11.5), by n."""


def extend(collector: Collector) -> None:
    """Add an algorithm's vectors under an honest key. Raises Unsupported if BUILD is missing."""
    p = PARAMETER_SETS[collector.algorithm]
    honest = key_and_signatures(p.n)
    encodings = Encodings(collector, "honest", honest.public_key)
    for delta, message, salt, s2 in at_the_bound(p.n):
        probe = f"squared norm {p.bound + delta}: the bound {delta:+d}"
        signature = encodings.signature(salt, model.compress(list(s2)))
        encodings.add("norm", probe, delta <= 0, message, signature)
    # at_the_bound() uses the first 16. The other encodings need a signature with unused bits, two
    # zeros and room for padding.
    for message, signature in honest.signatures[16:]:
        s2 = np.array(model.decompress(p.n, signature[41:]).s2)
        bits = model.compress(list(s2))
        zeros = [int(i) for i in np.flatnonzero(s2 == 0)]
        if 1 <= len(bits) % 8 <= 6 and len(zeros) > 1 and len(bits) < 8 * (p.padded_bytes - 45):
            encodings.add_all(SignatureParts(message, signature[1:41], s2, (zeros[0], zeros[-1])))
            break
    else:
        raise AssertionError("no signature has zeros and unused bits; sign more messages")


class HonestSignatures:
    """A key pair of liboqs with 48 signatures, from deterministic randomness."""

    def __init__(self, n: int) -> None:
        signer, library = open_signer(f"Falcon-{n}", BUILD), native.library(BUILD)
        drawn = 0

        def draw(count: int) -> bytes:
            nonlocal drawn
            drawn += 1
            return shake_256(f"pqchain conform Falcon-{n} {drawn}".encode()).digest(count)

        with library.randomness(draw):
            self.public_key, secret_key = signer.generate_keypair()
            messages = [b"honest %d" % i for i in range(48)]
            self.signatures = [(text, signer.sign(text, secret_key)) for text in messages]
        self.h = model.decode_key(self.public_key[1:])
        bits, width = model.to_bits(secret_key[1:]), SECRET_BITS[n]
        small = [int(bits[width * i : width * (i + 1)], 2) for i in range(2 * n)]
        signed = np.array([v - (1 << width) if v >> (width - 1) else v for v in small])
        self.f, self.g = signed[:n], signed[n:]
        # f h = g modulo q confirms that the secret key was decoded correctly.
        assert not ((model.times(self.f, self.h) - self.g) % Q).any()


key_and_signatures = cache(HonestSignatures)


@cache
def at_the_bound(n: int) -> list[tuple[int, bytes, bytes, Integers]]:
    """Return (squared norm - bound, message, salt, s2) for the differences -1, 0, 1 and 2."""
    honest, p = key_and_signatures(n), PARAMETER_SETS[f"Falcon-{n}"]
    shifter, results = SignatureShifter(honest), []
    for delta in (-1, 0, 1, 2):
        for message, signature in honest.signatures[:16]:
            salt, s2 = signature[1:41], np.array(model.decompress(n, signature[41:]).s2)
            c = model.hash_to_point(n, salt + message)
            s1 = model.centred(c - model.times(s2, honest.h))
            point = shifter.shifted(np.concatenate([s1, s2]), p.bound + delta)
            if point is None:
                continue
            s2 = point[n:]
            again = model.centred(c - model.times(s2, honest.h))
            fits = len(model.compress(list(s2))) <= 8 * (p.padded_bytes - 41)
            if fits and int(again @ again + s2 @ s2) == p.bound + delta:
                results.append((delta, message, salt, s2))
                break
        else:
            raise AssertionError(f"no signature reaches the bound {delta:+d}; sign more messages")
    return results


class SignatureShifter:
    """Changes norms of signatures by adding (g, -f) times powers of x, or their negatives."""

    def __init__(self, honest: HonestSignatures) -> None:
        n = len(honest.f)
        rows = [
            np.concatenate([_times_power(honest.g, i), _times_power(-honest.f, i)])
            for i in range(n)
        ]
        self.vectors = np.concatenate([np.array(rows), -np.array(rows)])
        self.random = np.random.default_rng(n)
        self.products = self._gram(self.vectors)
        self.second_products = self._gram(self.vectors[:, n:])
        self.length = int(self.products[0, 0])

    @staticmethod
    def _gram(vectors: Integers) -> Integers:
        # Floating-point products use BLAS and are exact here: the sums stay far below 2^53.
        exact = vectors.astype(float)
        products: Integers = (exact @ exact.T).astype(np.int64)
        return products

    def shifted(self, point: Integers, target: int) -> Integers | None:
        """Return `point`, (s1, s2), shifted to the squared norm `target`; None if that fails."""
        n = len(self.vectors) // 2
        missing = target - int(point @ point)
        # Increase of the squared norm of (s1, s2), and of s2 alone, by each vector.
        gain = 2 * (self.vectors @ point) + self.length
        longer = 2 * (self.vectors[:, n:] @ point[n:]) + int(self.second_products[0, 0])
        for _ in range(1000):
            if missing > 60_000:
                # Prefer steps that lengthen s1: the encoding of s2 has little room.
                away = np.abs(gain - min(missing - 30_000, 60_000)) + np.maximum(longer + 5_000, 0)
                step = int(away.argmin())
            else:
                if missing % 2 == 0:
                    pairs = gain[:, None] + gain[None, :] + 2 * self.products
                    for i, j in np.argwhere(pairs == missing)[:1000]:
                        if i % n != j % n:
                            shifted: Integers = point + self.vectors[i] + self.vectors[j]
                            return shifted
                elif self.length % 2 == 0:
                    return None  # single vectors and pairs change the norm by even numbers only
                step = int(self.random.choice(np.argsort(np.abs(gain), kind="stable")[:20]))
            point = point + self.vectors[step]
            missing -= int(gain[step])
            gain = gain + 2 * self.products[step]
            longer = longer + 2 * self.second_products[step]
        return None


def _times_power(a: Integers, i: int) -> Integers:
    return np.concatenate([-a[len(a) - i :], a[: len(a) - i]])
