"""The vector kernels of the engine: what `hls_kernels/src` says in C++, as dataflow.

Each function builds one loop body. Addresses are relative: `a` to `d` are the operands of the
instruction; a `pair` counts values by twos, with an
extra bit for the `second` of both; offsets go so far into or behind a polynomial. The order of
operations is that of the C++, because every bit depends on it.
"""

from __future__ import annotations

from hls_kernels.rtl.assembler.schedule import Kernel, Operation, given

# Kinds of load; the argument is a place, which root, a constant, or an entry of a table.
MEMORY, ROOT, CONSTANT, TABLE = range(4)

# Kinds of the multiply slot.
PRODUCT, HORNER, RECIPROCAL, SQUARE_ROOT, FLOOR, HALVINGS, FRACTION, THRESHOLD = range(8)

HALF, QUARTER, WHOLE = 1, 2, 4
"""How far into the polynomial, or behind it: offsets that may be joined."""

# Constants in the read-only memory behind the roots; each degree has its eight.
(
    ONE_HALF, MAGIC, INVERSE_Q, MINUS_INVERSE_Q, INVERSE_LOG_2, SIGMA_MIN, INVERSE_SIGMA, SCALE,
) = range(8)  # fmt: skip
COEFFICIENTS = 16
"""Of the polynomial for exp(-x): 13 integers."""

# Tables that the sampler indexes: squares of base draws, candidates, multiples of log 2.
SQUARES, CANDIDATES, LOGS = 32, 64, 128
_TABLE = {CANDIDATES: 0, SQUARES: 1, LOGS: 2}

DRAWS = 4
"""How many draws one round of the sampler can look at."""

LANES = ((0, 0), (0, 1), (1, 1), (1, 2), (1, 3))
"""A round tests candidates for two samples at once. Each lane: which sample, which draw. The second
sample's draws begin behind the first's accepted one, which is not known yet: so two guesses."""

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


def forward() -> Kernel:
    """Transform: one pass on a."""
    k = Body("forward", "quarter")
    root = k.root()
    y, x = k.complex("a", pair=1, second=1), k.complex("a", pair=1)
    t = k.product(y, root)
    k.store_complex(k.plus(x, t), "a", pair=1)
    k.store_complex(k.minus(x, t), "a", pair=1, second=1)
    return k


def inverse() -> Kernel:
    """Transform back: one pass on a, without the scale."""
    k = Body("inverse", "quarter")
    x, y = k.complex("a", pair=1), k.complex("a", pair=1, second=1)
    root = k.root()
    d = k.minus(x, y)
    k.store_complex(k.plus(x, y), "a", pair=1)
    k.store_complex(k.product(d, root, conjugate=True), "a", pair=1, second=1)
    return k


def negate() -> Kernel:
    """Build a <- -a."""
    k = Body("negate", "all")
    k.store(k.load("a"), "a", negate=1)
    return k


def scaled_product(name: str, scale: int) -> Kernel:
    """Build a <- b c times a constant."""
    k = Body(name, "half")
    re, im = k.product(k.complex("b"), k.complex("c"))
    factor = k.constant(scale)
    k.store_complex((k.mul(re, factor), k.mul(im, factor)), "a")
    return k


def norm() -> Kernel:
    """Build a <- b adjoint(b) + c adjoint(c): the imaginary parts are 0."""
    k = Body("norm", "half")
    b, c = k.complex("b"), k.complex("c")
    squares = [k.add(k.mul(x[0], x[0]), k.mul(x[1], x[1])) for x in (b, c)]
    k.store_complex((k.add(*squares), k.sub(b[0], b[0])), "a")
    return k


def sum_of_products(name: str, *, adjoint: bool) -> Kernel:
    """Build a <- b c + d e, or b adjoint(c) + d adjoint(e)."""
    k = Body(name, "half")
    b, c, d, e = (k.complex(base) for base in "bcde")
    first, second = (k.product(*pair, conjugate=adjoint) for pair in ((b, c), (d, e)))
    k.store_complex(k.plus(first, second), "a")
    return k


def round_scaled(name: str, *, minus: bool) -> Kernel:
    """Build a <- the integers nearest to a (or -a) times 2/n, above 1.5 * 2^52."""
    k = Body(name, "all")
    x, magic = k.mul(k.load("a"), k.constant(SCALE)), k.constant(MAGIC)
    k.store(k.sub(magic, x) if minus else k.add(x, magic), "a")
    return k


