"""The vector kernels of the engine: the C++ of `hls_kernels/src` as dataflow graphs.

Each function builds one loop body with the operations of `body`. The order of operations is that
of the C++, because every bit depends on it.
"""

from __future__ import annotations

from hls_kernels.rtl.assembler.body import (
    CANDIDATES,
    FLOOR,
    FULL,
    HALF,
    HALVINGS,
    HORNER,
    LOGS,
    QUARTER,
    SQUARES,
    THRESHOLD,
    Body,
    Complex,
)  # fmt: skip
from hls_kernels.rtl.assembler.schedule import Kernel, Operation, pinned_value

# Constants in the read-only memory after the roots; eight for each degree.
(
    ONE_HALF, MAGIC, INVERSE_Q, MINUS_INVERSE_Q, INVERSE_128_LOG_2, SIGMA_MIN, INVERSE_SIGMA, SCALE,
) = range(8)  # fmt: skip
COEFFICIENTS = 16
"""Address of the 13 integer coefficients of the polynomial for exp(-x)."""

DRAWS = 5
"""Number of draws that a round of the sampler can test."""

LANES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (1, 3), (1, 4))
"""Sample and draw of each lane. A round tests candidates for two samples at once. The draws of the
second sample begin after the accepted draw of the first, which is unknown, hence several lanes."""

EXACT_LANE = 7
"""The lane of a threshold in full, which a verdict needs that its bounds leave open."""


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


def decompose(*, target: bool) -> Kernel:
    """Decompose the Gram matrix b, c, d of a node into L D L*; L goes to a.

    The values for the children: the halves of d11 for the right one go to e, the halves of d00 for
    the left one after them, and with `target` the halves of f after a.
    """
    k = Body("decompose", "quarter")
    right, left, targets = [], [], []
    for second in (0, 1):
        address = {"pair": 1, "second": second}
        g00, g01, g11 = (k.complex(base, **address) for base in "bcd")
        re, im = _ratio(k, g00, g01)
        k.store(re, "a", **address)
        k.store(im, "a", offset=HALF, negate=1, **address)
        product = (
            k.add(k.mul(re, g01[0]), k.mul(im, g01[1])),
            k.sub(k.mul(im, g01[0]), k.mul(re, g01[1])),
        )
        right.append(k.minus(g11, product))
        left.append(g00)
        if target:
            targets.append(k.complex("f", **address))
    root = k.root()
    k.store_parts(k.split(*right, root), "e")
    k.store_parts(k.split(*left, root), "e", offset=FULL)
    if target:
        k.store_parts(k.split(*targets, root), "a", offset=FULL)
    return k


def split() -> Kernel:
    """Write the halves of b to a."""
    k = Body("split", "quarter")
    root = k.root()
    x, y = k.complex("b", pair=1), k.complex("b", pair=1, second=1)
    k.store_parts(k.split(x, y, root), "a")
    return k


def _ratio(k: Body, a: Complex, b: Complex) -> Complex:
    """Divide b by a: the conjugate of l10 for g00 = a, g01 = b."""
    inverse = k.reciprocal(k.add(k.mul(a[0], a[0]), k.mul(a[1], a[1])))
    c = k.mul(a[0], inverse), k.mul(a[1], inverse)  # the imaginary part with the opposite sign
    re = k.add(k.mul(b[0], c[0]), k.mul(b[1], c[1]))
    return re, k.sub(k.mul(b[1], c[0]), k.mul(b[0], c[1]))


def turn() -> Kernel:
    """Turn from the right side of a node to the left: t0 = a, t1 = b, l10 = c, samples d.

    The samples of the right side are merged into b. The halves of the corrected target
    t0 + (t1 - samples) l10 replace them.
    """
    k = Body("turn", "quarter")
    root = k.root()
    even = k.load("d"), k.load("d", offset=QUARTER)
    odd = k.load("d", offset=HALF), k.load("d", offset=HALF + QUARTER)
    difference = k.product(odd, root)
    centres = []
    for second, z in enumerate((k.plus(even, difference), k.minus(even, difference))):
        address = {"pair": 1, "second": second}
        t0, t1, l10 = (k.complex(base, **address) for base in "abc")
        k.store_complex(z, "b", **address)
        centres.append(k.plus(t0, k.product(l10, k.minus(t1, z))))
    k.store_parts(k.split(*centres, root), "d")
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


