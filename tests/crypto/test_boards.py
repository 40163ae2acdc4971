"""The wheels for ARM in dist/, their libraries run by QEMU.

`make test-aarch64` runs those of 64 bits, `make test-armv7l` those of 32 bits. Algorithms of liboqs
must give the digests of NIST's known answers. pqchain's libraries must give the bytes that
they give on this machine: keys, signatures and verdicts.
"""

import shutil
import struct
import subprocess
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from hls_kernels.tools.nist_drbg import NistDrbg
from pqchain import algorithms
from pqchain.crypto import native, open_signer
from tests.crypto.builds import BUILDS, ROUND3_BUILDS
from tests.crypto.test_known_answers import ANSWERS, digest, kem_text, signature_text

pytestmark = [pytest.mark.wheel, pytest.mark.native]

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True)
class Processor:
    """Compiler and emulator of another processor, as packaged by Debian."""

    name: str
    triplet: str
    emulator: list[str]

    @property
    def command(self) -> list[str]:
        """Return the emulator command with the path of Debian's C library for the processor."""
        return [*self.emulator, "-L", f"/usr/{self.triplet}"]


PROCESSORS = (
    Processor("aarch64", "aarch64-linux-gnu", ["qemu-aarch64"]),
    # The processor of a PYNQ-Z2 lacks fused multiply-add: code that uses it fails.
    Processor("armv7l", "arm-linux-gnueabihf", ["qemu-arm", "-cpu", "cortex-a9"]),
)

LIMIT_SECONDS = 290
"""How long one algorithm may take before its process is ended, on a machine with other work too."""

OWN = ("hawk/ref", "falcon/kernel", "blst/assembly")
"""Our own libraries; what they compute here has known-answer tests of its own."""


class Emulated:
    """One algorithm of a library in an emulated process; see emulated.c."""

    def __init__(self, command: list[str | Path]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.limit = threading.Timer(LIMIT_SECONDS, self.process.kill)
        self.limit.start()
        self.source: Callable[[int], bytes] = bytes
        _, _, self.public, self.secret, self.longest, self.ciphertext, self.shared, _ = (
            struct.unpack("<8Q", self.read(64))
        )

    def read(self, count: int) -> bytes:
        data = self.process.stdout.read(count)
        assert len(data) == count, f"the emulated process ended with {self.process.wait(10)}"
        return data

    def number(self) -> int:
        return struct.unpack("<q", self.read(8))[0]

    def send(self, *parts: bytes) -> int:
        """Send a command, serve its requests for randomness, and return its code."""
        self.process.stdin.write(b"".join(parts))
        self.process.stdin.flush()
        while self.read(1) == b"R":
            self.process.stdin.write(self.source(self.number()))
            self.process.stdin.flush()
        return self.number()

    def close(self) -> None:
        """Let the process end, or kill it."""
        self.process.stdin.close()
        self.process.stdout.close()
        ended = self.process.wait(LIMIT_SECONDS)
        self.limit.cancel()
        assert ended == 0

    @contextmanager
    def randomness(self, source: Callable[[int], bytes]) -> Iterator[None]:
        self.source = source
        yield
        self.source = bytes

    def generate_keypair(self) -> tuple[bytes, bytes]:
        assert self.send(b"K") == 0
        return self.read(self.public), self.read(self.secret)

    def sign(self, message: bytes, secret_key: bytes) -> bytes:
        assert self.send(b"S", counted(message), secret_key) == 0
        length = self.number()
        return self.read(self.longest)[:length]

    def verify(self, message: bytes, signature: bytes, public_key: bytes) -> bool:
        code = self.send(b"V", counted(message), counted(signature), public_key)
        assert code in (0, 1)
        return code == 0

    def encapsulate(self, public_key: bytes) -> tuple[bytes, bytes]:
        assert self.send(b"E", public_key) == 0
        return self.read(self.ciphertext), self.read(self.shared)

    def decapsulate(self, ciphertext: bytes, secret_key: bytes) -> bytes:
        assert self.send(b"C", ciphertext, secret_key) == 0
        return self.read(self.shared)


def counted(data: bytes) -> bytes:
    return struct.pack("<Q", len(data)) + data


@pytest.fixture(scope="module", params=PROCESSORS, ids=lambda processor: processor.name)
def open_emulated(request, tmp_path_factory):
    """Unpack the wheel, compile the driver, and return a function that opens an algorithm."""
    processor: Processor = request.param
    wheels = sorted((ROOT / "dist").glob(f"*{processor.name}.whl"))
    if not wheels:
        pytest.skip(f"dist/ has no wheel for {processor.name}: make wheel-{processor.name}")
    compiler = f"{processor.triplet}-gcc"
    packages = {compiler: f"gcc-{processor.triplet}", processor.emulator[0]: "qemu-user"}
    for tool, package in packages.items():
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} was not found; install it (Debian: apt-get install {package})")
    folder = tmp_path_factory.mktemp(processor.name)
    with zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extractall(folder)
    program = folder / "emulated"
    source = Path(__file__).with_name("emulated.c")
    header = ROOT / "pqchain" / "native"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", f"-I{header}", "-o", program]
    subprocess.run([compiler, *flags, source, "-ldl"], check=True, timeout=LIMIT_SECONDS)

    def opened(implementation: str, name: str) -> Emulated:
        stem = algorithms.implementation(implementation).library
        library = folder / "pqchain/_native" / stem / "lib/liboqs.so"
        return Emulated([*processor.command, program, library, name])

    return opened


CELLS = [
    (name, build, ANSWERS[pair][kind][name]["single"])
    for kind in ("signature", "kem")
    for pair in (BUILDS, ROUND3_BUILDS)
    for build in pair
    for name in ANSWERS[pair][kind]
    if build.endswith("/ref") and algorithms.get(name).default_build
]
"""Algorithm, portable build and digest of every first vector."""


@pytest.mark.parametrize(("name", "implementation", "expected"), CELLS)
def test_first_vector_is_reproduced(open_emulated, name, implementation, expected):
    there = open_emulated(implementation, name)
    is_kem = algorithms.get(name).kind == "kem"
    text = kem_text(there, there, 1) if is_kem else signature_text(name, there, there, 1)
    assert digest(text) == expected
    there.close()


@pytest.mark.parametrize(
    ("name", "implementation"),
    [
        (algorithm.name, implementation)
        for implementation in OWN
        for algorithm in algorithms.ALGORITHMS.values()
        if implementation in algorithm.implementations
    ],
)
def test_libraries_give_equal_results_on_other_processors(open_emulated, name, implementation):
    here, library = open_signer(name, implementation), native.library(implementation)
    there = open_emulated(implementation, name)
    message = b"the same bytes on every processor"
    made = []
    for signer, owner in ((here, library), (there, there)):
        with owner.randomness(NistDrbg(bytes(range(48)))):
            public_key, secret_key = signer.generate_keypair()
            made.append((public_key, secret_key, signer.sign(message, secret_key)))
    assert made[0] == made[1]
    public_key, _, signature = made[0]
    assert there.verify(message, signature, public_key)
    assert not there.verify(message + b"!", signature, public_key)
    there.close()
