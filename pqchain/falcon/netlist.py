"""Cycle-accurate simulation of the engine in RTL: the netlist that `make rtl` builds.

Verilator compiles the SystemVerilog of hls_kernels/rtl to a shared library, which is found at run
time and not needed for installation. The interface is that of a processor next to the core:
registers, and memory that the core's bus reads and writes.
"""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from pathlib import Path

from pqchain import installation
from pqchain.errors import NativeLibraryBroken, Unsupported, UsageError
from pqchain.falcon import core, kernel
from pqchain.falcon.registers import OFFSETS, RTL_OFFSETS

LIBRARY = Path("hls_kernels") / "build" / "rtl" / "libfalcon_rtl.so"
"""Path of the library that `make rtl` builds, relative to the checkout."""

REGISTERS = OFFSETS | RTL_OFFSETS
"""Offsets of the registers by name; hls_kernels/rtl/README.md has the complete map."""

MAX_CYCLES = 200_000_000
"""Upper bound of an attempt: even without a valid key, a sample ends after at most 1000 trials."""

# Bus addresses of request and response, far enough apart not to overlap.
_REQUEST_ADDRESS, _RESPONSE_ADDRESS = 0x1000_0000, 0x2000_0000


@dataclass(frozen=True, slots=True)
class Attempt:
    """One signing attempt of the netlist."""

    status: int
    version: int
    cycles: int
    """From the start bit to the done bit."""
    response: bytes
    """The short vector; zeros unless the status is `kernel.SIGNED`."""


def find_library() -> Path:
    """Return the path of the netlist's shared library; raises Unsupported if it is not built."""
    path = installation.HOME.parent / LIBRARY
    if not path.is_file():
        raise Unsupported(
            f"the engine in RTL is not built: {path} does not exist. In a checkout with Verilator, "
            "`make rtl` builds it"
        )
    return path


class Netlist:
    """Simulated engine with its registers and the memory on its bus."""

    __slots__ = ("__weakref__", "_chip", "_close", "_library", "_memory")

    def __init__(self, library: Path | None = None) -> None:
        """Load a library, by default that of `make rtl`; raise Unsupported, NativeLibraryBroken."""
        path = find_library() if library is None else library
        try:
            self._library = _declare(installation.load_library(path))
        except (NativeLibraryBroken, AttributeError) as error:
            raise NativeLibraryBroken(
                f"{path} cannot be loaded: {error.__cause__ or error}. Run `make rtl` again"
            ) from error
        self._chip: int = self._library.falcon_rtl_open()
        self._memory: dict[int, object] = {}
        # The library's engine is freed with this object.
        self._close = weakref.finalize(self, self._library.falcon_rtl_close, self._chip)

    def map(self, address: int, memory: bytearray) -> None:
        """Map memory to an address of the bus; accesses to unmapped addresses are bus errors."""
        # C keeps a pointer to the bytes, so the view has to live until they are unmapped.
        view = (ctypes.c_uint8 * len(memory)).from_buffer(memory)
        self._memory[address] = view
        self._library.falcon_rtl_map(self._chip, address, view, len(memory))

    def unmap(self, address: int) -> None:
        """Remove the memory at an address from the bus."""
        if not self._close.alive:  # a buffer may be freed after its engine
            return
        self._library.falcon_rtl_unmap(self._chip, address)
        self._memory.pop(address, None)

    def behave(self, *, read_delay_cycles: int = 12, stall: int = 0) -> None:
        """Set the cycles until a read's first word, and stalls per 256 times. Raises UsageError."""
        if not 0 <= stall < 256 or read_delay_cycles < 0:
            raise UsageError(
                "stall must be from 0 to 255 and read_delay_cycles at least 0; got "
                f"{stall} and {read_delay_cycles}"
            )
        self._library.falcon_rtl_behave(self._chip, read_delay_cycles, stall)

    def read(self, register: str) -> int:
        """Return the value of a register."""
        return int(self._library.falcon_rtl_read(self._chip, REGISTERS[register]))

    def write(self, register: str, value: int) -> None:
        """Write a value to a register."""
        self._library.falcon_rtl_write(self._chip, REGISTERS[register], value)

    def run(self, most_cycles: int) -> int:
        """Run the clock until the attempt ends, at most `most_cycles`; return the cycles."""
        return int(self._library.falcon_rtl_run(self._chip, most_cycles))

    def reset(self, cycles: int = 4) -> None:
        """Reset the engine and its bus, and run the clock until the engine's memory is wiped."""
        self._library.falcon_rtl_reset(self._chip, cycles)

    def nonzero_words(self) -> int:
        """Return the number of words of memory, registers and buffers that are not zero."""
        return int(self._library.falcon_rtl_nonzero_words(self._chip))

    def keeps_keys(self) -> bool:
        """Return whether the engine has memory for an expanded key, and reset the engine."""
        self.write("key", core.KEEP)
        can_keep = self.read("key") == core.KEEP
        self.reset()
        return can_keep

    def violations(self) -> int:
        """Return the number of violations of the bus protocol by the engine."""
        return int(self._library.falcon_rtl_violations(self._chip))

    def spent(self) -> dict[str, tuple[int, int]]:
        """Return (cycles, starts) of kernels and other activities by name, since the last call."""
        cycles, starts = ctypes.c_uint64(), ctypes.c_uint64()
        # The library resets each counter as it is read.
        spent: dict[str, tuple[int, int]] = {}
        while name := self._library.falcon_rtl_spent(
            self._chip, len(spent), ctypes.byref(cycles), ctypes.byref(starts)
        ):
            spent[name.decode()] = cycles.value, starts.value
        return spent

    def attempt(self, request: bytes | bytearray, logn: int) -> Attempt:
        """Run one signing attempt, as a driver does. Raises BoardTimeout after MAX_CYCLES."""
        response = bytearray(kernel.response_bytes(10))
        self.map(_REQUEST_ADDRESS, bytearray(request))
        self.map(_RESPONSE_ADDRESS, response)
        try:
            core.start(self.write, _REQUEST_ADDRESS, _RESPONSE_ADDRESS, logn)
            self.run(MAX_CYCLES)
            status = core.wait(self.read, 0, f"the netlist needed more than {MAX_CYCLES} cycles")
            # The engine rejects any other degree and writes no response.
            length = kernel.response_bytes(logn) if logn in (9, 10) else 0
            version, cycles = self.read("version"), self.read("cycles")
            return Attempt(status, version, cycles, bytes(response[:length]))
        finally:
            self.unmap(_REQUEST_ADDRESS)
            self.unmap(_RESPONSE_ADDRESS)


def _declare(library: ctypes.CDLL) -> ctypes.CDLL:
    chip, word, long = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64
    counter = ctypes.POINTER(long)
    octets = ctypes.POINTER(ctypes.c_uint8)
    signatures: dict[str, tuple[object, list[object]]] = {
        "open": (chip, []),
        "close": (None, [chip]),
        "map": (None, [chip, long, octets, long]),
        "unmap": (None, [chip, long]),
        "behave": (None, [chip, word, word]),
        "write": (None, [chip, word, word]),
        "read": (word, [chip, word]),
        "run": (long, [chip, long]),
        "reset": (None, [chip, word]),
        "nonzero_words": (long, [chip]),
        "violations": (word, [chip]),
        "spent": (ctypes.c_char_p, [chip, word, counter, counter]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, f"falcon_rtl_{name}")
        function.restype, function.argtypes = result, arguments
    return library
