"""Driver of the FPGA core `falcon_sign` in a PYNQ overlay. Importing this module needs pynq.

Before the first signature the driver checks the name and the version of the core. Waiting has a
timeout, and `FalconSigner` verifies every returned signature. Buffers are flushed before the start
and invalidated after the end, because the core bypasses the processor's caches.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pynq

from pqchain.errors import BitstreamMissing, BoardFailure, BoardTimeout, WrongBitstream
from pqchain.falcon import kernel
from pqchain.falcon.kept_key import KeptKey

VLNV = "xilinx.com:hls:falcon_sign:1.0"
"""Name of the core, as Vitis HLS assigns it."""

VERSION = 0x46530001
"""Version of the core that this driver supports: FALCON_SIGN_VERSION in hls_kernels."""

_IDENTIFY = 0
"""A log2 of a degree that no core signs with: it only sets its version register."""

_START, _DONE, _IDLE = 1, 2, 4

_REGISTERS = (
    "CTRL", "request_1", "request_2", "response_1", "response_2", "logn", "status", "version",
)  # fmt: skip

_COUNTER, _ABORT, _KEY = "cycles", "abort", "key"
"""Registers that only the core in RTL has, not the one of Vitis HLS."""

_ABORT_SECONDS = 0.1
"""Maximum time that an aborted core needs to wipe its memory: a thousand times the usual one."""


class FalconSign(pynq.DefaultIP):  # type: ignore[misc]
    """Driver of the core `falcon_sign`; pynq selects it by the names in `bindto`."""

    bindto = [VLNV]  # noqa: RUF012 - pynq reads a list of that name

    def __init__(self, description: dict[str, Any]) -> None:
        super().__init__(description=description)
        registers = description["registers"]
        try:
            self._at = {name: int(registers[name]["address_offset"]) for name in _REGISTERS}
            for name in (_COUNTER, _ABORT, _KEY):
                if name in registers:
                    self._at[name] = int(registers[name]["address_offset"])
        except KeyError as error:
            raise WrongBitstream(
                f"the core {VLNV} lacks the register {error}; build the bitstream again from this "
                "version of hls_kernels"
            ) from error

    def identify(self, timeout_seconds: float) -> int:
        """Return the version of the core, without any access to memory. Raises BoardTimeout."""
        self.attempt(0, 0, _IDENTIFY, timeout_seconds)
        return int(self.read(self._at["version"]))

    def cycles(self) -> int | None:
        """Return the clock cycles of the last attempt; None if the core does not count them."""
        return int(self.read(self._at[_COUNTER])) if _COUNTER in self._at else None

    def kept_key(self) -> KeptKey | None:
        """Return the key that the core keeps between attempts; None if it never does."""
        if _KEY not in self._at:
            return None
        at = self._at[_KEY]
        return KeptKey(lambda: int(self.read(at)), lambda value: self.write(at, value))

    def running(self) -> bool:
        """Return whether an attempt has begun and not ended."""
        return not int(self.read(self._at["CTRL"])) & (_DONE | _IDLE)

    def abort(self) -> bool:
        """End the attempt; return whether the core has stopped and accesses no memory any more."""
        if _ABORT in self._at:
            self.write(self._at[_ABORT], 1)
        deadline = time.monotonic() + _ABORT_SECONDS
        while self.running():
            if time.monotonic() > deadline:
                return False
        return True

    def attempt(self, request: int, response: int, logn: int, timeout_seconds: float) -> int:
        """Run an attempt on buffers at device addresses; return its status. Raises BoardTimeout."""
        for name, address in (("request", request), ("response", response)):
            self.write(self._at[f"{name}_1"], address & 0xFFFFFFFF)
            self.write(self._at[f"{name}_2"], address >> 32)
        self.write(self._at["logn"], logn)
        self.write(self._at["CTRL"], _START)
        deadline = time.monotonic() + timeout_seconds
        # Reading the done bit clears it, so it is read once per iteration.
        while not int(self.read(self._at["CTRL"])) & _DONE:
            if time.monotonic() > deadline:
                raise BoardTimeout(
                    f"the core {VLNV} did not finish within {timeout_seconds} s; it needs about "
                    "0.1 s. Load the overlay again, and check its clock"
                )
        return int(self.read(self._at["status"]))


class Board:
    """Loaded overlay with one core, whose version has been checked."""

    __slots__ = (
        "_buffers_in_use", "_core", "_device", "_kept_key", "_overlay", "_timeout_seconds",
        "cycles",
    )  # fmt: skip

    def __init__(
        self, bitstream: Path, *, device: Any, timeout_seconds: float, keep_key: bool = False
    ) -> None:
        """Load the bitstream and check its core. Raises BitstreamMissing and BoardFailure.

        With `keep_key`, a core that can keeps the expanded key between attempts.
        """
        # Checked before a device is looked for, as pynq needs both files to load an overlay.
        for path in (bitstream, bitstream.with_suffix(".hwh")):
            if not path.is_file() or path.stat().st_size == 0:
                raise BitstreamMissing(
                    f"the overlay needs {path.name} in {path.parent}. Build it with Vivado "
                    "(see hls_kernels/README.md), or use the backend 'kernel'"
                )
        self._device = device = _find_device() if device is None else device
        self._timeout_seconds = timeout_seconds
        self._overlay = pynq.Overlay(str(bitstream), device=device)
        names = [name for name, ip in self._overlay.ip_dict.items() if ip["type"] == VLNV]
        if len(names) != 1:
            types = ", ".join(sorted(str(ip["type"]) for ip in self._overlay.ip_dict.values()))
            raise WrongBitstream(
                f"{bitstream.name} must have one core {VLNV}; it has {len(names)}, and the cores "
                f"{types or 'none'}. Build it from hls_kernels/boards, or name another file"
            )
        self._core = getattr(self._overlay, names[0])
        self.cycles: int | None = None
        self._buffers_in_use: list[Any] = []
        # A key is sent only to a core of the expected name and version.
        version = self._core.identify(timeout_seconds)
        if version != VERSION:
            raise WrongBitstream(
                f"the version of the core in {bitstream.name} must be {VERSION:#010x}; got "
                f"{version:#010x}. Use the bitstream of this release, or build it again"
            )
        self._kept_key = self._core.kept_key() if keep_key else None

    def close(self) -> None:
        """Wipe a kept key; the overlay stays loaded, as pynq leaves it."""
        if self._kept_key is not None:
            self._kept_key.forget()

    def attempt(self, request: bytearray, logn: int) -> tuple[int, bytes]:
        """Run one signing attempt on a request; return its status and the response.

        Request and response are wiped afterwards, in device memory too. Raises BoardTimeout.
        """
        request_buffer, response = (
            pynq.allocate(shape=(size,), dtype=np.uint8, target=self._device)
            for size in (kernel.request_bytes(logn), kernel.response_bytes(logn))
        )
        status = None
        try:
            memoryview(request_buffer)[:] = request
            if self._kept_key is not None:
                request_buffer[: self._kept_key.prepare(request, logn)] = 0
            response[:] = 0
            # A dirty line of the response, written back later, would overwrite what the core wrote.
            request_buffer.flush()
            response.flush()
            addresses = int(request_buffer.device_address), int(response.device_address)
            try:
                status = self._core.attempt(*addresses, logn, self._timeout_seconds)
            except BoardTimeout:
                # pynq would give freed memory to others, into which a running core might write.
                if not self._core.abort():
                    self._buffers_in_use += [request_buffer, response]
                raise
            response.invalidate()
            self.cycles = self._core.cycles()
            return status, bytes(response)
        finally:
            if self._kept_key is not None:
                self._kept_key.finish(status)
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