# Values that the kernels of a leaf pass to each other.
_L10 = pinned_value("A", 31), pinned_value("A", 30)
_CENTRE_FRACTIONS = pinned_value("A", 29), pinned_value("A", 28)
SCALE_REGISTER = 31
_HALF_INVERSE_VARIANCE, _ACCEPTANCE_SCALE = (
    pinned_value("M", 31), pinned_value("L", SCALE_REGISTER)
)  # fmt: skip
_KEPT_ROOT = pinned_value("X", 0)
_FLOORS = pinned_value("X", 0), pinned_value("X", 1)
"""Integers above 1.5 * 2^52: the floors of both centres, later both accepted samples."""
LEAF_REGISTERS = frozenset({("A", 28), ("A", 29), ("A", 30), ("A", 31), ("M", 31), ("L", 31)})
FIRST_FRACTION = 29
"""The register that lanes of the first sample read; the hardware replaces it by the next lower one
when only the second sample is missing."""


def _deviation(k: Body, inverse_deviation: Operation) -> None:
    """Compute the sampler's constants from the deviation of a leaf."""
    square = k.mul(inverse_deviation, inverse_deviation)
    k.mul(square, k.constant(ONE_HALF), pinned=_HALF_INVERSE_VARIANCE.register)
    scale = k.mul(inverse_deviation, k.constant(SIGMA_MIN))
    k.fraction(scale, pinned=_ACCEPTANCE_SCALE.register)


def _centres(k: Body, centres: Complex, after: list[Operation]) -> None:
    """Take floor and fraction of both centres; `after` read the old floors."""
    for index, centre in enumerate(centres):
        floor = k.convert(FLOOR, centre, to=index)
        floor.after += [(reader, 1) for reader in after]
        value = k.sub(_FLOORS[index], k.constant(MAGIC))
        value.after.append((floor, floor.latency))
        k.sub(centre, value, pinned=_CENTRE_FRACTIONS[index].register)


def _decompose_leaf(k: Body, base: str) -> tuple[Complex, Operation, Operation]:
    """Decompose the lowest node, Gram matrix from `base` on; return conj(l10), d11 and d00."""
    first = "abcdef".index(base)
    g00, g01, g11 = k.complex(base), k.complex("abcdef"[first + 1]), k.load("abcdef"[first + 2])
    re, im = _ratio(k, g00, g01)
    d11 = k.sub(g11, k.add(k.mul(re, g01[0]), k.mul(im, g01[1])))
    return (re, im), d11, g00[0]


def expand_leaf() -> Kernel:
    """Decompose the lowest node c, d, e: conj(l10) to a, inverse deviations of both leaves to b."""
    k = Body("expand_leaf", reserved=LEAF_REGISTERS)
    l10, *leaves = _decompose_leaf(k, "c")
    k.store_complex(l10, "a")
    # The divider takes the root of d00 while d11 is computed from the reciprocal.
    (reciprocal,) = (operation for operation in k.operations if operation.unit == "divide")
    right, left = (k.square_root(d) for d in leaves)
    left.after.append((reciprocal, reciprocal.latency - 1))
    right.after.append((left, left.latency - 1))
    k.store_complex(tuple(k.mul(root, k.constant(INVERSE_SIGMA)) for root in (right, left)), "b")
    return k


def open_leaf(*, tree: bool) -> Kernel:
    """Prepare the right leaf of the lowest node, centres a.

    From the tree, the inverse deviations are b; otherwise decompose the Gram matrix b, c, d.
    """
    k = Body("open_leaf", reserved=LEAF_REGISTERS)
    if tree:
        _deviation(k, k.load("b"))
    else:
        l10, d11, d00 = _decompose_leaf(k, "b")
        for part, kept in zip(l10, _L10, strict=True):
            part.pinned = kept.register
        root = k.square_root(d11)
        _deviation(k, k.mul(root, k.constant(INVERSE_SIGMA)))
        k.keep_square_root(d00, after=root)
    _centres(k, k.complex("a"), after=[])
    return k


