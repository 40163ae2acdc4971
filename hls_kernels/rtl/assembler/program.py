"""The program of the sequencer: one signing attempt, the same as `hls_kernels/src/signer.h` in C++.

An operand is the number of a polynomial in memory, or a register of the current node of the signing
tree. The memory holds 11 polynomials of n words; `FRAMES` are the last
four: level k of the tree, with polynomials of 2^k words, has l10 and the samples z there.
"""

from __future__ import annotations

B00, B01, B10, B11, SCRATCH, T0, T1, FRAMES = range(8)
POLYNOMIALS = 11
"""Capacity of the memory in polynomials of n words."""

REGISTERS = ("g00", "g01", "g11", "children", "t0", "t1", "l10", "z")
"""Addresses that follow from the level of a node and from its side of the parent.

The Gram matrix of the top node is g00 in FRAMES (free until lower levels need it), g01 in B01, g11
in B10; further down g11 is g00. `children` is the address for the values of its children."""

OPCODES = ("run", "passes", "call", "return", "load", "sample", "leaf", "end")

RIGHT, LEFT, TOP = 0, 1, 2
"""Targets of `call`."""

SMALL_F, SMALL_G, BIG_F, BIG_G, TARGET, TARGET_AS_INTEGERS = range(6)
"""Parts of the request, as `load` names them."""

Instruction = tuple[str | int, ...]


def basis() -> list[Instruction]:
    """Return the instructions that compute ((g, -f), (G, -F)), transformed."""
    instructions: list[Instruction] = []
    for part, address in ((SMALL_F, B01), (SMALL_G, B00), (BIG_F, B11), (BIG_G, B10)):
        instructions += [("load", part, address), ("passes", "forward", address)]
        if part in (SMALL_F, BIG_F):
            instructions.append(("run", "negate", address))
    return instructions


PROGRAM: list[Instruction | str] = [
    *basis(),
    # the target (hash, 0) in coordinates of the basis
    ("load", TARGET, T0),
    ("passes", "forward", T0),
    ("run", "divide_by_minus_q", T1, T0, B01),
    ("run", "divide_by_q", T0, T0, B11),
    # the Gram matrix
    ("run", "norm", FRAMES, B00, B01),
    ("run", "gram", B01, B00, B10, B01, B11),
    ("run", "norm", B10, B10, B11),
    ("call", TOP),
    # from coordinates back to the lattice, and rounded
    *basis(),
    ("run", "combine", FRAMES, T0, B00, T1, B10),
    ("run", "combine", T1, T0, B01, T1, B11),
    ("passes", "inverse", FRAMES),
    ("run", "round", FRAMES),
    ("passes", "inverse", T1),
    ("run", "round_minus", T1),
    ("load", TARGET_AS_INTEGERS, T0),
    ("end",),
    "node",  # target of `call`: samples for t0, t1 and a Gram matrix replace t0, t1
    ("leaf",),
    ("run", "decompose", "l10", "g00", "g01", "g11", "children", "t1"),
    ("call", RIGHT),
    ("run", "turn", "t0", "t1", "l10"),
    ("call", LEFT),
    ("run", "merge", "t0", "z"),
    ("return",),
    "leaf",  # target of `leaf` at the lowest level: two leaves, two samples for each
    ("run", "open_leaf", "t1", "g00", "g01", "g11"),
    ("sample", "turn_leaf", "t0", "t1"),
    ("sample", "close_leaf", "t0"),
    ("return",),
]

OPERANDS = 6
FIELDS = (("opcode", 3), ("argument", 5), *((f"operand_{x}", 4) for x in "abcdef"))
"""Fields of an instruction from the top bit. `argument`: kernel, part of the request, or child."""


def labels() -> dict[str, int]:
    """Return the addresses of the labels."""
    addresses: dict[str, int] = {}
    for address, entry in enumerate(PROGRAM):
        if isinstance(entry, str):
            # Labels before this one take no address.
            addresses[entry] = address - len(addresses)
    return addresses


def assemble(kernels: list[str]) -> list[int]:
    """Return the instructions as integers; kernels are numbered in this order."""
    instructions = []
    for instruction in PROGRAM:
        if isinstance(instruction, str):
            continue
        name, *rest = instruction
        argument = rest.pop(0) if rest else 0
        if isinstance(argument, str):
            argument = kernels.index(argument)
        operands = [8 + REGISTERS.index(x) if isinstance(x, str) else x for x in rest]
        word = OPCODES.index(str(name)) << 5 | argument
        for index in range(OPERANDS):
            word = word << 4 | (int(operands[index]) if index < len(operands) else 0)
        instructions.append(word)
    return instructions
