"""Simulated board: a `pynq.Device` with one core. Importing this module needs pynq.

The pynq library and the driver run on it unchanged. Host memory and device memory are separate, as
with caches: the core sees what was flushed, the host what was invalidated, so a driver that omits
either gets a wrong result here too. The core is the C++ kernel, which computes at once, or the
netlist of the engine in RTL, cycle by cycle.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pynq
from pynq.buffer import PynqBuffer

from pqchain.checks import one_of
from pqchain.falcon import core, kernel
from pqchain.falcon.netlist import MAX_CYCLES, REGISTERS, Netlist
from pqchain.falcon.overlay import VLNV
from pqchain.falcon.registers import OFFSETS

BASE = 0x43C00000
"""Address of the core's registers, as Vivado would assign it on a Zynq-7000."""

CORES = ("kernel", "rtl")
"""Cores of a board: the C++ kernel, or the netlist that `make rtl` builds."""

_NAMES = {offset: name for name, offset in REGISTERS.items()}
_MEMORY = 0x10000000
_PAGE = 0x4000


class SimulatedDevice(pynq.Device):  # type: ignore[misc]
    """Simulated board; `events` records the driver's operations on it, in order."""

    _probe_priority_ = 900

    @classmethod
    def _probe_(cls) -> list[Any]:
        """Return no devices, so that pynq never selects a simulated board by itself."""
        return []

    def __init__(self, *, core: str = "kernel") -> None:
        """Create a board with a core of `CORES`. Raises Unsupported if the netlist is not built."""
        one_of("core", core, CORES)
        super().__init__("pqchain-simboard")
        self._core: Any = Netlist() if core == "rtl" else _Kernel()
        self.name = "pqchain simulated board"
        self.capabilities = {"REGISTER_RW": True}
        self.events: list[tuple[Any, ...]] = []
        self._memory: dict[int, bytearray] = {}
        self._next = _MEMORY

    def get_bitfile_metadata(self, bitfile_name: str, partial: bool = False) -> Any:
        """Return the hardware description that pynq would read from the files of an overlay."""
        about = {"access": "read-write", "size": 32, "fields": {}}
        offsets = OFFSETS if isinstance(self._core, _Kernel) else REGISTERS
        registers = {
            name: {"address_offset": offset, "description": name, **about}
            for name, offset in offsets.items()
        }
        core = {
            "fullpath": "falcon_sign_0", "type": VLNV, "phys_addr": BASE,
            "addr_range": 0x10000, "state": None, "registers": registers, "parameters": {},
            "interrupts": {}, "gpio": {}, "mem_id": "s_axi_control", "driver": None,
        }  # fmt: skip
        return SimpleNamespace(
            ip_dict={"falcon_sign_0": core}, gpio_dict={}, interrupt_controllers={},
            interrupt_pins={}, hierarchy_dict={}, mem_dict={}, clock_dict={}, systemgraph=None,
        )  # fmt: skip

    def download(self, bitstream: Any, parser: Any = None) -> None:
        """Record a bitstream as loaded."""
        self.events.append(("download", Path(bitstream.bitfile_name).name))
        super().post_download(bitstream, parser)

    def allocate(self, shape: Any, dtype: Any, **kwargs: Any) -> Any:
        """Return a host buffer with separate device memory."""
        address = self._next
        memory = {"device": self, "device_address": address, "bo": address}
        buffer = PynqBuffer(shape, dtype, **memory, coherent=False)
        self._memory[address] = bytearray(buffer.nbytes)
        self._core.map(address, self._memory[address])
        self._next += -(-buffer.nbytes // _PAGE) * _PAGE
        # Without these, pynq would free the memory through a C library of the board.
        buffer.memory = buffer.pointer = address
        buffer.return_to = self
        return buffer

    def return_pointer(self, address: int) -> None:
        """Free the device memory of a buffer."""
        # The event records whether the memory still had contents: a driver has to wipe it.
        self._core.unmap(address)
        self.events.append(("free", any(self._memory.pop(address))))

    def flush(self, bo: int, offset: int, virtual: int, size: int) -> None:
        """Copy bytes from the host's buffer to device memory."""
        self.events.append(("flush", size))
        self._memory[bo][offset : offset + size] = _host(virtual, size).tobytes()

    def invalidate(self, bo: int, offset: int, virtual: int, size: int) -> None:
        """Copy bytes from device memory to the host's buffer."""
        self.events.append(("invalidate", size))
        _host(virtual, size)[:] = np.frombuffer(self._memory[bo], np.uint8, size, offset)

    def read_registers(self, address: int, length: int) -> bytes:
        """Read registers; reading CTRL clears its done bit, as the hardware does."""
        name = _NAMES.get(address - BASE, "")
        if name == "CTRL":
            # Runs the clock to the end of the attempt, so that polling takes one turn.
            self._core.run(MAX_CYCLES)
        value = self._core.read(name) if name else 0
        return value.to_bytes(4, "little")[:length]

    def write_registers(self, address: int, data: bytes) -> None:
        """Write registers; the start bit runs the core."""
        name, value = _NAMES.get(address - BASE), int.from_bytes(bytes(data), "little")
        if name == "CTRL" and value & core.START:
            self.events.append(("start", self._core.read("logn")))
        if name:
            self._core.write(name, value)


class _Kernel:
    """The C++ kernel behind registers and memory as those of `Netlist`; it computes at once."""

    def __init__(self) -> None:
        self._registers = dict.fromkeys(REGISTERS, 0) | {"CTRL": core.IDLE}
        self._memory: dict[int, bytearray] = {}
        self.map, self.unmap = self._memory.__setitem__, self._memory.pop

    def run(self, most_cycles: int) -> None:
        pass

    def read(self, register: str) -> int:
        value = self._registers[register]
        if register == "CTRL":
            self._registers[register] = value & ~core.DONE
        return value

    def write(self, register: str, value: int) -> None:
        if register != "CTRL":
            self._registers[register] = value
        elif value & core.START:
            request, response = (
                self._registers[f"{name}_1"] | self._registers[f"{name}_2"] << 32
                for name in ("request", "response")
            )
            logn = self._registers["logn"] if request in self._memory else 0
            content = bytes(self._memory.get(request, b""))
            status, version, vector = kernel.run_request(content, logn)
            if vector:
                self._memory[response][: len(vector)] = vector
            done = core.DONE | core.IDLE | core.READY
            self._registers |= {"status": status, "version": version, "CTRL": done}


def _host(virtual: int, size: int) -> Any:
    """Return the host's memory at an address as an array of bytes, without a copy."""
    interface = {"data": (virtual, False), "shape": (size,), "typestr": "|u1", "version": 3}
    return np.asarray(SimpleNamespace(__array_interface__=interface))


def write_placeholder(folder: Path) -> Path:
    """Write placeholders of the two files that pynq requires; return the bitstream's path."""
    for name in ("falcon_simboard.bit", "falcon_simboard.hwh"):
        (folder / name).write_text("simulated: no bitstream, for SimulatedDevice only\n", "utf-8")
    return folder / "falcon_simboard.bit"
