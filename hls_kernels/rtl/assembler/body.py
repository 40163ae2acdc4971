"""Operations of the datapath, as methods that build a kernel.

Addresses are relative: `a` to `f` are the operands of the instruction. A `pair` counts values by
twos, with an extra bit for the `second` of both. Offsets are fractions of a polynomial.
"""

from __future__ import annotations

from hls_kernels.rtl.assembler.schedule import Kernel, Operation

# Kinds of load; the argument is an address, a part of a root, a constant, or a table entry.
MEMORY, ROOT, CONSTANT, TABLE = range(4)

# Kinds of the multiply slot.
PRODUCT, HORNER, RECIPROCAL, SQUARE_ROOT, FLOOR, HALVINGS, FRACTION, THRESHOLD = range(8)

HALF, QUARTER, FULL = 1, 2, 4
"""Offsets in a polynomial, or behind it; they can be added."""

# Tables that the sampler indexes: squares of base draws, candidates, multiples of log 2.
SQUARES, CANDIDATES, LOGS = 32, 64, 128
_TABLE = {CANDIDATES: 0, SQUARES: 1, LOGS: 2}

Complex = tuple[Operation, Operation]


class Body(Kernel):
    """A loop body under construction."""

    def _new(self, unit: str, operands: list[Operation], bank: str = "", **rest) -> Operation:
        pinned = rest.pop("pinned", None)
        operation = Operation(unit, operands, rest, bank, pinned=pinned)
        self.operations.append(operation)
        return operation

    def load(self, base: str, *, pair: int = 0, second: int = 0, offset: int = 0) -> Operation:
        """Load a word of memory; `second` of a `pair`."""
        return self._new("load", [], "L", kind=MEMORY, arg=_address(base, pair, second, offset))

    def complex(self, base: str, **address: int) -> Complex:
        """Load a complex value: imaginary parts fill the second half of a polynomial."""
        return self.load(base, **address), self.load(base, offset=HALF, **address)

    def root(self) -> Complex:
        """Load the next root of unity."""
        return tuple(self._new("load", [], "L", kind=ROOT, arg=part) for part in (0, 1))

    def constant(self, index: int) -> Operation:
        """Load a constant of the degree, or a coefficient."""
        return self._new("load", [], "L", kind=CONSTANT, arg=index)

    def table(self, table: int, index: int) -> Operation:
        """Load the entry selected by a draw (candidate, square) or a lane (multiple of log 2)."""
        return self._new("load", [], "L", kind=TABLE, arg=_TABLE[table] << 3 | index)

    def mul(self, x: Operation, y: Operation, pinned: int | None = None) -> Operation:
        """Multiply."""
        return self._new("multiply", [x, y], "M", kind=PRODUCT, pinned=pinned)

    def add(
        self, x: Operation, y: Operation, *, halve: int = 0, pinned: int | None = None
    ) -> Operation:
        """Add; with `halve`, return half of the sum."""
        return self._new("add", [x, y], "A", subtract=0, halve=halve, pinned=pinned)

    def sub(
        self, x: Operation, y: Operation, *, halve: int = 0, pinned: int | None = None
    ) -> Operation:
        """Subtract; with `halve`, return half of the difference."""
        return self._new("add", [x, y], "A", subtract=1, halve=halve, pinned=pinned)

    def reciprocal(self, x: Operation) -> Operation:
        """Divide one by x."""
        return self._new("divide", [x], "M", kind=RECIPROCAL)

    def square_root(self, x: Operation) -> Operation:
        """Take the square root of x."""
        return self._new("root", [x], "M", kind=SQUARE_ROOT)

    def keep_square_root(self, x: Operation, after: Operation) -> None:
        """Take the square root of x for a later kernel; the result stays in the divider."""
        # Bit 0 of port b's bank means that no register takes the result.
        root = self._new("root", [x], kind=SQUARE_ROOT, b_bank=1)
        root.after.append((after, after.latency))

    def convert(self, kind: int, x: Operation, to: int = 0) -> Operation:
        """Convert x to an integer in the register `to` outside the banks."""
        return self._new("convert", [x], kind=kind, to=to)

    def fraction(self, x: Operation, pinned: int | None = None) -> Operation:
        """Return the greatest even integer up to x * 2^64, for 0 <= x < 1."""
        return self._new("convert", [x], "L", kind=FRACTION, pinned=pinned)

    def store(
        self, x: Operation, base: str, *, pair: int = 0, second: int = 0, offset: int = 0,
        negate: int = 0,
    ) -> None:  # fmt: skip
        """Write a word of memory."""
        self._new("store", [x], place=_address(base, pair, second, offset), negate=negate)

    def store_complex(self, x: Complex, base: str, *, step: int = HALF, **address: int) -> None:
        """Write a complex value whose parts are `step` apart."""
        self.store(x[0], base, **address)
        self.store(x[1], base, offset=step, **address)

    def product(
        self, a: Complex, b: Complex, *, conjugate: bool = False, halve: int = 0
    ) -> Complex:
        """Return a b, or a conj(b); the sums take the signs."""
        rr, ii = self.mul(a[0], b[0]), self.mul(a[1], b[1])
        ri, ir = self.mul(a[0], b[1]), self.mul(a[1], b[0])
        if conjugate:
            return self.add(rr, ii, halve=halve), self.sub(ir, ri, halve=halve)
        return self.sub(rr, ii, halve=halve), self.add(ri, ir, halve=halve)

    def plus(self, a: Complex, b: Complex, halve: int = 0) -> Complex:
        """Add complex values."""
        return self.add(a[0], b[0], halve=halve), self.add(a[1], b[1], halve=halve)

    def minus(self, a: Complex, b: Complex) -> Complex:
        """Subtract complex values."""
        return self.sub(a[0], b[0]), self.sub(a[1], b[1])

    def split(self, x: Complex, y: Complex, root: Complex) -> tuple[Complex, Complex]:
        """Split two neighbouring values into even and odd part."""
        odd = self.product(self.minus(x, y), root, conjugate=True, halve=1)
        return self.plus(x, y, halve=1), odd

    def store_parts(self, parts: tuple[Complex, Complex], base: str, *, offset: int = 0) -> None:
        """Write an even part, and the odd part half a polynomial after it."""
        for part, distance in zip(parts, (0, HALF), strict=True):
            self.store(part[0], base, offset=offset + distance)
            self.store(part[1], base, offset=offset + distance + QUARTER)


def _address(base: str, pair: int, second: int, offset: int) -> int:
    return "abcdef".index(base) | pair << 3 | second << 4 | offset << 5
