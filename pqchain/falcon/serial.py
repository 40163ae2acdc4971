"""Driver of the engine in RTL on a board with a serial line, such as a ULX3S.

Every request is a frame with a sequence number and a CRC-32, and is answered by one
(hls_kernels/rtl/serial/bridge.sv describes them). A byte that was lost, changed or repeated fails
the attempt: nothing is sent again, and no signature is made of a damaged answer. The board's
memory is cleared after every attempt, and by the board itself if the host disappears.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import termios
import time
import weakref
import zlib
from pathlib import Path
from typing import Any

from pqchain.errors import BoardFailure, BoardTimeout, UsageError
from pqchain.falcon import core, kernel
from pqchain.falcon.registers import OFFSETS, RTL_OFFSETS

BITS_PER_SECOND = 1_000_000

_START = ord("F")
_READ_MEMORY, _WRITE_MEMORY, _READ_REGISTER, _WRITE_REGISTER, _CLEAR = range(5)
_HEADER_BYTES, _CHECKSUM_BYTES = 5, 4
_STATUS = {
    1: "the checksum of a frame was wrong",
    2: "the board has no such command or address",
}

_ADDRESSES = OFFSETS | RTL_OFFSETS
_RESPONSE_ADDRESS = 0x2000
"""Where the engine writes its response in the board's memory; the request is at 0."""

_RECOVERY_SECONDS = 0.1
"""Silence after which the board drops an incomplete frame: 2^22 cycles at 75 MHz, and a margin."""

_POLL_SECONDS = 0.002

_BY_NAME = Path("/dev/serial/by-id")


def find_boards() -> list[Path]:
    """Return the serial devices whose USB name is that of a supported board."""
    return sorted(_BY_NAME.glob("*ULX3S*")) if _BY_NAME.is_dir() else []


