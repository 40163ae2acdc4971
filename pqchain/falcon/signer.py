"""`FalconSigner`: Falcon signatures with a selectable back end for the heavy step."""

from __future__ import annotations

import importlib
import logging
import secrets
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqchain import algorithms
from pqchain.checks import one_of
from pqchain.crypto import native, open_signer, unavailable_reason
from pqchain.crypto.interface import BytesLike, Signer, as_bytes
from pqchain.errors import (
    BadBoardSignature,
    BadLength,
    BoardFailure,
    CryptoFailure,
    PqchainError,
    Unsupported,
)
from pqchain.falcon import kernel
from pqchain.results.files import scratch_folder

if TYPE_CHECKING:
    import pandas as pd

    from pqchain.falcon import overlay, serial

BACKENDS = ("reference", "kernel", "simboard", "overlay", "serial")
"""Back ends of the heavy step: liboqs, pqchain's C++, a simulated board, a PYNQ board, a board on a
serial line."""

BITSTREAM = Path(__file__).with_name("falcon_sign.bit")

_log = logging.getLogger(__name__)

StepCallback = Callable[[str, str], None]
"""Callback at the end of a step, with the step's name and where it ran."""


class FalconSigner:
    """Falcon of round 3 with a selectable back end; signatures are bit-identical to liboqs's.

    `backend` is the back end in use, `reason` the reason for the choice. "auto" selects the first
    of "overlay", "kernel" and "reference" that works, so it does not fail without a board. With the
    path of a serial device it tries "serial" instead of "overlay". If the board fails later, it
    signs by "kernel" from then on. "overlay" and "serial" never fall back to another one.
    """

    __slots__ = (
        "_auto", "_board", "_logn", "_random", "_reference", "algorithm", "backend",
        "degree", "reason",
    )  # fmt: skip

    def __init__(
        self,
        degree: int = 512,
        backend: str = "auto",
        *,
        padded: bool = False,
        bitstream: Path | str | None = None,
        device: Any = None,
        random_bytes: Callable[[int], bytes] | None = None,
        timeout_seconds: float = 10.0,
    ) -> None:
        """Open a signer of degree 512 or 1024.

        `padded` selects signatures of fixed length. `bitstream` and `device` are for boards: the
        file to load, and a pynq device instead of the one that pynq finds (PYNQ.remote's too), or
        the path of a serial device, such as /dev/ttyUSB0, whose board has its bitstream already.
        `random_bytes(count)` replaces the system's randomness, for tests.

        Raises UsageError; Unsupported, BitstreamMissing, BoardFailure, WrongBitstream or
        BoardTimeout if the requested back end does not work here.
        """
        self._logn = kernel.check_degree(degree)
        backend = backend.casefold() if isinstance(backend, str) else backend
        one_of("backend", backend, ("auto", *BACKENDS))
        self.degree = degree
        self.algorithm = algorithms.get(f"Falcon-{'padded-' if padded else ''}{degree}")
        self._random = random_bytes
        self._board: overlay.Board | serial.SerialBoard | None = None
        self._reference = self._open_reference()
        self._auto = backend == "auto"
        if self._auto:
            self.backend, self.reason = self._choose(bitstream, device, timeout_seconds)
        else:
            self._open(backend, bitstream, device, timeout_seconds)
            self.backend, self.reason = backend, "requested"

    def __repr__(self) -> str:
        return f"<FalconSigner {self.algorithm.name} by {self.backend}>"

    @property
    def cycles(self) -> int | None:
        """Clock cycles of the last attempt on a board; None if its core does not count them."""
        return None if self._board is None else self._board.cycles

    def close(self) -> None:
        """Close the device of a board with a serial line."""
        if self._board is not None:
            self._board.close()

    def _open_reference(self) -> Signer:
        """Open the fastest liboqs that runs here; it verifies the signatures of all back ends."""
        for name in ("liboqs-0.13/avx2", "liboqs-0.13/ref"):
            if not (reason := unavailable_reason(name)):
                return open_signer(self.algorithm.name, name)
        raise Unsupported(f"Falcon needs liboqs for keys and verification: {reason}")

    def _open(
        self, backend: str, bitstream: Path | str | None, device: Any, timeout_seconds: float
    ) -> None:
        if backend == "reference":
            return
        if reason := unavailable_reason(kernel.IMPLEMENTATION):
            raise Unsupported(f"the backend {backend!r} needs pqchain's C++ kernels: {reason}")
        if backend == "kernel":
            return
        if backend == "serial":
            try:
                from pqchain.falcon.serial import SerialBoard
            except ImportError as error:
                raise Unsupported(
                    f"the backend 'serial' needs Linux ({error}); use the backend 'kernel'"
                ) from error
            self._board = SerialBoard(device, timeout_seconds=timeout_seconds)
            return
        overlay = _import_for_boards("overlay")
        with scratch_folder() as folder:
            if backend == "simboard":
                simboard = _import_for_boards("simboard")
                bitstream = bitstream or simboard.write_placeholder(folder)
                device = device or simboard.SimulatedDevice()
            # pynq reads the files while it loads the overlay; the folder is not needed later.
            path = Path(BITSTREAM if bitstream is None else bitstream)
            self._board = overlay.Board(path, device=device, timeout_seconds=timeout_seconds)

    def _choose(
        self, bitstream: Path | str | None, device: Any, timeout_seconds: float
    ) -> tuple[str, str]:
        """Open the first back end that works; return its name and why earlier ones failed."""
        failures = []
        # A serial device is opened only when it is named: writing to another one may disturb it.
        board = "serial" if isinstance(device, (str, Path)) else "overlay"
        for backend in (board, "kernel"):
            try:
                self._open(backend, bitstream, device, timeout_seconds)
            except (PqchainError, OSError) as error:
                failures.append(f"{backend}: {error}")
                _log.info("cannot use %s: %s", backend, error)
            else:
                return backend, "; ".join(failures) or "a board with the core was found"
        return "reference", "; ".join(failures)

    def generate_keypair(self) -> tuple[bytes, bytes]:
        """Return a new public key and its secret key, generated by liboqs."""
        with self._reference_randomness():
            return self._reference.generate_keypair()

    def _reference_randomness(self) -> AbstractContextManager[None]:
        library = native.library(self._reference.implementation)
        return library.randomness(self._random) if self._random else nullcontext()

    def verify(self, message: BytesLike, signature: BytesLike, public_key: BytesLike) -> bool:
        """Return whether liboqs accepts the signature. Raises BadType and BadLength."""
        return self._reference.verify(message, signature, public_key)

    def sign(self, message: BytesLike, secret_key: BytesLike) -> bytes:
        """Return a signature of the message.

        Raises BadType, BadLength; CryptoFailure if the key is damaged; with a requested board
        BoardTimeout, BoardFailure, and BadBoardSignature if its signature does not verify.
        """
        message, secret_key = self._checked(message, secret_key)
        with self._falling_back():
            if self.backend != "kernel":
                return self._sign(message, secret_key, lambda step, unit: None)
        return kernel.sign(self.algorithm, **self._inputs(message, secret_key))

    @contextmanager
    def _falling_back(self) -> Iterator[None]:
        """Suppress a failure of the board that "auto" selected, and select the kernel instead."""
        try:
            yield
        except BoardFailure as error:
            if not self._auto:
                raise
            # The board keeps buffers that a running core might write, so it is not released.
            self.backend, self.reason = "kernel", f"{self.backend}: {error}"
            _log.info("cannot use the board any more: %s", error)

    def profile(self, message: BytesLike, secret_key: BytesLike) -> pd.DataFrame:
        """Sign once and return the time of each step.

        Returns a frame with the columns step, seconds, calls and where ("software", "engine" for
        what a board would do, "board"). It is a single run, not a benchmark. Raises as `sign`.
        """
        import pandas as pd

        columns = ["step", "seconds", "calls", "where"]
        message, secret_key = self._checked(message, secret_key)
        ends = [("", "", time.perf_counter())]

        def on_step(step: str, unit: str) -> None:
            ends.append((step, unit, time.perf_counter()))

        with self._falling_back():
            if self.backend != "kernel":
                self._sign(message, secret_key, on_step)
                frame = pd.DataFrame(ends, columns=["step", "where", "end"])
                steps = frame["end"].diff()[1:].groupby([frame["step"], frame["where"]], sort=False)
                return steps.agg(seconds="sum", calls="count").reset_index()[columns]
        rows = kernel.profile(self.algorithm, **self._inputs(message, secret_key))
        return pd.DataFrame(rows, columns=columns)

    def _checked(self, message: BytesLike, secret_key: BytesLike) -> tuple[bytes, bytes]:
        message, secret_key = as_bytes("message", message), as_bytes("secret key", secret_key)
        if len(secret_key) != self.algorithm.secret_key_bytes:
            # A key of the other degree is recognized by its length.
            other = {1281: 512, 2305: 1024}.get(len(secret_key))
            hint = f"That is a key of Falcon-{other}" if other else "Pass it unpadded and uncut"
            raise BadLength(
                f"the secret key of {self.algorithm.name} must have "
                f"{self.algorithm.secret_key_bytes} bytes; got {len(secret_key)}. {hint}."
            )
        return message, secret_key

    def _inputs(self, message: bytes, secret_key: bytes) -> dict[str, bytes]:
        # liboqs draws the nonce first; with the same source the signatures are identical.
        draw = self._random or secrets.token_bytes
        nonce, seed = draw(kernel.NONCE_BYTES), draw(kernel.SEED_BYTES)
        return {"secret_key": secret_key, "nonce": nonce, "seed": seed, "message": message}

    def _sign(self, message: bytes, secret_key: bytes, on_step: StepCallback) -> bytes:
        """Sign with liboqs, or on the board until a vector is short, and verify the signature."""
        if self._board is None:
            with self._reference_randomness():
                signature = self._reference.sign(message, secret_key)
            on_step("sign", "software")
            return signature
        inputs = self._inputs(message, secret_key)
        seed = inputs.pop("seed")
        public_key = kernel.public_key(self.algorithm, secret_key)
        with kernel.request_of(self.algorithm, **inputs) as request:
            on_step("prepare the request", "software")
            for attempt in range(kernel.MAX_ATTEMPTS):
                kernel.seed_request(request, seed, attempt, self._logn)
                status, response = self._board.attempt(request, self._logn)
                on_step("attempt on the board", "board")
                if status == kernel.RETRY:
                    continue
                if status != kernel.SIGNED:
                    raise BadBoardSignature(
                        f"the status of the board must be {kernel.SIGNED} or {kernel.RETRY}; got "
                        f"{status}: the key or the board is damaged. Try the backend 'kernel'"
                    )
                encoded = kernel.encode_signature(self.algorithm, inputs["nonce"], response)
                # As in liboqs: padded signatures that do not fit are tried again, others are not.
                if encoded is None and not self.algorithm.signature_varies:
                    continue
                on_step("encode the signature", "software")
                # A board may compute wrongly: its signature is verified before it is returned.
                if encoded is None or not self.verify(message, encoded, public_key):
                    raise BadBoardSignature(
                        "the board returned an invalid signature, which was discarded. Load the "
                        "bitstream again, or use the backend 'kernel'"
                    )
                on_step("verify the signature", "software")
                return encoded
        raise CryptoFailure(
            f"none of {kernel.MAX_ATTEMPTS} attempts on the board gave a short signature: the "
            "secret key is damaged"
        )


def _import_for_boards(name: str) -> Any:
    with warnings.catch_warnings():
        # pynq warns on every processor that is not a board's; simulated boards run there.
        warnings.simplefilter("ignore")
        try:
            # A folder of that name can be imported, too, and has no DefaultIP.
            _ = importlib.import_module("pynq").DefaultIP
        except Exception as error:
            raise Unsupported(
                "real and simulated boards need pynq, which cannot be imported "
                f"({type(error).__name__}: {error}): in a separate environment of Python 3.10 to "
                "3.12, `pip install pynq 'setuptools<81'`"
            ) from error
        return importlib.import_module(f"pqchain.falcon.{name}")
