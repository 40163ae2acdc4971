"""Test the serial driver on a simulated board: known answers, and faults on the line.

`python -m hls_kernels.rtl.serial_line <program>` starts the simulated board (`make -C hls_kernels
rtl-serial`, or `gate` for the synthesised netlist), signs known-answer vectors through the driver
of the back end `serial`, and then signs while a byte of the line is dropped, repeated or changed
(`--faults`, for each kind and direction) or the cable is pulled. Every fault has to end with an
error or with the right signature, and the next attempt with the right one. Exit code 1 otherwise.
"""

from __future__ import annotations

import argparse
import os
import select
import subprocess
import sys
import threading
import tty
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random

from tqdm import tqdm

from hls_kernels.rtl.known_answers import sign_vectors
from hls_kernels.tools.nist_drbg import NistDrbg
from pqchain.errors import BoardFailure
from pqchain.falcon import FalconSigner, core, kernel, serial
from pqchain.falcon.netlist import Attempt

RECOVERY_SECONDS = 0.8
"""A simulated board drops an incomplete frame after 0.3 s."""

TIMEOUT_SECONDS = 8.0
"""Longest wait for an answer while a byte may be missing; otherwise 120 s, for a busy machine."""

FAULTS: dict[str, Callable[[bytes], bytes]] = {
    "dropped": lambda byte: b"",
    "repeated": lambda byte: byte * 2,
    "changed": lambda byte: bytes([byte[0] ^ 0x10]),
}
"""What becomes of a byte, by kind of fault."""

DIRECTIONS = ("to the board", "from the board")


@contextmanager
def simulated_board(program: Path) -> Iterator[Path]:
    """Start a simulated board; yield its terminal, and end it afterwards."""
    recovery_seconds, serial._RECOVERY_SECONDS = serial._RECOVERY_SECONDS, RECOVERY_SECONDS
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as board:
        assert board.stdout is not None
        try:
            yield Path(board.stdout.readline().strip())
        finally:
            board.kill()
            serial._RECOVERY_SECONDS = recovery_seconds


class Proxy:
    """Relay between a driver and a board, with a fault at a byte of one direction."""

    def __init__(
        self, device: Path, fault: Callable[[bytes], bytes] = bytes, at: int = -1, *, up: bool
    ) -> None:
        """Relay to the board at `device`; bytes from the board are `up`."""
        self._board = os.open(device, os.O_RDWR | os.O_NOCTTY)
        self._driver, self._other = os.openpty()
        for file in (self._other, self._board):
            tty.setraw(file)
        self.device = Path(os.ttyname(self._other))
        self.passed = {False: 0, True: 0}
        """Bytes relayed so far: to the board, from the board."""
        self._fault, self._at, self._up = fault, at, up
        self._ended, self._unplugging = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._relay, daemon=True)
        self._thread.start()

    def _relay(self) -> None:
        while not self._ended.is_set():
            for file in select.select([self._driver, self._board], [], [], 0.05)[0]:
                up = file == self._board
                data = os.read(file, 4096)
                first = self.passed[up]
                self.passed[up] += len(data)
                if up == self._up and first <= self._at < self.passed[up]:
                    at = self._at - first
                    data = data[:at] + self._fault(data[at : at + 1]) + data[at + 1 :]
                if self._ended.is_set():
                    return
                os.write(self._driver if up else self._board, data)

    def unplug(self) -> None:
        """Close the terminal of the driver, as if the cable were pulled; once."""
        with self._unplugging:
            if self._ended.is_set():
                return
            self._ended.set()
        if self._thread is not threading.current_thread():
            self._thread.join()
        os.close(self._other)
        os.close(self._driver)
        os.close(self._board)


class SerialEngine:
    """Engine of `sign_vectors` behind the serial driver."""

    def __init__(self, device: Path) -> None:
        self.board = serial.SerialBoard(device, timeout_seconds=7200)

    def attempt(self, request: bytearray, logn: int) -> Attempt:
        """Run one attempt through the driver."""
        status, response = self.board.attempt(request, logn)
        return Attempt(status, core.VERSION, self.board.cycles or 0, response)

    def spent(self) -> dict[str, tuple[int, int]]:
        """Return no counters: the line has none."""
        return {}

    def violations(self) -> int:
        """Return 0: assertions of the netlist end the program."""
        return 0