def decompose(dividers: int) -> Kernel:
    """Decompose the Gram matrix b, c, d of a node into L D L*; L goes to a.

    With two dividers each of both values has its own. What its children need: for the right one
    the halves of d11 to e, for the left one the halves of d00 behind them; the halves of the target
    f behind a.
    """
    k = Body("decompose", "quarter")
    right, left, targets = [], [], []
    for second in (0, 1):
        where = {"pair": 1, "second": second}
        g00, g01, g11 = (k.complex(base, **where) for base in "bcd")
        re, im = _ratio(k, g00, g01, second % dividers)
        k.store(re, "a", **where)
        k.store(im, "a", offset=HALF, negate=1, **where)
        product = (
            k.add(k.mul(re, g01[0]), k.mul(im, g01[1])),
            k.sub(k.mul(im, g01[0]), k.mul(re, g01[1])),
        )
        right.append(k.minus(g11, product))
        left.append(g00)
        targets.append(k.complex("f", **where))
    root = k.root()
    k.store_parts(k.split(*right, root), "e")
    k.store_parts(k.split(*left, root), "e", offset=WHOLE)
    k.store_parts(k.split(*targets, root), "a", offset=WHOLE)
    return k


def _ratio(k: Body, a: Complex, b: Complex, divider: int = 0) -> Complex:
    """Divide b by a: the conjugate of l10 for g00 = a, g01 = b."""
    inverse = k.reciprocal(k.add(k.mul(a[0], a[0]), k.mul(a[1], a[1])), divider)
    c = k.mul(a[0], inverse), k.mul(a[1], inverse)  # the imaginary part with the other sign
    re = k.add(k.mul(b[0], c[0]), k.mul(b[1], c[1]))
    return re, k.sub(k.mul(b[1], c[0]), k.mul(b[0], c[1]))


def turn() -> Kernel:
    """Turn from the right side of a node to the left: t0 = a, t1 = b, l10 = c, samples behind c.

    The samples of the right side are merged; b takes them, and the halves of the corrected target
    t0 + (t1 - samples) l10 take their place.
    """
    k = Body("turn", "quarter")
    root = k.root()
    even = k.load("c", offset=WHOLE), k.load("c", offset=WHOLE + QUARTER)
    odd = k.load("c", offset=WHOLE + HALF), k.load("c", offset=WHOLE + HALF + QUARTER)
    difference = k.product(odd, root)
    centres = []
    for second, z in enumerate((k.plus(even, difference), k.minus(even, difference))):
        where = {"pair": 1, "second": second}
        t0, t1, l10 = (k.complex(base, **where) for base in "abc")
        k.store_complex(z, "b", **where)
        centres.append(k.plus(t0, k.product(l10, k.minus(t1, z))))
    k.store_parts(k.split(*centres, root), "c", offset=WHOLE)
    return k


def merge() -> Kernel:
    """Build a <- the polynomial with the halves at b."""
    k = Body("merge", "quarter")
    root = k.root()
    even = k.load("b"), k.load("b", offset=QUARTER)
    odd = k.load("b", offset=HALF), k.load("b", offset=HALF + QUARTER)
    t = k.product(odd, root)
    k.store_complex(k.plus(even, t), "a", pair=1)
    k.store_complex(k.minus(even, t), "a", pair=1, second=1)
    return k


# What the kernels of a leaf leave for one another.
_L10 = given("A", 31), given("A", 30)
_CENTRE_FRACTIONS = given("A", 29), given("A", 28)
_HALF_INVERSE_VARIANCE, _ACCEPTANCE_SCALE = given("M", 31), given("L", 31)
_HELD_ROOT = given("X", 0)
_WHOLE = given("X", 0), given("X", 1)
"""Integers above 1.5 * 2^52: the floors of both centres, and once accepted both samples."""
LEAF_REGISTERS = frozenset({("A", 28), ("A", 29), ("A", 30), ("A", 31), ("M", 31), ("L", 31)})
FIRST_FRACTION = 29
"""The register that lanes of the first sample read; the hardware replaces it by the next lower one
when only the second sample is still wanted."""


def _deviation(k: Body, inverse_deviation: Operation) -> None:
    """Compute what the sampler needs of a leaf's deviation."""
    square = k.mul(inverse_deviation, inverse_deviation)
    k.mul(square, k.constant(ONE_HALF), pinned=_HALF_INVERSE_VARIANCE.register)
    scale = k.mul(inverse_deviation, k.constant(SIGMA_MIN))
    k.fraction(scale, pinned=_ACCEPTANCE_SCALE.register)


