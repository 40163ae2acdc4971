"""Record signing requests with the answers of liboqs for the benches.

    python hls_kernels/tools/vectors.py

Needs an installed pqchain with its native libraries. Keys and messages come from a fixed seed; the
answer of a request is decoded from the signature of liboqs with the same randomness.
"""

from __future__ import annotations

from pathlib import Path

from nist_drbg import NistDrbg

from pqchain import open_signer
from pqchain.crypto import native

FOLDER = Path(__file__).resolve().parent.parent / "csim" / "vectors"
COUNT = 3


def decompress(data: bytes, n: int) -> list[int]:
    """Return the coefficients of a compressed vector (specification, algorithm 18)."""
    bits = "".join(format(byte, "08b") for byte in data)
    values, at = [], 0
    for _ in range(n):
        low, at = int(bits[at + 1 : at + 8], 2), at + 8
        end = bits.index("1", at)
        size = low + 128 * (end - at)
        values.append(-size if bits[at - 8] == "1" else size)
        at = end + 1
    return values


def main() -> None:
    """Write a file for each degree."""
    kernel = native.library("falcon/kernel")
    for logn, n in ((9, 512), (10, 1024)):
        signer = open_signer(f"Falcon-{n}", "liboqs-0.13/ref")
        drbg = NistDrbg(bytes(range(48)))
        with native.library("liboqs-0.13/ref").randomness(drbg):
            _, secret_key = signer.generate_keypair()
        text = b""
        for index in range(COUNT):
            message, state = drbg(33 * (index + 1)), drbg.save()
            with native.library("liboqs-0.13/ref").randomness(drbg):
                signature = signer.sign(message, secret_key)
            drbg.restore(state)
            nonce, seed = drbg(40), drbg(48)
            assert signature[1:41] == nonce
            request = bytearray(6 * n + 56)
            kernel.call(
                "falcon_make_request", request, secret_key, nonce, message, len(message), logn
            )
            kernel.call("falcon_seed_request", request, seed, 0, logn)
            answer = decompress(signature[41:], n)
            text += bytes([logn]) + bytes(request)
            text += b"".join(value.to_bytes(2, "little", signed=True) for value in answer)
        (FOLDER / f"sign_{n}.bin").write_bytes(text)


if __name__ == "__main__":
    main()
