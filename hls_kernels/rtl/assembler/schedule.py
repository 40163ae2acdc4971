"""Place a dataflow graph on the four slots of a microword: load, multiply, add, store.

A kernel is one loop body. An iteration starts every `interval` cycles, so several overlap (modulo
scheduling: B. R. Rau, 1994). Register files rotate: what iteration i writes to register r stands at
(r + i) mod 32, so overlapping iterations need no copies. A kernel that runs once is `straight`: its
interval is its length, and it may leave values in pinned registers for kernels to come.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

BANKS = {"L": 0, "M": 1, "A": 2, "X": 3}
"""Register files by the unit that writes them; X stands for registers outside."""

REGISTERS = 32

LATENCY = {
    "load": 4, "multiply": 8, "add": 8, "divide": 32, "root": 58, "convert": 5, "horner": 5,
    "store": 1, "given": 0,
}  # fmt: skip
"""From the issue of an operation to the first cycle in which another can read its result. The
hardware's pipelines have these lengths; the bench of the kernels compares bits."""

DIVIDER_UNITS = ("divide", "root")

MULTIPLY_SLOT = ("multiply", "divide", "root", "convert", "horner")
"""Units that share the slot, and operand ports, of the multiplier."""

MOST_STAGES = 8
"""Iterations that the hardware keeps apart."""

_NEVER = 1000
"""Longer than any kernel: an interval at which nothing overlaps."""


class DoesNotFit(Exception):
    """No schedule was found."""


@dataclass(eq=False)
class Operation:
    """One operation: its unit, operands, and what the microword says about it."""

    unit: str
    operands: list[Operation] = field(default_factory=list)
    fields: dict[str, int] = field(default_factory=dict)
    bank: str = ""
    """The register file of the result; empty if it goes elsewhere."""
    after: list[tuple[Operation, int]] = field(default_factory=list)
    """Operations that come before by at least so many cycles."""
    exactly: tuple[Operation, int] | None = None
    """An operation that comes before by exactly so many cycles."""
    pinned: int | None = None
    """A register that outlives the kernel."""
    time: int = -1
    register: int = -1
    height: int = 0

    @property
    def slot(self) -> str:
        """The part of the microword that issues it."""
        return "multiply" if self.unit in MULTIPLY_SLOT else self.unit

    @property
    def latency(self) -> int:
        """Cycles until its result can be read."""
        return LATENCY[self.unit]

    @property
    def divider(self) -> str:
        """Which divider it occupies; empty for other units."""
        # Bit 1 of port b's bank says which; a divider has no other operand.
        return f"divider {self.fields.get('b_bank', 0) >> 1}" * (self.unit in DIVIDER_UNITS)

    def before(self) -> list[tuple[Operation, int]]:
        """Return what has to come first, with the least distance."""
        links = [(each, each.latency) for each in self.operands] + self.after
        return links + ([self.exactly] if self.exactly else [])


def given(bank: str, register: int) -> Operation:
    """Return a value that an earlier kernel left in a pinned register."""
    return Operation("given", bank=bank, register=register, time=-_NEVER, pinned=register)