def _centres(k: Body, centres: Complex, after: list[Operation]) -> None:
    """Take floor and fraction of both centres; `after` read the old floors."""
    for index, centre in enumerate(centres):
        floor = k.convert(FLOOR, centre, to=index)
        floor.after += [(each, 1) for each in after]
        whole = k.sub(_WHOLE[index], k.constant(MAGIC))
        whole.after.append((floor, floor.latency))
        k.sub(centre, whole, pinned=_CENTRE_FRACTIONS[index].register)


def open_leaf() -> Kernel:
    """Decompose the lowest node (g00 to g11: b, c, d), prepare its right leaf with centres a."""
    k = Body("open_leaf", reserved=LEAF_REGISTERS)
    g00, g01, g11 = k.complex("b"), k.complex("c"), k.load("d")
    re, im = _ratio(k, g00, g01)
    re.pinned, im.pinned = (each.register for each in _L10)
    d11 = k.sub(g11, k.add(k.mul(re, g01[0]), k.mul(im, g01[1])))
    root = k.square_root(d11)
    _deviation(k, k.mul(root, k.constant(INVERSE_SIGMA)))
    k.hold_square_root(g00[0], after=root)
    _centres(k, k.complex("a"), after=[])
    return k


def turn_leaf() -> Kernel:
    """Put the right samples to b and prepare the left leaf, centres a + (b - samples) l10."""
    k = Body("turn_leaf", reserved=LEAF_REGISTERS)
    t0, t1 = k.complex("a"), k.complex("b")
    magic = k.constant(MAGIC)
    z = k.sub(_WHOLE[0], magic), k.sub(_WHOLE[1], magic)
    k.store_complex(z, "b")
    e = k.minus(t1, z)
    re, im = _L10  # of conj(l10)
    correction = (
        k.add(k.mul(re, e[0]), k.mul(im, e[1])),
        k.sub(k.mul(re, e[1]), k.mul(im, e[0])),
    )
    _centres(k, k.plus(t0, correction), after=list(z))
    _deviation(k, k.mul(_HELD_ROOT, k.constant(INVERSE_SIGMA)))
    return k


def close_leaf() -> Kernel:
    """Put the left samples to a."""
    k = Body("close_leaf", reserved=LEAF_REGISTERS)
    magic = k.constant(MAGIC)
    k.store_complex((k.sub(_WHOLE[0], magic), k.sub(_WHOLE[1], magic)), "a")
    return k


def attempt() -> Kernel:
    """Test every lane's candidate as SamplerZ does; a threshold per lane comes out."""
    k = Body("attempt", reserved=LEAF_REGISTERS)
    candidates = [k.table(CANDIDATES, draw) for draw in range(DRAWS)]
    squares = [k.table(SQUARES, draw) for draw in range(DRAWS)]
    inverse_log_2 = k.constant(INVERSE_LOG_2)
    coefficients = [k.constant(COEFFICIENTS + index) for index in range(13)]
    for lane, (sample, draw) in enumerate(LANES):
        distance = k.sub(candidates[draw], _CENTRE_FRACTIONS[sample])
        square = k.mul(k.mul(distance, distance), _HALF_INVERSE_VARIANCE)
        x = k.sub(square, squares[draw])
        halvings = k.convert(HALVINGS, k.mul(x, inverse_log_2), to=lane)
        multiple = k.table(LOGS, lane)
        multiple.after.append((halvings, halvings.latency))
        rest = k.fraction(k.sub(x, multiple))
        # Horner's rule on integers: (coefficient - last product) * rest, the product a step before.
        step = None
        for coefficient in coefficients:
            factor = _ACCEPTANCE_SCALE if coefficient is coefficients[-1] else rest
            now = k._new("horner", [coefficient, factor], kind=HORNER, to=int(step is None))
            if step is not None:
                now.exactly = (step, step.latency)
            step = now
        threshold = k._new("convert", [], kind=THRESHOLD, to=lane)
        threshold.exactly = (step, step.latency)
    return k


def all_kernels(dividers: int = 1) -> list[Kernel]:
    """Return every kernel, scheduled for one divider or two, in the order of their numbers."""
    built = [
        forward(),
        inverse(),
        negate(),
        scaled_product("divide_by_q", INVERSE_Q),
        scaled_product("divide_by_minus_q", MINUS_INVERSE_Q),
        norm(),
        sum_of_products("gram", adjoint=True),
        sum_of_products("combine", adjoint=False),
        round_scaled("round", minus=False),
        round_scaled("round_minus", minus=True),
        decompose(dividers),
        turn(),
        merge(),
        open_leaf(),
        turn_leaf(),
        close_leaf(),
        attempt(),
    ]
    for kernel in built:
        kernel.schedule()
    return built
