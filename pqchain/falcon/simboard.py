"""A board without a board: a `pynq.Device` of ours with a core in it. Needs pynq.

The real pynq library and our real driver run on it. It keeps host memory and device memory apart,
as caches do: the core sees what was flushed, the host what was invalidated. A driver that forgets
either gets a wrong answer here too. `Faults` breaks one thing at a time. The core is the C++
kernel, at once, or the netlist of the engine in RTL, cycle by cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pynq
from pynq.buffer import PynqBuffer

from pqchain.errors import UsageError
from pqchain.falcon import kernel
from pqchain.falcon.netlist import MOST_CYCLES, Netlist
from pqchain.falcon.overlay import VLNV

BASE = 0x43C00000
"""Where the core's registers lie, as Vivado would place them on a Zynq-7000."""

REGISTERS = {
    "CTRL": 0x00, "GIER": 0x04, "IP_IER": 0x08, "IP_ISR": 0x0C,
    "request_1": 0x10, "request_2": 0x14, "response_1": 0x1C, "response_2": 0x20,
    "logn": 0x28, "status": 0x30, "status_ctrl": 0x34, "version": 0x40, "version_ctrl": 0x44,
}  # fmt: skip
"""Offsets of the core's registers, as Vitis HLS lays them out for a function like ours."""

CORES = ("kernel", "rtl")
"""What the board can hold: the C++ kernel, or the netlist that `make rtl` makes."""

_CYCLES = 0x50
"""Register of the engine in RTL alone."""

_CTRL = BASE + REGISTERS["CTRL"]
_ADDRESSES = ("request", "response")
_MEMORY = 0x10000000
_PAGE = 0x4000
_START, _DONE, _IDLE, _READY = 1, 2, 4, 8


@dataclass(frozen=True, slots=True)
class Faults:
    """What is broken about this board."""

    version: int | None = None
    """Say this version instead of the true one."""
    hangs: bool = False
    """Never finish."""
    flips: bool = False
    """Change one coefficient of every response."""
    core: str = VLNV
    """Hold a core of this name."""


