"""Schedule a dataflow graph on the four slots of a microword: load, multiply, add, store.

A kernel is one loop body. An iteration starts every `interval` cycles, so several overlap (modulo
scheduling: B. R. Rau, 1994). Register files rotate: a value that iteration i writes to register r
is in register (r + i) mod 32, so overlapping iterations need no copies. A kernel that runs once is
`straight`: its interval is its length, and it may leave values in pinned registers for later
kernels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

BANKS = {"L": 0, "M": 1, "A": 2, "X": 3}
"""Numbers of the register files by the unit that writes them; X: registers outside of them."""

REGISTERS = 32

LATENCY = {
    "load": 5, "multiply": 8, "add": 8, "divide": 32, "root": 58, "convert": 5, "horner": 5,
    "store": 1, "pinned": 0,
}  # fmt: skip
"""Cycles from the issue of an operation until its result can be read: the pipeline lengths of the
hardware. The bench of the kernels compares bits."""

DIVIDER_UNITS = ("divide", "root")

MULTIPLY_SLOT = ("multiply", "divide", "root", "convert", "horner")
"""Units that share the slot and the operand ports of the multiplier."""

MAX_STAGES = 8
"""Maximum number of overlapping iterations in the hardware."""

_NEVER = 1000
"""An interval longer than any kernel, at which nothing overlaps."""


class DoesNotFit(Exception):
    """No schedule was found."""


@dataclass(eq=False)
class Operation:
    """An operation: its unit, operands, and fields of the microword."""

    unit: str
    operands: list[Operation] = field(default_factory=list)
    fields: dict[str, int] = field(default_factory=dict)
    bank: str = ""
    """The register file of the result; empty if it goes elsewhere."""
    after: list[tuple[Operation, int]] = field(default_factory=list)
    """Earlier operations, with the minimum distance in cycles."""
    exactly: tuple[Operation, int] | None = None
    """An earlier operation with the exact distance in cycles."""
    pinned: int | None = None
    """A register that keeps the value after the kernel."""
    time: int = -1
    register: int = -1
    height: int = 0

    @property
    def slot(self) -> str:
        """The part of the microword that issues the operation."""
        return "multiply" if self.unit in MULTIPLY_SLOT else self.unit

    @property
    def latency(self) -> int:
        """Cycles until the result can be read."""
        return LATENCY[self.unit]

    @property
    def divides(self) -> bool:
        """Whether the operation occupies the divider."""
        return self.unit in DIVIDER_UNITS

    def before(self) -> list[tuple[Operation, int]]:
        """Return the operations that must precede this one, with minimum distances in cycles."""
        links = [(op, op.latency) for op in self.operands] + self.after
        return links + ([self.exactly] if self.exactly else [])


def pinned_value(bank: str, register: int) -> Operation:
    """Return the value that an earlier kernel left in a pinned register."""
    return Operation("pinned", bank=bank, register=register, time=-_NEVER, pinned=register)


@dataclass
class Kernel:
    """The operations of a loop body, and their schedule."""

    name: str
    count: str = "one"
    """Iterations for a polynomial of n values: one, or a quarter, half or all of n."""
    reserved: frozenset[tuple[str, int]] = frozenset()
    """Registers occupied by values of other kernels."""
    operations: list[Operation] = field(default_factory=list)
    interval: int = 0
    length: int = 0

    @property
    def straight(self) -> bool:
        """Whether the body runs once."""
        return self.count == "one"

    @property
    def stages(self) -> int:
        """Number of overlapping iterations."""
        return -(-self.length // self.interval)

    def schedule(self) -> Kernel:
        """Schedule every operation at the smallest possible interval. Raises DoesNotFit."""
        self._set_heights()
        busy: dict[str, int] = {}
        for op in self.operations:
            busy[op.slot] = busy.get(op.slot, 0) + 1
            if op.divides:
                busy["divider"] = busy.get("divider", 0) + op.latency - 1
        minimum = max(busy.values())
        for interval in [_NEVER] if self.straight else range(minimum, minimum + 100):
            if self._place(interval) and self._allocate(interval):
                self.length = 1 + max(op.time for op in self.operations)
                pinned = [op.time + op.latency for op in self.operations if op.pinned is not None]
                if self.straight:
                    self.length = max([self.length, *pinned])
                self.interval = self.length if self.straight else interval
                return self
        raise DoesNotFit(self.name)

    def _set_heights(self) -> None:
        """Set the cycles from an operation to the end of the longest chain that depends on it."""
        for op in reversed(self.operations):  # operands precede their users
            for earlier, distance in op.before():
                earlier.height = max(earlier.height, op.height + distance)

    def _place(self, interval: int) -> bool:
        """Place operations by list scheduling; return whether all fit.

        The next operation is the one of greatest height whose inputs are placed.
        """
        taken: set[tuple[str, int]] = set()
        for op in self.operations:
            op.time = -1
        waiting = sorted(self.operations, key=lambda op: -op.height)
        while waiting:
            op = next(w for w in waiting if all(e.time != -1 for e, _ in w.before()))
            waiting.remove(op)
            early = max([0, *(earlier.time + distance for earlier, distance in op.before())])
            for time in range(early, early + (1 if op.exactly else interval)):
                if taken.isdisjoint(_uses(op, time, interval)):
                    break
            else:
                return False
            op.time = time
            taken |= _uses(op, time, interval)
        self._delay_loads(taken, interval)
        return max(op.time for op in self.operations) < MAX_STAGES * interval

    def _delay_loads(self, taken: set[tuple[str, int]], interval: int) -> None:
        """Move loads as late as their readers allow, to occupy registers for less time."""
        loads = [op for op in self.operations if op.unit == "load" and op.pinned is None]
        for load in sorted(loads, key=lambda op: -op.time):
            readers = [op.time for op in self.operations if load in op.operands]
            taken -= _uses(load, load.time, interval)
            for time in range(min(readers) - load.latency, load.time - 1, -1):
                if taken.isdisjoint(_uses(load, time, interval)):
                    load.time = time
                    break
            taken |= _uses(load, load.time, interval)

    def _allocate(self, interval: int) -> bool:
        """Assign a register to every value; return whether no two live values share one."""
        readers: dict[Operation, list[int]] = {}
        for op in self.operations:
            for operand in op.operands:
                readers.setdefault(operand, []).append(op.time)
        for bank in "LMA":
            values = sorted(
                (op for op in self.operations if op.bank == bank), key=lambda op: op.time
            )
            occupied = {op.pinned for op in [*values, *readers] if op.bank == bank}
            occupied |= {register for name, register in self.reserved if name == bank}
            lives: list[tuple[int, int, int]] = []
            for value in values:
                if value.pinned is not None:
                    value.register = value.pinned
                    continue
                # Written at the end of cycle time + latency - 1, needed until the last reader.
                written = value.time + value.latency - 1
                life = written, max(readers.get(value, [written + 1]))
                for register in range(REGISTERS):
                    candidate = (register, *life)
                    if register not in occupied and not any(
                        _clash(candidate, other, interval) for other in [*lives, candidate]
                    ):
                        break
                else:
                    return False
                value.register = register
                lives.append(candidate)
        return True

    def microwords(self) -> list[dict[str, Any]]:
        """Return the fields of each microword of one interval."""
        rows: list[dict[str, Any]] = [{} for _ in range(self.interval)]
        for op in self.operations:
            row, stage = rows[op.time % self.interval], op.time // self.interval
            sources = [
                (BANKS[o.bank], o.register if o.bank == "X" else (o.register - stage) % REGISTERS)
                for o in op.operands
            ]
            target = (op.register - stage) % REGISTERS if op.bank else 0
            slot = {"load": "ld", "multiply": "mul", "add": "add", "store": "st"}[op.slot]
            row |= {f"{slot}_on": 1, f"{slot}_stage": stage}
            if slot == "st":
                row |= {"st_bank": sources[0][0], "st_from": sources[0][1]}
            elif slot == "ld":
                row |= {"ld_to": target}
            else:
                row |= {f"{slot}_to": target}
                for port, (bank, register) in zip("ab", sources, strict=False):
                    row |= {f"{slot}_{port}_bank": bank, f"{slot}_{port}": register}
            row |= {f"{slot}_{name}": value for name, value in op.fields.items()}
        return rows


def _uses(op: Operation, time: int, interval: int) -> set[tuple[str, int]]:
    """Return the resources of an operation: slot, write port of its bank, divider."""
    uses = {(op.slot, time % interval)}
    if op.bank in ("L", "M"):  # bank A has a single writer, the adder
        uses.add((f"port {op.bank}", (time + op.latency - 1) % interval))
    if op.divides:
        uses |= {("divider", (time + d) % interval) for d in range(op.latency - 1)}
    return uses


def _clash(a: tuple[int, int, int], b: tuple[int, int, int], interval: int) -> bool:
    """Return whether two values (register, start, end) of any iterations share a register."""
    register1, start1, end1 = a
    register2, start2, end2 = b
    base = (register1 - register2) % REGISTERS
    for turn in range(-3, 4):
        # Iteration i + distance of `b` uses the register that iteration i of `a` uses.
        distance = base + turn * REGISTERS
        if a == b and distance == 0:
            continue
        shift = distance * interval
        if not (end1 <= start2 + shift or end2 + shift <= start1):
            return True
    return False