class Line:
    """Serial line to a board; exchanges frames."""

    __slots__ = ("__weakref__", "_device", "_file", "_sequence", "_timeout_seconds", "close")

    def __init__(self, device: Path, timeout_seconds: float) -> None:
        """Open the device, for this process alone. Raises BoardFailure."""
        self._device, self._timeout_seconds, self._sequence = device, timeout_seconds, 0
        try:
            self._file = os.open(device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        except (OSError, ValueError) as error:  # ValueError: a null byte in the path
            reason = error.strerror if isinstance(error, OSError) else error
            raise BoardFailure(
                f"cannot open the serial device {device}: {reason}. Check the cable and "
                "the name, and that this user may open it (group dialout)"
            ) from error
        self.close = weakref.finalize(self, os.close, self._file)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mode = termios.tcgetattr(self._file)
            speed = getattr(termios, f"B{BITS_PER_SECOND}")
            mode[0] = mode[1] = mode[3] = 0  # no translation of bytes in either direction
            mode[2] = termios.CS8 | termios.CREAD | termios.CLOCAL
            mode[4] = mode[5] = speed
            termios.tcsetattr(self._file, termios.TCSAFLUSH, mode)
        except (OSError, termios.error, AttributeError) as error:
            self.close()
            raise BoardFailure(
                f"{device} must be a serial device that no other program uses and that has "
                f"{BITS_PER_SECOND} bit/s; got: {error}"
            ) from error

    def discard_input(self) -> None:
        """Wait until the board drops an incomplete frame, and discard what it sent."""
        time.sleep(_RECOVERY_SECONDS)
        try:
            termios.tcflush(self._file, termios.TCIOFLUSH)
        except termios.error as error:
            raise self._broken(error) from error

    def exchange(
        self, command: int, address: int = 0, count: int = 0, data: bytes | bytearray = b""
    ) -> bytes:
        """Send a command; return the words of the answer as bytes.

        `address` and `count` are in words of four bytes. Raises BoardFailure if the answer is
        damaged or the board rejects the command, and BoardTimeout if none comes.
        """
        self._sequence = (self._sequence + 1) % 256
        head = bytes([_START, self._sequence, command])
        frame = bytearray(head + address.to_bytes(2, "little") + count.to_bytes(2, "little"))
        frame += data
        frame += zlib.crc32(frame).to_bytes(4, "little")
        try:
            self._send(frame)
        finally:
            frame[:] = bytes(len(frame))  # it may contain a key
        header = self._receive(_HEADER_BYTES)
        words = int.from_bytes(header[3:], "little")
        expected = count if command in (_READ_MEMORY, _READ_REGISTER) else 0
        if header[0] != _START or header[1] != self._sequence or words not in (0, expected):
            raise BoardFailure(
                f"the answer of the board on {self._device} must begin with "
                f"{bytes([_START, self._sequence]).hex()} and have {expected} words; got "
                f"{header.hex()}. {_LINE_HINT}"
            )
        body = self._receive(4 * words + _CHECKSUM_BYTES)
        if zlib.crc32(header + body[:-4]) != int.from_bytes(body[-4:], "little"):
            raise BoardFailure(
                f"the checksum of the board's answer on {self._device} is wrong. {_LINE_HINT}"
            )
        if header[2] or words != expected:
            reason = _STATUS.get(header[2], f"status {header[2]}")
            raise BoardFailure(
                f"the board on {self._device} rejected a command: {reason}. {_LINE_HINT}"
            )
        return body[:-4]

    def _send(self, data: bytearray) -> None:
        rest = memoryview(data)
        while rest:
            self._wait(select.POLLOUT, "take bytes")
            try:
                rest = rest[os.write(self._file, rest) :]
            except OSError as error:
                raise self._broken(error) from error

    def _receive(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            self._wait(select.POLLIN, "answer")
            try:
                received = os.read(self._file, count - len(data))
            except OSError as error:
                raise self._broken(error) from error
            if not received:
                raise self._broken("it was unplugged")
            data += received
        return bytes(data)

    def _wait(self, event: int, action: str) -> None:
        poll = select.poll()
        poll.register(self._file, event)
        ready = poll.poll(1000 * self._timeout_seconds)
        if not ready:
            raise BoardTimeout(
                f"the board on {self._device} did not {action} within {self._timeout_seconds} s. "
                "Check that the bitstream is loaded (LED 0 is on) and the cable"
            )
        if ready[0][1] & (select.POLLERR | select.POLLNVAL | select.POLLHUP):
            raise self._broken("it was unplugged")

    def _broken(self, reason: object) -> BoardFailure:
        return BoardFailure(
            f"the serial device {self._device} failed: {reason}. Plug the board in again, and make "
            "a new FalconSigner"
        )


_LINE_HINT = "The line lost or changed bytes: sign again, and check the cable"


class SerialBoard:
    """Board on a serial line, whose version has been checked."""

    __slots__ = ("_failed", "_line", "_timeout_seconds", "cycles")

    def __init__(self, device: Any, *, timeout_seconds: float) -> None:
        """Open the device, a path, and check its core. Raises UsageError and BoardFailure."""
        if not isinstance(device, (str, Path)) or not str(device):
            raise UsageError(
                "device must be the path of a serial device, such as /dev/ttyUSB0; got "
                f"{device!r}. `pqchain falcon doctor` lists boards that it finds"
            )
        self._timeout_seconds = timeout_seconds
        self.cycles: int | None = None
        self._line = Line(Path(device), timeout_seconds)
        self._failed = True  # an earlier program may have left an incomplete frame
        try:
            self._recover()
            core.check_version(self._read("version"), f"on {device}")
        except BaseException:
            self._line.close()
            raise

    def close(self) -> None:
        """Close the serial device."""
        self._line.close()

    def attempt(self, request: bytearray, logn: int) -> tuple[int, bytes]:
        """Run one signing attempt on a request; return its status and the response.

        The board's memory is cleared afterwards. Raises BoardFailure and BoardTimeout.
        """
        if self._failed:
            self._recover()
        self._failed = True
        try:
            return self._run(request, logn)
        except BoardTimeout:
            raise  # a board that does not answer clears its memory itself
        except BoardFailure:
            with contextlib.suppress(BoardFailure):
                self._recover()
            raise

    def _run(self, request: bytearray, logn: int) -> tuple[int, bytes]:
        self._line.exchange(_WRITE_MEMORY, 0, len(request) // 4, request)
        core.start(self._write, 0, _RESPONSE_ADDRESS, logn)
        problem = (
            f"the engine did not finish within {self._timeout_seconds} s; it needs about 0.02 s. "
            "Press the reset button of the board"
        )
        status = core.wait(self._read, self._timeout_seconds, problem, _POLL_SECONDS)
        self.cycles = self._read("cycles")
        words = kernel.response_bytes(logn) // 4
        response = self._line.exchange(_READ_MEMORY, _RESPONSE_ADDRESS // 4, words)
        self._line.exchange(_CLEAR)
        self._failed = False
        return status, response

    def _recover(self) -> None:
        """Begin a new frame after a failure, and clear the board's memory."""
        self._line.discard_input()
        self._line.exchange(_CLEAR)
        self._failed = False

    def _read(self, register: str) -> int:
        answer = self._line.exchange(_READ_REGISTER, _ADDRESSES[register] // 4, 1)
        return int.from_bytes(answer, "little")

    def _write(self, register: str, value: int) -> None:
        data = value.to_bytes(4, "little")
        self._line.exchange(_WRITE_REGISTER, _ADDRESSES[register] // 4, 1, data)