class SimulatedDevice(pynq.Device):  # type: ignore[misc]
    """One board with one core. `events` tells what was done to it, in order."""

    _probe_priority_ = 900

    @classmethod
    def _probe_(cls) -> list[Any]:
        """Offer nothing: a simulated board is used only by who makes one."""
        return []

    def __init__(
        self,
        faults: Faults = Faults(),
        *,
        core: str = "kernel",
        tag: str = "pqchain-simboard",
    ) -> None:
        """Put a core of `CORES` on the board.

        Raises UsageError, and Unsupported where the netlist was not made.
        """
        if core not in CORES:
            raise UsageError(f"unknown core {core!r}; expected one of {', '.join(CORES)}")
        super().__init__(tag)
        self._netlist = Netlist() if core == "rtl" else None
        self.name = "pqchain simulated board"
        self.capabilities = {"REGISTER_RW": True}
        self.faults = faults
        self.events: list[tuple[Any, ...]] = []
        self._registers = {BASE + offset: 0 for offset in REGISTERS.values()}
        self._registers[_CTRL] = _IDLE
        self._memory: dict[int, bytearray] = {}
        self._next = _MEMORY

    def get_bitfile_metadata(self, bitfile_name: str, partial: bool = False) -> Any:
        """Return what pynq would read from the hardware description of our overlay."""
        about = {"access": "read-write", "size": 32, "fields": {}}
        offsets = REGISTERS if self._netlist is None else REGISTERS | {"cycles": _CYCLES}
        registers = {
            name: {"address_offset": offset, "description": name, **about}
            for name, offset in offsets.items()
        }
        core = {
            "fullpath": "falcon_sign_0", "type": self.faults.core, "phys_addr": BASE,
            "addr_range": 0x10000, "state": None, "registers": registers, "parameters": {},
            "interrupts": {}, "gpio": {}, "mem_id": "s_axi_control", "driver": None,
        }  # fmt: skip
        return SimpleNamespace(
            ip_dict={"falcon_sign_0": core}, gpio_dict={}, interrupt_controllers={},
            interrupt_pins={}, hierarchy_dict={}, mem_dict={}, clock_dict={}, systemgraph=None,
        )  # fmt: skip

    def download(self, bitstream: Any, parser: Any = None) -> None:
        """Take a bitstream."""
        self.events.append(("download", Path(bitstream.bitfile_name).name))
        super().post_download(bitstream, parser)

    def allocate(self, shape: Any, dtype: Any, **kwargs: Any) -> Any:
        """Return a buffer with device memory of its own behind it."""
        address = self._next
        place = {"device": self, "device_address": address, "bo": address}
        buffer = PynqBuffer(shape, dtype, **place, coherent=False)
        self._memory[address] = bytearray(buffer.nbytes)
        if self._netlist is not None:
            self._netlist.map(address, self._memory[address])
        self._next += -(-buffer.nbytes // _PAGE) * _PAGE
        # Without these pynq would give the memory back through a C library of the board.
        buffer.memory = buffer.pointer = address
        buffer.return_to = self
        return buffer

    def return_pointer(self, address: int) -> None:
        """Take the memory of a buffer back."""
        if self._netlist is not None:
            self._netlist.unmap(address)
        self.events.append(("free", any(self._memory.pop(address))))

    def flush(self, bo: int, offset: int, virtual: int, size: int) -> None:
        """Copy from the host's buffer to device memory."""
        self.events.append(("flush", size))
        self._memory[bo][offset : offset + size] = _host(virtual, size).tobytes()

    def invalidate(self, bo: int, offset: int, virtual: int, size: int) -> None:
        """Copy from device memory to the host's buffer."""
        self.events.append(("invalidate", size))
        _host(virtual, size)[:] = np.frombuffer(self._memory[bo], np.uint8, size, offset)

    def read_registers(self, address: int, length: int) -> bytes:
        """Read registers; reading CTRL clears its done bit, as the hardware does."""
        if self._netlist is not None:
            value = self._look(self._netlist, address - BASE)
            return value.to_bytes(4, "little")[:length]
        value = self._registers.get(address, 0)
        if address == _CTRL:
            self._registers[address] = value & ~_DONE
        return value.to_bytes(4, "little")[:length]

    def write_registers(self, address: int, data: bytes) -> None:
        """Write registers; the start bit runs the core."""
        value = int.from_bytes(bytes(data), "little")
        if self._netlist is not None:
            if address == _CTRL and value & _START:
                self.events.append(("start", self._netlist.read(REGISTERS["logn"])))
            if not self.faults.hangs:
                self._netlist.write(address - BASE, value)
        elif address == _CTRL:
            if value & _START:
                self._start()
        elif address in self._registers:
            self._registers[address] = value

    def _look(self, netlist: Netlist, offset: int) -> int:
        """Read a register of the netlist; who looks whether it is done lets it come to its end."""
        if offset == REGISTERS["CTRL"]:
            netlist.run(MOST_CYCLES)
        value = netlist.read(offset)
        if offset == REGISTERS["CTRL"] and value & _DONE and self.faults.flips:
            low, high = (netlist.read(REGISTERS[f"response_{half}"]) for half in (1, 2))
            for answer in filter(None, [self._memory.get(low | high << 32)]):
                answer[0] ^= 1
        if offset == REGISTERS["version"] and self.faults.version is not None:
            return self.faults.version
        return value

    def _start(self) -> None:
        given = {name: self._registers[BASE + at] for name, at in REGISTERS.items()}
        logn = given["logn"]
        self.events.append(("start", logn))
        if self.faults.hangs:
            self._registers[_CTRL] = _START
            return
        asked, answered = (given[f"{at}_1"] | given[f"{at}_2"] << 32 for at in _ADDRESSES)
        request = bytes(self._memory.get(asked, b""))
        status, version, answer = kernel.run_request(request, logn if request else 0)
        if self.faults.flips and answer:
            answer = bytes([answer[0] ^ 1]) + answer[1:]
        if answer:
            self._memory[answered][: len(answer)] = answer
        self._registers[BASE + REGISTERS["status"]] = status
        said = version if self.faults.version is None else self.faults.version
        self._registers[BASE + REGISTERS["version"]] = said
        self._registers[_CTRL] = _DONE | _IDLE | _READY


def _host(virtual: int, size: int) -> Any:
    """Return the host's bytes at an address, as numpy sees them."""
    interface = {"data": (virtual, False), "shape": (size,), "typestr": "|u1", "version": 3}
    return np.asarray(SimpleNamespace(__array_interface__=interface))


def write_placeholder(folder: Path) -> Path:
    """Write the two files that pynq wants to see on disk; they hold no hardware and say so."""
    for name in ("falcon_simboard.bit", "falcon_simboard.hwh"):
        (folder / name).write_text("simulated: no bitstream, for SimulatedDevice only\n", "utf-8")
    return folder / "falcon_simboard.bit"