@dataclass
class Kernel:
    """The operations of a loop body, and once scheduled its microwords."""

    name: str
    count: str = "one"
    """How often the body runs for a polynomial of n values: one, quarter, half, all."""
    reserved: frozenset[tuple[str, int]] = frozenset()
    """Registers that other kernels' values occupy meanwhile."""
    operations: list[Operation] = field(default_factory=list)
    interval: int = 0
    length: int = 0

    @property
    def straight(self) -> bool:
        """Whether the body runs once."""
        return self.count == "one"

    @property
    def stages(self) -> int:
        """How many iterations overlap."""
        return -(-self.length // self.interval)

    def schedule(self) -> Kernel:
        """Place every operation at the smallest interval that works; raises DoesNotFit."""
        self._set_heights()
        busy: dict[str, int] = {}
        for each in self.operations:
            busy[each.slot] = busy.get(each.slot, 0) + 1
            if each.divider:
                busy[each.divider] = busy.get(each.divider, 0) + each.latency - 1
        least = max(busy.values())
        for interval in [_NEVER] if self.straight else range(least, least + 100):
            if self._place(interval) and self._allocate(interval):
                self.length = 1 + max(each.time for each in self.operations)
                left = [o.time + o.latency for o in self.operations if o.pinned is not None]
                if self.straight:
                    self.length = max([self.length, *left])
                self.interval = self.length if self.straight else interval
                return self
        raise DoesNotFit(self.name)

    def _set_heights(self) -> None:
        """Find the cycles from each operation to the end of the longest chain that needs it."""
        for each in reversed(self.operations):  # operands stand before their users
            for earlier, distance in each.before():
                earlier.height = max(earlier.height, each.height + distance)

    def _place(self, interval: int) -> bool:
        """List scheduling: the highest operation whose inputs are placed comes next."""
        taken: set[tuple[str, int]] = set()
        for each in self.operations:
            each.time = -1
        waiting = sorted(self.operations, key=lambda each: -each.height)
        while waiting:
            each = next(w for w in waiting if all(e.time != -1 for e, _ in w.before()))
            waiting.remove(each)
            early = max([0, *(earlier.time + distance for earlier, distance in each.before())])
            for time in range(early, early + (1 if each.exactly else interval)):
                if taken.isdisjoint(_uses(each, time, interval)):
                    break
            else:
                return False
            each.time = time
            taken |= _uses(each, time, interval)
        self._delay_loads(taken, interval)
        return max(each.time for each in self.operations) < MOST_STAGES * interval

    def _delay_loads(self, taken: set[tuple[str, int]], interval: int) -> None:
        """Move loads as late as their readers allow, so that they hold registers for less long."""
        loads = [each for each in self.operations if each.unit == "load" and each.pinned is None]
        for each in sorted(loads, key=lambda each: -each.time):
            readers = [o.time for o in self.operations if each in o.operands]
            taken -= _uses(each, each.time, interval)
            for time in range(min(readers) - each.latency, each.time - 1, -1):
                if taken.isdisjoint(_uses(each, time, interval)):
                    each.time = time
                    break
            taken |= _uses(each, each.time, interval)

    def _allocate(self, interval: int) -> bool:
        """Give every value a register so that no two live ones share a place."""
        readers: dict[Operation, list[int]] = {}
        for each in self.operations:
            for operand in each.operands:
                readers.setdefault(operand, []).append(each.time)
        for bank in "LMA":
            values = sorted(
                (o for o in self.operations if o.bank == bank), key=lambda each: each.time
            )
            kept = {o.pinned for o in [*values, *readers] if o.bank == bank}
            kept |= {register for name, register in self.reserved if name == bank}
            lives: list[tuple[int, int, int]] = []
            for each in values:
                if each.pinned is not None:
                    each.register = each.pinned
                    continue
                # Written at the end of cycle time + latency - 1, held until the last reader.
                written = each.time + each.latency - 1
                life = written, max(readers.get(each, [written + 1]))
                for register in range(REGISTERS):
                    mine = (register, *life)
                    if register not in kept and not any(
                        _clash(mine, other, interval) for other in [*lives, mine]
                    ):
                        break
                else:
                    return False
                each.register = register
                lives.append(mine)
        return True

    def words(self) -> list[dict[str, Any]]:
        """Return the microwords of one interval, as fields."""
        rows: list[dict[str, Any]] = [{} for _ in range(self.interval)]
        for each in self.operations:
            row, stage = rows[each.time % self.interval], each.time // self.interval
            sources = [
                (BANKS[o.bank], o.register if o.bank == "X" else (o.register - stage) % REGISTERS)
                for o in each.operands
            ]
            target = (each.register - stage) % REGISTERS if each.bank else 0
            slot = {"load": "ld", "multiply": "mul", "add": "add", "store": "st"}[each.slot]
            row |= {f"{slot}_on": 1, f"{slot}_stage": stage}
            if slot == "st":
                row |= {"st_bank": sources[0][0], "st_from": sources[0][1]}
            elif slot == "ld":
                row |= {"ld_to": target}
            else:
                row |= {f"{slot}_to": target}
                for port, (bank, register) in zip("ab", sources, strict=False):
                    row |= {f"{slot}_{port}_bank": bank, f"{slot}_{port}": register}
            row |= {f"{slot}_{name}": value for name, value in each.fields.items()}
        return rows


def _uses(each: Operation, time: int, interval: int) -> set[tuple[str, int]]:
    """Return what an operation occupies: slot, write port of its bank, divider."""
    uses = {(each.slot, time % interval)}
    if each.bank in ("L", "M"):  # the adder alone writes bank A
        uses.add((f"port {each.bank}", (time + each.latency - 1) % interval))
    if each.divider:
        uses |= {(each.divider, (time + d) % interval) for d in range(each.latency - 1)}
    return uses


def _clash(one: tuple[int, int, int], other: tuple[int, int, int], interval: int) -> bool:
    """Say whether two values of any iterations meet in one place."""
    register1, start1, end1 = one
    register2, start2, end2 = other
    base = (register1 - register2) % REGISTERS
    for turn in range(-3, 4):
        # Iteration i + distance of `other` uses the place that iteration i of `one` does.
        distance = base + turn * REGISTERS
        if one == other and distance == 0:
            continue
        shift = distance * interval
        if not (end1 <= start2 + shift or end2 + shift <= start1):
            return True
    return False
