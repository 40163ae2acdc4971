"""Damage to bytes: every bit in turn, and at random."""

import json
import random
import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from tests.attacks.harness import Input

_SIZES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63, 2**64 - 1)
"""Numbers at which lengths and counts break."""


def flips(data: bytes, places: Sequence[int], rng: random.Random, count: int) -> Iterator[Input]:
    """Flip every bit at these offsets, in random order, and then bits anywhere."""
    bits = [(place, bit) for place in places for bit in range(8)]
    rng.shuffle(bits)
    bits += [(rng.randrange(len(data)), rng.randrange(8)) for _ in range(count - len(bits))]
    for place, bit in bits[:count]:
        damaged = bytearray(data)
        damaged[place] ^= 1 << bit
        yield Input(f"bit {bit} of byte {place}", bytes(damaged))


def mutations(data, rng, count, *, others=(), sector=64):
    """Damage the bytes at random, also with parts of `others` of `sector` bytes."""
    for _ in range(count):
        damaged, changes = bytearray(data), []
        for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
            at = rng.randrange(len(damaged) + 1)
            changes.append(_damage(damaged, at, rng, others or (data,), sector))
        yield Input(", ".join(changes), bytes(damaged))


def _damage(data, at, rng, others, sector):
    kind = rng.randrange(9)
    length = rng.choice((1, 2, 4, 8, sector, sector * 4))
    if kind == 0 and data:
        data[at % len(data)] ^= 1 << rng.randrange(8)
        return f"flip at {at}"
    if kind == 1:
        del data[at:]
        return f"cut at {at}"
    if kind == 2:
        del data[at : at + length]
        return f"{length} taken at {at}"
    if kind == 3:
        data[at:at] = rng.randbytes(length)
        return f"{length} put in at {at}"
    if kind == 4:
        data[at : at + length] = bytes(len(data[at : at + length]))
        return f"{length} zeroed at {at}"
    if kind == 5:
        width = rng.choice((1, 2, 4, 8))
        number = rng.choice(_SIZES) % 256**width
        data[at : at + width] = number.to_bytes(width, rng.choice(("big", "little")))
        return f"{number:#x} at {at}"
    if kind == 6:
        other = rng.choice(others)
        begin = at - at % sector
        data[begin : begin + sector] = other[begin : begin + sector]
        return f"sector at {begin} of another version"
    if kind == 7:
        begin, source = (rng.randrange(len(data) // sector + 1) * sector for _ in range(2))
        data[begin : begin + sector] = data[source : source + sector]
        return f"sector at {source} to {begin}"
    data[at : at + length] = rng.randbytes(len(data[at : at + length]))
    return f"{length} at random at {at}"


_TOKENS = (
    *("null", "true", "false", "0", "-1", "1e999", "NaN", "Infinity", '""', "[]", "{}", "[[]]"),
    *("9" * 5000, "1e-400", '"\\u0000"', '"\\ud800"', "\x00", "\ufeff", "\u2028", "'", '"', "\\"),
    *("2020-01-01", "0x10", "1_0", "-0.0", "'''", '"""', "# ", "=", ",", ":", "\r", "\n"),
    "[" * 3000,
)
"""Values on which readers of JSON, TOML and CSV may fail."""


_EDITS = ("taken", "doubled", "swapped", "set", "copied")


def texts(data: bytes, rng: random.Random, count: int) -> Iterator[Input]:
    """Damage the tokens of a text: removed, doubled, exchanged, or of another type."""
    tokens = _tokens(data.decode())
    for number in range(count):
        damaged = list(tokens)
        changes = []
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            at, kind = rng.randrange(len(damaged)), rng.randrange(5)
            if kind == 0:
                word = damaged.pop(at)
            elif kind == 1:
                word = damaged[at]
                damaged.insert(at, word)
            elif kind == 2:
                other = rng.randrange(len(damaged))
                damaged[at], damaged[other] = damaged[other], damaged[at]
                word = damaged[at]
            elif kind == 3:
                word = damaged[at] = rng.choice(_TOKENS)
            else:
                word = damaged[at] = rng.choice(tokens)
            changes.append(f"{_EDITS[kind]} {at} {word[:20]!r}")
            if not damaged:
                break
        yield Input(f"text {number}: {', '.join(changes)}", "".join(damaged).encode())


def _tokens(text: str) -> list[str]:
    """Split a text into numbers, names, quoted texts and single characters."""
    return re.findall(r'"(?:[^"\\\n]|\\.)*"|[A-Za-z0-9_.+-]+|\s+|.', text, re.DOTALL)


_LEAVES: tuple[Any, ...] = (
    *(None, True, -1, 1.5, 10**40, 5e-324, 1e308, 1e999, float("nan"), "", "1.5", "9" * 40),
    *("=1+1", "\x1b[2J", "\u202e", "$\\frac$", '"', "a" * 5000, "\ud800", "<script>"),
    *([], {}, [None], {"": None}),
)
"""Values that a program other than pqchain may write where another type or range is expected."""


def cells(table: bytes, rng: random.Random, count: int) -> Iterator[Input]:
    """Replace cells of a CSV table, headings included, or the encoding of the table."""
    lines = [line.split(",") for line in table.decode().splitlines()]
    for number in range(count):
        rows = [list(row) for row in lines]
        changes = []
        for _ in range(rng.choice((1, 1, 2, 4))):
            row, value = rng.choice(rows), str(rng.choice(_LEAVES))
            at = rng.randrange(len(row))
            changes.append(f"{row[at]} to {value:.20}")
            row[at] = value
        text = "\n".join(map(",".join, rows)) + "\n"
        encoding = "utf-16" if number % 50 == 0 else "utf-8"
        yield Input(", ".join(changes), text.encode(encoding, "surrogatepass"))


def entries(document: bytes, rng: random.Random, count: int) -> Iterator[Input]:
    """Replace or nest values of a JSON document, at any depth."""
    for _ in range(count):
        root = json.loads(document)
        changes = []
        for _ in range(rng.choice((1, 1, 2, 4))):
            # Half of the changes are in the provenance, of which a document has many values.
            below = root.get("provenance")
            node = below if isinstance(below, dict) and below and rng.randrange(2) else root
            key = rng.choice(_keys(node))
            while isinstance(node[key], (dict, list)) and node[key] and rng.randrange(4):
                node = node[key]
                key = rng.choice(_keys(node))
            value = deepcopy(rng.choice(_LEAVES))
            changes.append(f"{key} to {value!r:.20}")
            for _ in range(rng.choice((0, 0, 0, 0, 0, 0, 30, 900))):
                value = [value] if rng.randrange(2) else {"a": value}
            node[key] = value
        yield Input(", ".join(changes), json.dumps(root).encode())


def _keys(node: Any) -> list[Any]:
    return list(node) if isinstance(node, dict) else list(range(len(node)))
