"""Compute every constant table of the signer from its formula and write the two headers.

    python hls_kernels/tools/tables.py

Writes src/tables.h (roots of unity, deviations, base sampler) and ../pqchain/native/falcon/roots.h
(the number-theoretic transform). Sections, equations and algorithms are those of the Falcon
specification, version 1.2. Values are computed in decimal arithmetic and rounded once to binary64,
because two implementations agree on every bit only if their tables do.
"""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from pathlib import Path

getcontext().prec = 80
HERE = Path(__file__).resolve().parent
Q = 12289
"""The modulus, section 3.13.1."""


def arctangent_of_inverse(x: int) -> Decimal:
    """Return arctan(1/x)."""
    power = total = Decimal(1) / x
    index = 1
    while abs(power) > Decimal(10) ** -75:
        power /= -x * x
        index += 2
        total += power / index
    return total


PI = 4 * (4 * arctangent_of_inverse(5) - arctangent_of_inverse(239))


def cosine_and_sine(angle: Decimal) -> tuple[Decimal, Decimal]:
    """Return cos and sin of an angle between 0 and pi/2."""
    sums = [Decimal(0), Decimal(0)]
    term, index = Decimal(1), 0
    while abs(term) > Decimal(10) ** -75:
        sums[index % 2] += term if index % 4 < 2 else -term
        index += 1
        term = term * angle / index
    return sums[0], sums[1]


def reversed_bits(value: int, width: int) -> int:
    """Return the number whose bits are those of `value`, last first."""
    return int(format(value, f"0{width}b")[::-1], 2)


def roots() -> list[tuple[float, float]]:
    """Return the roots of unity of the transform.

    Entry k (1 <= k < 512), with m = 2^(bits of k), belongs to group k - m/2 of the pass that has m
    groups of two: exp(i pi r / 1024), where r is m + (k - m/2) with its ten bits reversed.
    """
    table = [(1.0, 0.0)]
    for k in range(1, 512):
        m = 1 << k.bit_length()
        angle = PI * reversed_bits(m + k - m // 2, 10) / 1024
        table.append(tuple(float(part) for part in cosine_and_sine(angle)))
    return table


def deviations(logn: int) -> tuple[float, float]:
    """Return 1/sigma and sigma_min of degree 2^logn, equation 2.13 with 2^64 signing queries."""
    n = 1 << logn
    security = {512: 128, 1024: 256}.get(n, 128)
    inverse_epsilon = (Decimal(security) * 2**64).sqrt()
    sigma_min = (((4 * n * (1 + inverse_epsilon)).ln()) / 2).sqrt() / PI
    sigma = sigma_min * Decimal("1.17") * Decimal(Q).sqrt()
    inverse_sigma = float(1 / sigma)
    if n == 1024:
        # The submission's constant is one unit in the last place above the nearest binary64, and
        # every signer of round 3 has it: the same bits need the same error.
        inverse_sigma = math.nextafter(inverse_sigma, 1)
    return inverse_sigma, float(sigma_min)


def base_sampler() -> list[int]:
    """Return the reverse cumulative distribution of the half Gaussian, 72 bits, table 3.1."""
    return [
        3024686241123004913666, 1564742784480091954050, 636254429462080897535,
        199560484645026482916, 47667343854657281903, 8595902006365044063, 1163297957344668388,
        117656387352093658, 8867391802663976, 496969357462633, 20680885154299, 638331848991,
        14602316184, 247426747, 3104126, 28824, 198, 1,
    ]  # fmt: skip


def ntt_roots() -> tuple[list[int], list[int]]:
    """Return the powers of a 2048th root of unity modulo q in bit-reversed order, and inverses."""
    root = next(r for r in range(2, Q) if pow(r, 1024, Q) == Q - 1)
    forward = [pow(root, reversed_bits(k, 10), Q) for k in range(1024)]
    return forward, [pow(value, Q - 2, Q) for value in forward]


def wrapped(values: list[str], width: int = 100) -> str:
    """Return the values separated by commas, wrapped to `width` columns."""
    rows, row = [], "   "
    for value in values:
        if len(row) + len(value) + 2 > width:
            rows.append(row)
            row = "   "
        row += f" {value},"
    return "\n".join([*rows, row])


def main() -> None:
    """Write both headers."""
    inverse_sigma, sigma_min = zip(*(deviations(logn) for logn in (9, 10)), strict=True)
    sigma0 = Decimal("1.8205")
    log2 = Decimal(2).ln()
    floats = {
        "inverse_q": 1 / Decimal(Q),
        "inverse_2_sigma0_squared": 1 / (2 * sigma0 * sigma0),
        "log_2": log2,
        "inverse_log_2": 1 / log2,
    }
    base = base_sampler()
    text = [
        "// Made by tools/tables.py from the formulas of the Falcon specification; do not edit.",
        "#ifndef FALCON_TABLES_H", "#define FALCON_TABLES_H", "", "#include <stdint.h>", "",
        "namespace falcon_tables {", "",
        "// exp(i pi r / 1024) for the passes of the transform: real part, imaginary part.",
        "static const double roots[512][2] = {",
        wrapped([f"{{{a!r}, {b!r}}}" for a, b in roots()]), "};", "",
        "// Of degree 512 and 1024.",
        f"static const double inverse_sigma[2] = {{{inverse_sigma[0]!r}, {inverse_sigma[1]!r}}};",
        f"static const double sigma_min[2] = {{{sigma_min[0]!r}, {sigma_min[1]!r}}};", "",
        *(f"static const double {name} = {float(value)!r};" for name, value in floats.items()), "",
        "// Entry i is 2^72 times the probability of more than i; high 8 and low 64 bits.",
        f"static const uint8_t base_high[{len(base)}] = {{",
        wrapped([str(v >> 64) for v in base]), "};",
        f"static const uint64_t base_low[{len(base)}] = {{",
        wrapped([f"{v % 2**64:#018x}u" for v in base]), "};", "",
        "}  // namespace falcon_tables", "", "#endif",
    ]  # fmt: skip
    (HERE.parent / "src" / "tables.h").write_text("\n".join(text) + "\n", encoding="utf-8")
    forward, inverse = ntt_roots()
    text = [
        "/* Made by hls_kernels/tools/tables.py; do not edit. Powers of a primitive 2048th root of",
        " * unity modulo 12289, exponents in bit-reversed order, and their inverses. */",
        "#ifndef FALCON_ROOTS_H", "#define FALCON_ROOTS_H", "", "#include <stdint.h>", "",
        "static const uint16_t ntt_roots[1024] = {", wrapped([str(v) for v in forward]), "};", "",
        "static const uint16_t ntt_inverse_roots[1024] = {", wrapped([str(v) for v in inverse]),
        "};", "", "#endif",
    ]  # fmt: skip
    native = HERE.parent.parent / "pqchain" / "native" / "falcon"
    (native / "roots.h").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
