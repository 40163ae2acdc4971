"""The words in which a kernel is written: one method for each operation of the datapath.

Addresses are relative: `a` to `f` are the operands of the instruction; a `pair` counts values by
twos, with an extra bit for the `second` of both; offsets go so far into or behind a polynomial.
"""

from __future__ import annotations

from hls_kernels.rtl.assembler.schedule import Kernel, Operation

# Kinds of load; the argument is a place, which root, a constant, or an entry of a table.
MEMORY, ROOT, CONSTANT, TABLE = range(4)

# Kinds of the multiply slot.
PRODUCT, HORNER, RECIPROCAL, SQUARE_ROOT, FLOOR, HALVINGS, FRACTION, THRESHOLD = range(8)

HALF, QUARTER, WHOLE = 1, 2, 4
"""How far into the polynomial, or behind it: offsets that may be joined."""

# Tables that the sampler indexes: squares of base draws, candidates, multiples of log 2.
SQUARES, CANDIDATES, LOGS = 32, 64, 128
_TABLE = {CANDIDATES: 0, SQUARES: 1, LOGS: 2}

Complex = tuple[Operation, Operation]


class Body(Kernel):
    """A loop body with a word for each operation."""

    def _new(self, unit: str, operands: list[Operation], bank: str = "", **rest) -> Operation:
        pinned = rest.pop("pinned", None)
        operation = Operation(unit, operands, rest, bank, pinned=pinned)
        self.operations.append(operation)
        return operation

    def load(self, base: str, *, pair: int = 0, second: int = 0, offset: int = 0) -> Operation:
        """Load a word of memory; `second` of a `pair`."""
        return self._new("load", [], "L", kind=MEMORY, arg=_place(base, pair, second, offset))

    def complex(self, base: str, **where: int) -> Complex:
        """Load a complex value: imaginary parts fill the second half of a polynomial."""
        return self.load(base, **where), self.load(base, offset=HALF, **where)

    def root(self) -> Complex:
        """Load the next root of unity."""
        return tuple(self._new("load", [], "L", kind=ROOT, arg=part) for part in (0, 1))

    def constant(self, index: int) -> Operation:
        """Load a constant of the degree, or a coefficient."""
        return self._new("load", [], "L", kind=CONSTANT, arg=index)

    def table(self, table: int, index: int) -> Operation:
        """Load what a draw (candidate, square) or a lane (multiple of log 2) chooses."""
        return self._new("load", [], "L", kind=TABLE, arg=_TABLE[table] << 3 | index)

    def mul(self, x: Operation, y: Operation, pinned: int | None = None) -> Operation:
        """Multiply."""
        return self._new("multiply", [x, y], "M", kind=PRODUCT, pinned=pinned)

    def add(
        self, x: Operation, y: Operation, *, halve: int = 0, pinned: int | None = None
    ) -> Operation:
        """Add; or half of it."""
        return self._new("add", [x, y], "A", subtract=0, halve=halve, pinned=pinned)

    def sub(
        self, x: Operation, y: Operation, *, halve: int = 0, pinned: int | None = None
    ) -> Operation:
        """Subtract; or half of it."""
        return self._new("add", [x, y], "A", subtract=1, halve=halve, pinned=pinned)

    def reciprocal(self, x: Operation, divider: int = 0) -> Operation:
        """Divide one by x."""
        return self._new("divide", [x], "M", kind=RECIPROCAL, b_bank=2 * divider)

    def square_root(self, x: Operation) -> Operation:
        """Take the root of x."""
        return self._new("root", [x], "M", kind=SQUARE_ROOT)

    def hold_square_root(self, x: Operation, after: Operation) -> None:
        """Take the root of x for a later kernel: it stays in the divider."""
        # Bit 0 of port b's bank says that no register takes the result.
        held = self._new("root", [x], kind=SQUARE_ROOT, b_bank=1)
        held.after.append((after, after.latency))

    def convert(self, kind: int, x: Operation, to: int = 0) -> Operation:
        """Make an integer of x, for the register `to` outside the banks."""
        return self._new("convert", [x], kind=kind, to=to)

    def fraction(self, x: Operation, pinned: int | None = None) -> Operation:
        """Make the even integer below x * 2^64 of 0 <= x < 1."""
        return self._new("convert", [x], "L", kind=FRACTION, pinned=pinned)

    def store(
        self, x: Operation, base: str, *, pair: int = 0, second: int = 0, offset: int = 0,
        negate: int = 0,
    ) -> None:  # fmt: skip
        """Write a word of memory."""
        place = _place(base, pair, second, offset)
        self._new("store", [x], place=place, negate=negate)

    def store_complex(self, x: Complex, base: str, *, step: int = HALF, **where: int) -> None:
        """Write a complex value whose parts are `step` apart."""
        self.store(x[0], base, **where)
        self.store(x[1], base, offset=step, **where)

    def product(
        self, a: Complex, b: Complex, *, conjugate: bool = False, halve: int = 0
    ) -> Complex:
        """Multiply to a b, or a conj(b): signs go into the sums."""
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
        """Write an even part, and the odd part half a polynomial behind it."""
        for part, further in zip(parts, (0, HALF), strict=True):
            self.store(part[0], base, offset=offset + further)
            self.store(part[1], base, offset=offset + further + QUARTER)


def _place(base: str, pair: int, second: int, offset: int) -> int:
    return "abcdef".index(base) | pair << 3 | second << 4 | offset << 5
