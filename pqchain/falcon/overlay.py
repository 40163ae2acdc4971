"""Driver of the FPGA core `falcon_sign` in a PYNQ overlay. Importing this module needs pynq.

Before the first signature the driver checks the name and the version of the core. Waiting has a
timeout, and `FalconSigner` verifies every returned signature. Buffers are flushed before the start
and invalidated after the end, because the core bypasses the processor's caches.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pynq

from pqchain.errors import BitstreamMissing, BoardFailure, WrongBitstream
from pqchain.falcon import core, kernel
from pqchain.falcon.registers import RTL_OFFSETS
from pqchain.installation import check_version

check_version(np)

VLNV = "xilinx.com:hls:falcon_sign:1.0"
"""Name of the core, as Vitis HLS assigns it."""

_IDENTIFY = 0
"""A log2 of a degree that no core signs with: it only sets its version register."""

_REGISTERS = [
    "CTRL",
    "request_1",
    "request_2",
    "response_1",
    "response_2",
    "logn",
    "status",
    "version",
]

_ABORT_SECONDS = 0.1
"""Maximum time that an aborted core needs to wipe its memory: a thousand times the usual one."""


@contextmanager
def _pynq_errors(action: str, design: str) -> Iterator[None]:
    """Raise every exception of the calls to pynq within as BoardFailure, with the versions."""
    try:
        yield
    except BoardFailure:
        raise
    except Exception as error:  # pynq documents none; its parsers raise any
        raise BoardFailure(
            f"pynq {getattr(pynq, '__version__', 'of an unknown version')} cannot {action} "
            f"({design}): {type(error).__name__}: {' '.join(str(error).split())}. Load the overlay "
            "again; use a version of pynq for that version of Vivado; or use the backend 'kernel'"
        ) from error


def _design(bitstream: Path) -> str:
    """Return the name of a bitstream with the version of Vivado in its .hwh, if it has one."""
    with bitstream.with_suffix(".hwh").open("rb") as file:
        tool = re.search(rb'VIVADOVERSION="([\w.]{1,20})"', file.read(1 << 12))
    return f"{bitstream.name} of Vivado {tool[1].decode() if tool else 'of an unknown version'}"


class FalconSign(pynq.DefaultIP):  # type: ignore[misc]
    """Driver of the core `falcon_sign`; pynq selects it by the names in `bindto`."""

    bindto = [VLNV]  # noqa: RUF012 - pynq reads a list of that name
    design = "unknown design"

    def __init__(self, description: dict[str, Any]) -> None:
        super().__init__(description=description)
        registers = description["registers"]
        try:
            # Only the core in RTL has all, not the one of Vitis HLS.
            names = [*_REGISTERS, *(name for name in RTL_OFFSETS if name in registers)]
            self._at = {name: int(registers[name]["address_offset"]) for name in names}
        except KeyError as error:
            raise WrongBitstream(
                f"the core {VLNV} lacks the register {error}; build the bitstream again from this "
                "version of hls_kernels"
            ) from error

    def identify(self, timeout_seconds: float) -> int:
        """Return the version of the core, without any access to memory. Raises BoardTimeout."""
        self.attempt(0, 0, _IDENTIFY, timeout_seconds)
        return self._get("version")

    def cycles(self) -> int | None:
        """Return the clock cycles of the last attempt; None if the core does not count them."""
        return self._get("cycles") if "cycles" in self._at else None

    def running(self) -> bool:
        """Return whether an attempt has begun and not ended."""
        return not self._get("CTRL") & (core.DONE | core.IDLE)

    def abort(self) -> bool:
        """End the attempt; return whether the core has stopped and accesses no memory any more."""
        if "abort" in self._at:
            self._set("abort", 1)
        deadline = time.monotonic() + _ABORT_SECONDS
        while self.running():
            if time.monotonic() > deadline:
                return False
        return True

    def attempt(self, request: int, response: int, logn: int, timeout_seconds: float) -> int:
        """Run an attempt on buffers at device addresses; return its status. Raises BoardTimeout."""
        core.start(self._set, request, response, logn)
        problem = (
            f"the core {VLNV} did not finish within {timeout_seconds} s; it needs about 0.1 s. "
            "Load the overlay again, and check its clock"
        )
        return core.wait(self._get, timeout_seconds, problem)

    def _get(self, register: str) -> int:
        with _pynq_errors(f"read the register {register}", self.design):
            return int(self.read(self._at[register]))

    def _set(self, register: str, value: int) -> None:
        with _pynq_errors(f"write the register {register}", self.design):
            self.write(self._at[register], value)


class Board:
    """Loaded overlay with one core, whose version has been checked."""

    __slots__ = (
        "_buffers_in_use", "_core", "_design", "_device", "_overlay", "_timeout_seconds", "cycles",
    )  # fmt: skip

    def __init__(self, bitstream: Path, *, device: Any, timeout_seconds: float) -> None:
        """Load the bitstream and check its core. Raises BitstreamMissing and BoardFailure."""
        # Checked before a device is looked for, as pynq needs both files to load an overlay.
        for path in (bitstream, bitstream.with_suffix(".hwh")):
            if not path.is_file() or path.stat().st_size == 0:
                raise BitstreamMissing(
                    f"the overlay needs {path.name} in {path.parent}. Build it with Vivado "
                    "(see hls_kernels/README.md), or use the backend 'kernel'"
                )
        self._design = _design(bitstream)
        self._timeout_seconds = timeout_seconds
        with _pynq_errors("load the overlay", self._design):
            self._device = device = _find_device() if device is None else device
            self._overlay = pynq.Overlay(str(bitstream), device=device)
            types = {name: str(ip["type"]) for name, ip in self._overlay.ip_dict.items()}
            cores = [getattr(self._overlay, name) for name in types if types[name] == VLNV]
        if len(cores) != 1:
            raise WrongBitstream(
                f"{bitstream.name} must have one core {VLNV}; it has {len(cores)}, and the cores "
                f"{', '.join(sorted(types.values())) or 'none'}. Build it from hls_kernels/boards, "
                "or name another file"
            )
        self._core = cores[0]
        self._core.design = self._design
        self.cycles: int | None = None
        self._buffers_in_use: list[Any] = []
        core.check_version(self._core.identify(timeout_seconds), f"in {bitstream.name}")

    def close(self) -> None:
        """Do nothing: the overlay stays loaded, as pynq leaves it."""

    def attempt(self, request: bytearray, logn: int) -> tuple[int, bytes]:
        """Run one signing attempt on a request; return its status and the response.

        Request and response are wiped afterwards, in device memory too. Raises BoardTimeout.
        """
        with _pynq_errors("allocate memory", self._design):
            request_buffer, response = (
                pynq.allocate(shape=(size,), dtype=np.uint8, target=self._device)
                for size in (kernel.request_bytes(logn), kernel.response_bytes(logn))
            )
        try:
            with _pynq_errors("write the request", self._design):
                memoryview(request_buffer)[:] = request
                response[:] = 0
                # A dirty line of the response, written back later, would overwrite the core's data.
                request_buffer.flush()
                response.flush()
                addresses = int(request_buffer.device_address), int(response.device_address)
            try:
                status = self._core.attempt(*addresses, logn, self._timeout_seconds)
            except BaseException:
                # pynq would give freed memory to others, into which a running core might write.
                self._buffers_in_use += [request_buffer, response]
                if self._core.abort():
                    self._buffers_in_use.clear()
                raise
            with _pynq_errors("read the response", self._design):
                response.invalidate()
                answer = bytes(response)
            self.cycles = self._core.cycles()
            return status, answer
        finally:
            with _pynq_errors("wipe its memory", self._design):
                for buffer in (request_buffer, response):
                    buffer[:] = 0
                    buffer.flush()
            # pynq frees the buffers when they are collected; freebuffer() would free them twice.


def _find_device() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return pynq.Device.active_device
        except RuntimeError as error:
            raise BoardFailure(
                "pynq found no board. On a board, XILINX_XRT must be set (a login shell of a PYNQ "
                "image sets it, sudo and services often do not); for a board elsewhere set "
                "PYNQ_REMOTE_DEVICES to its address"
            ) from error