class Trials:
    """Attempts with faults on the line of one board, and their outcomes."""

    def __init__(self, device: Path, seed: int) -> None:
        self.device, self.random = device, Random(seed)
        self.outcomes: Counter[tuple[str, str]] = Counter()
        """Number of trials by fault and outcome."""
        self.errors: Counter[str] = Counter()
        self.wrong = 0

    def signer(
        self, degree: int, device: Path, number: int, timeout_seconds: float = 120.0
    ) -> tuple[FalconSigner, bytes]:
        """Return a signer with a secret key; its randomness depends on `number` alone."""
        random = NistDrbg(number.to_bytes(48, "big"))
        signer = FalconSigner(
            degree, "serial", device=device, random_bytes=random, timeout_seconds=timeout_seconds
        )
        return signer, signer.generate_keypair()[1]

    def expected(self, degree: int, number: int) -> bytes:
        """Return the signature of liboqs from the same randomness."""
        random = NistDrbg(number.to_bytes(48, "big"))
        signer = FalconSigner(degree, "reference", random_bytes=random)
        return signer.sign(b"message", signer.generate_keypair()[1])

    def lengths(self, degree: int) -> tuple[dict[bool, int], dict[bool, int]]:
        """Return the bytes of each direction before and during an attempt without a fault."""
        proxy = Proxy(self.device, up=True)
        signer, secret_key = self.signer(degree, proxy.device, 0)
        with closing(signer):
            before = dict(proxy.passed)
            signer.sign(b"message", secret_key)
            during = {up: proxy.passed[up] - before[up] for up in before}
        proxy.unplug()
        return before, during

    def next_is_right(self, degree: int, number: int) -> None:
        """Sign on the board without a fault."""
        signer, secret_key = self.signer(degree, self.device, number)
        with closing(signer):
            right = signer.sign(b"message", secret_key) == self.expected(degree, number)
        self.outcomes["next attempt", "right" if right else "WRONG"] += 1
        self.wrong += not right

    def attempt(self, what: str, degree: int, number: int, proxy: Proxy) -> None:
        """Sign through a proxy, and count the outcome."""
        signer, secret_key = self.signer(degree, proxy.device, number, TIMEOUT_SECONDS)
        with closing(signer):
            try:
                signature = signer.sign(b"message", secret_key)
            except BoardFailure as error:
                self.outcomes[what, "error"] += 1
                self.errors[type(error).__name__] += 1
            else:
                right = signature == self.expected(degree, number)
                self.outcomes[what, "right signature" if right else "WRONG signature"] += 1
                self.wrong += not right

    def run(self, degree: int, count: int) -> None:
        """Run `count` trials of every kind of fault in each direction."""
        before, during = self.lengths(degree)
        kinds = [(kind, up) for kind in FAULTS for up in (False, True)] * count
        for number, (kind, up) in enumerate(tqdm(kinds, f"faults, Falcon-{degree}", disable=None)):
            # frames are short compared with request and response, so half of the faults hit them
            near = self.random.choice((0, during[up] - 60)) + self.random.randrange(60)
            at = self.random.choice((near, self.random.randrange(during[up])))
            proxy = Proxy(self.device, FAULTS[kind], before[up] + at, up=up)
            self.attempt(f"byte {kind}, {DIRECTIONS[up]}", degree, number, proxy)
            proxy.unplug()
            self.next_is_right(degree, number)
        for number in range(count):
            # At a byte of the request, which every attempt sends; the number of answers depends on
            # the time that the board takes.
            at = before[False] + self.random.randrange(
                kernel.request_bytes(degree.bit_length() - 1)
            )
            cut = lambda byte: proxy.unplug() or b""  # noqa: B023, E731
            proxy = Proxy(self.device, cut, at, up=False)
            self.attempt("unplugged", degree, number, proxy)
            proxy.unplug()
            self.next_is_right(degree, number)


def answers(device: Path, degree: int, count: int) -> bool:
    """Sign known-answer vectors through the driver; return whether they are right."""
    engine = SerialEngine(device)
    with closing(engine.board):
        result = sign_vectors(engine, degree, count)
    verdict = "equal" if result.correct else "DIFFERS"
    sys.stdout.write(
        f"Falcon-{degree}: {count} known answers through the serial driver, digest "
        f"{result.digest[:16]} {verdict}\n"
    )
    sys.stdout.flush()
    return result.correct


def main() -> bool:
    """Run known answers and faults; return whether all outcomes are right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("--count", type=int, choices=(1, 100), default=100)
    parser.add_argument("--degree", type=int, choices=(512, 1024), action="append")
    parser.add_argument("--faults", type=int, default=0, help="trials of each kind and direction")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    right = True
    with simulated_board(options.program) as device:
        for degree in options.degree or (512, 1024):
            right = answers(device, degree, options.count) and right
        trials = Trials(device, options.seed)
        if options.faults:
            # frames of the other degree differ in their length only
            trials.run((options.degree or [512])[0], options.faults)
    for (what, outcome), number in sorted(trials.outcomes.items()):
        sys.stdout.write(f"{what}: {outcome} {number}\n")
    if trials.errors:
        names = ", ".join(f"{name} {number}" for name, number in sorted(trials.errors.items()))
        sys.stdout.write(f"errors: {names}\n")
    return right and not trials.wrong


if __name__ == "__main__":
    sys.exit(not main())