def turn_leaf(*, tree: bool) -> Kernel:
    """Put the right samples to b and prepare the left leaf, centres a + (b - samples) l10.

    From the tree, conj(l10) is c and the inverse deviations are d.
    """
    k = Body("turn_leaf", reserved=LEAF_REGISTERS)
    t0, t1 = k.complex("a"), k.complex("b")
    magic = k.constant(MAGIC)
    z = k.sub(_FLOORS[0], magic), k.sub(_FLOORS[1], magic)
    k.store_complex(z, "b")
    e = k.minus(t1, z)
    re, im = k.complex("c") if tree else _L10  # of conj(l10)
    correction = (
        k.add(k.mul(re, e[0]), k.mul(im, e[1])),
        k.sub(k.mul(re, e[1]), k.mul(im, e[0])),
    )
    _centres(k, k.plus(t0, correction), after=list(z))
    deviation = k.load("d", offset=HALF) if tree else k.mul(_KEPT_ROOT, k.constant(INVERSE_SIGMA))
    _deviation(k, deviation)
    return k


def close_leaf() -> Kernel:
    """Put the left samples to a."""
    k = Body("close_leaf", reserved=LEAF_REGISTERS)
    magic = k.constant(MAGIC)
    k.store_complex((k.sub(_FLOORS[0], magic), k.sub(_FLOORS[1], magic)), "a")
    return k


def _exponent(k: Body, candidate: Operation, square: Operation, sample: int) -> Operation:
    """Compute x, where exp(-x) is the chance to accept a candidate before scaling."""
    distance = k.sub(candidate, _CENTRE_FRACTIONS[sample])
    scaled = k.mul(k.mul(distance, distance), _HALF_INVERSE_VARIANCE)
    return k.sub(scaled, square)


def attempt() -> Kernel:
    """Compute x / (128 log 2) of every lane's candidate, from which bounds of its threshold follow.

    Seven integer bits are the halvings, the bits after them select a power of two.
    """
    k = Body("attempt", reserved=LEAF_REGISTERS)
    candidates = [k.table(CANDIDATES, draw) for draw in range(DRAWS)]
    squares = [k.table(SQUARES, draw) for draw in range(DRAWS)]
    scale = k.constant(INVERSE_128_LOG_2)
    for lane, (sample, draw) in enumerate(LANES):
        x = _exponent(k, candidates[draw], squares[draw], sample)
        k.convert(HALVINGS, k.mul(x, scale), to=lane)
    return k


def exact() -> Kernel:
    """Compute the complete threshold of one draw, as SamplerZ does; the hardware selects it."""
    k = Body("exact", reserved=LEAF_REGISTERS)
    x = _exponent(k, k.table(CANDIDATES, 0), k.table(SQUARES, 0), 0)
    product = k.mul(x, k.constant(INVERSE_128_LOG_2))
    halvings = k.convert(HALVINGS, product, to=EXACT_LANE)
    multiple = k.table(LOGS, 0)
    multiple.after.append((halvings, halvings.latency))
    rest = k.fraction(k.sub(x, multiple))
    # Horner's rule on integers: (coefficient - last product) * rest, the product a step before.
    step = None
    for index in range(13):
        factor = _ACCEPTANCE_SCALE if index == 12 else rest
        coefficient = k.constant(COEFFICIENTS + index)
        product = k._new("horner", [coefficient, factor], kind=HORNER, to=int(step is None))
        if step is not None:
            product.exactly = (step, step.latency)
        step = product
    threshold = k._new("convert", [], kind=THRESHOLD, to=EXACT_LANE)
    threshold.exactly = (step, step.latency)
    return k


def all_kernels(*, tree: bool = False) -> list[Kernel]:
    """Return every kernel, scheduled, in the order of their numbers.

    `tree` is whether the memory has room for the complete tree.
    """
    kernels = [
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
        decompose(target=not tree),
        *([split(), expand_leaf()] if tree else []),
        turn(),
        merge(),
        open_leaf(tree=tree),
        turn_leaf(tree=tree),
        close_leaf(),
        attempt(),
        exact(),
    ]
    for kernel in kernels:
        kernel.schedule()
    return kernels
