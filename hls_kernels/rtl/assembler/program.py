"""The program of the sequencer: one signing attempt, the same as `hls_kernels/src/signer.h` in C++.

An operand is the number of a polynomial in memory, or a register of the current node of the signing
tree, whose address follows from the node's level and path.

The compact configuration decomposes a node when it visits it. The fast one has memory for the
complete tree: it decomposes every node first, and an attempt with the same key begins after that.
"""

from __future__ import annotations

from dataclasses import dataclass

OPCODES = ("run", "passes", "call", "return", "load", "sample", "jump", "end")

RIGHT, LEFT, TOP = 0, 1, 2
"""Nodes to `call`, which continues at a label."""

AT_LEAVES, KEY_KEPT = 0, 1
"""Conditions of `jump`: the node is of the lowest level; the request has no key."""

SMALL_F, SMALL_G, BIG_F, BIG_G, TARGET, TARGET_AS_INTEGERS = range(6)
"""Parts of the request, as `load` names them."""

B00, B01, B10, B11 = range(4)
"""The transformed secret basis ((g, -f), (G, -F))."""

REGISTERS = ("g00", "g01", "g11", "children", "t0", "t1", "l10", "z", "deviations")
"""Addresses that follow from the level of a node and its path from the top.

The Gram matrix of the top node is `top_g00`, and g01 and g11 at the places of lower ones; below the
top g11 is g00. `children` is the address for the Gram matrices of a node's children."""

FIRST_REGISTER = 20
"""The operand of the first register; smaller operands are polynomials."""

Instruction = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Places in memory, in polynomials of n words."""

    gram: int
    """Gram matrices of the children of a node of level k: 2 * 2^k words, 2 * 2^k words further."""
    top_g00: int
    t0: int
    frames: int
    """Level k of the tree: polynomials of the node that is visited, from 2^k words further on."""
    z: int
    """The samples, counted in polynomials of the level from `frames`; without a tree l10 is first,
    at 2."""
    tree: int = 0
    """Deviations of the leaves, then l10 of every level; 0 if there is no memory for them."""
    polynomials: int
    """Capacity of the memory."""

    @property
    def t1(self) -> int:
        """The second half of the target."""
        return self.t0 + 1


COMPACT = Layout(gram=4, t0=8, top_g00=10, frames=10, z=3, polynomials=14)
FAST = Layout(tree=4, top_g00=4, gram=15, t0=15, frames=17, z=1, polynomials=19)
"""With the key's tree in 4 to 14. While the tree is made, targets and samples are not needed, and
levels of the tree that come last are free."""


def program(at: Layout) -> list[Instruction | str]:
    """Return instructions and labels."""
    basis: list[Instruction | str] = []
    for part, address in ((SMALL_F, B01), (SMALL_G, B00), (BIG_F, B11), (BIG_G, B10)):
        basis += [("load", part, address), ("passes", "forward", address)]
        if part in (SMALL_F, BIG_F):
            basis.append(("run", "negate", address))
    gram: list[Instruction | str] = [
        ("run", "norm", at.top_g00, B00, B01),
        ("run", "gram", at.gram + 1, B00, B10, B01, B11),
        ("run", "norm", at.gram, B10, B11),
    ]
    target: list[Instruction | str] = [
        # (hash, 0) in coordinates of the basis
        ("load", TARGET, at.t0),
        ("passes", "forward", at.t0),
        ("run", "divide_by_minus_q", at.t1, at.t0, B01),
        ("run", "divide_by_q", at.t0, at.t0, B11),
    ]
    point: list[Instruction | str] = [
        # from coordinates back to the lattice, and rounded
        ("run", "combine", at.frames, at.t0, B00, at.t1, B10),
        ("run", "combine", at.t1, at.t0, B01, at.t1, B11),
        ("passes", "inverse", at.frames),
        ("run", "round", at.frames),
        ("passes", "inverse", at.t1),
        ("run", "round_minus", at.t1),
        ("load", TARGET_AS_INTEGERS, at.t0),
        ("end",),
    ]
    rest: list[Instruction | str] = [
        ("call", RIGHT, "node"),
        ("run", "turn", "t0", "t1", "l10", "z"),
        ("call", LEFT, "node"),
        ("run", "merge", "t0", "z"),
        ("return",),
        "leaf",  # two leaves, two samples for each
    ]
    if not at.tree:
        return [
            *basis, *target, *gram, ("call", TOP, "node"), *point,
            "node",  # samples for t0, t1 and a Gram matrix replace t0, t1
            ("jump", AT_LEAVES, "leaf"),
            ("run", "decompose", "l10", "g00", "g01", "g11", "children", "t1"),
            *rest,
            ("run", "open_leaf", "t1", "g00", "g01", "g11"),
            ("sample", "turn_leaf", "t0", "t1"),
            ("sample", "close_leaf", "t0"),
            ("return",),
        ]  # fmt: skip
    return [
        ("jump", KEY_KEPT, "target"),
        *basis, *gram, ("call", TOP, "expand"),
        "target", *target, ("call", TOP, "node"), *point,
        "expand",  # l10 and deviations below a node
        ("jump", AT_LEAVES, "expand_leaf"),
        ("run", "decompose", "l10", "g00", "g01", "g11", "children"),
        ("call", RIGHT, "expand"),
        ("call", LEFT, "expand"),
        ("return",),
        "expand_leaf",
        ("run", "expand_leaf", "l10", "deviations", "g00", "g01", "g11"),
        ("return",),
        "node",  # samples for t0, t1 replace t0, t1
        ("jump", AT_LEAVES, "leaf"),
        ("run", "split", "z", "t1"),
        *rest,
        ("run", "open_leaf", "t1", "deviations"),
        ("sample", "turn_leaf", "t0", "t1", "l10", "deviations"),
        ("sample", "close_leaf", "t0"),
        ("return",),
    ]  # fmt: skip


OPERANDS = 6
FIELDS = (("opcode", 3), ("argument", 5), *((f"operand_{x}", 5) for x in "abcdef"))
"""Fields of an instruction from the top bit. `argument`: kernel, part of the request, child, or
condition; a label is in the last operands."""


def labels(listing: list[Instruction | str]) -> dict[str, int]:
    """Return the addresses of the labels."""
    addresses: dict[str, int] = {}
    for address, entry in enumerate(listing):
        if isinstance(entry, str):
            # Labels before this one take no address.
            addresses[entry] = address - len(addresses)
    return addresses


def assemble(listing: list[Instruction | str], kernels: list[str]) -> list[int]:
    """Return the instructions as integers; kernels are numbered in this order."""
    addresses = labels(listing)
    instructions = []
    for instruction in listing:
        if isinstance(instruction, str):
            continue
        name, *rest = instruction
        argument = rest.pop(0) if rest else 0
        if isinstance(argument, str):
            argument = kernels.index(argument)
        word = OPCODES.index(str(name)) << 5 | argument
        if name in ("call", "jump"):
            word = word << 5 * OPERANDS | addresses[str(rest[0])]
        else:
            for index in range(OPERANDS):
                word = word << 5 | _operand(rest[index] if index < len(rest) else 0)
        instructions.append(word)
    return instructions


def _operand(operand: str | int) -> int:
    if isinstance(operand, str):
        return FIRST_REGISTER + REGISTERS.index(operand)
    return operand
