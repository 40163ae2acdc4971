"""The wheel for 32-bit ARM in a Python of that processor, under QEMU: `make test-armv7l` runs this.

The Python has Debian's numpy and pandas, and no other compiled package.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.wheel

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = ROOT / "build" / "armhf"
"""Where `make build/armhf/.unpacked` puts that Python."""

PURE = (
    "annotated_types", "attr", "attrs", "cyclopts", "lazy_loader", "markdown_it", "oqs",
    "reedsolo.py", "rich", "simpy", "typing_extensions.py",
    "tqdm",
)  # fmt: skip
"""What pip installs there: packages without compiled parts."""

LIMIT_SECONDS = 800


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Return a function that runs a program with the wheel there and returns its output."""
    wheels = sorted((ROOT / "dist").glob("*armv7l.whl"))
    if not wheels or not (SYSTEM / ".unpacked").is_file() or not shutil.which("qemu-arm"):
        pytest.skip("needs the wheel, a Python for it and qemu-arm: make test-armv7l")
    folder = tmp_path_factory.mktemp("armv7l")
    with zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extractall(folder)
    here = Path(sysconfig.get_path("purelib"))
    for name in PURE:
        copy = shutil.copytree if (here / name).is_dir() else shutil.copy
        copy(here / name, folder / name)
    environment = dict.fromkeys(("HOME", "PYTHONPATH"), str(folder))
    environment |= {"PATH": os.defpath, "PYTHONHOME": str(SYSTEM / "usr")}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1"}
    command = ["qemu-arm", "-cpu", "cortex-a9", "-L", SYSTEM, SYSTEM / "usr/bin/python3"]

    def run(*words: str, code: int = 0) -> str:
        options = {"env": environment, "cwd": folder, "timeout": LIMIT_SECONDS, "text": True}
        done = subprocess.run([*command, *words], **options, capture_output=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    return run


def test_processor_is_armv7l(python):
    said = python("-c", "import platform, sys; print(platform.machine(), sys.maxsize)")
    assert said.split() == ["armv7l", str(2**31 - 1)]


def test_every_scheme_of_the_wheel_signs_or_encapsulates(python):
    said = python(
        "-c",
        """
import pqchain as pq
from pqchain.algorithms import ALGORITHMS
from pqchain.crypto import unavailable_reason

for name, algorithm in ALGORITHMS.items():
    for implementation in algorithm.implementations:
        if not algorithm.default_build or unavailable_reason(implementation) or "-s-" in name or (
            name.startswith("SPHINCS") and "128f" not in name
        ) or implementation.endswith("dispatch"):
            continue
        if algorithm.kind == "kem":
            kem = pq.open_kem(name, implementation)
            public_key, secret_key = kem.generate_keypair()
            ciphertext, secret = kem.encapsulate(public_key)
            assert kem.decapsulate(ciphertext, secret_key) == secret
        else:
            signer = pq.open_signer(name, implementation)
            public_key, secret_key = signer.generate_keypair()
            signature = signer.sign(b"right", secret_key)
            assert signer.verify(b"right", signature, public_key)
            assert not signer.verify(b"wrong", signature, public_key)
            columns = [b"right", b"wrong"], [signature] * 2, [public_key] * 2
            assert signer.verify_batch(*columns, threads=2) == [1]
        print(implementation)
""",
    ).split()
    assert set(said) == {
        "blst/assembly", "falcon/kernel", "hawk/ref", "liboqs-0.13/ref", "liboqs-0.7.1/ref",
    }  # fmt: skip
    assert len(said) > 30


SIGN = """
import sys
from hashlib import shake_256
from itertools import count

from pqchain.falcon import FalconSigner

draws = count()
def drawn(length):
    return shake_256(b"draw %d" % next(draws)).digest(length)

signer = FalconSigner(512, sys.argv[1], random_bytes=drawn)
public_key, secret_key = signer.generate_keypair()
for i in range(3):
    print(signer.sign(b"message %d" % i, secret_key).hex())
"""


@pytest.mark.parametrize("backend", ["kernel", "reference"])
def test_falcon_signer_gives_the_same_bytes_as_on_the_host(python, backend):
    here = subprocess.run(
        [sys.executable, "-c", SIGN, backend], capture_output=True, text=True, check=True
    )
    signatures = python("-c", SIGN, backend).split()
    assert len(signatures) == 3
    assert signatures == here.stdout.split()


def test_commands_run_with_system_packages(python):
    def answer(command: str) -> dict:
        return json.loads(python("-m", "pqchain", *command.split(), "--json"))

    rows = answer("bench --algorithm Falcon-512 --operation verify")["measurements"]
    measured = {
        row["implementation"]: row["median_seconds"] for row in rows if row["status"] == "ok"
    }
    assert min(measured["falcon/kernel"], measured["liboqs-0.13/ref"]) > 0
    blocks = answer("chain --algorithm Falcon-512 --transactions 3")
    assert '"valid": "yes"' in json.dumps(blocks)
    assert answer("doctor")["healthy"]


def test_user_library_builds_from_the_wheel_and_loads(python, tmp_path):
    compiler = shutil.which("arm-linux-gnueabihf-gcc")
    assert compiler, "the wheel was built by it"
    folder = json.loads(python("-m", "pqchain", "doctor", "--example", "--json"))["folder"]
    parts = [f"{folder}/{name}.c" for name in ("example", "common", "no_kem")]
    library = tmp_path / "libmine.so"
    flags = ["-O3", "-shared", "-fPIC", f"-I{folder}", "-o", library, *parts, "-lpthread"]
    subprocess.run([compiler, *flags], check=True, timeout=LIMIT_SECONDS)
    # `pqchain doctor --library` starts a process, which this emulator does not support.
    program = "import pathlib, sys; from pqchain.crypto.native import Library; "
    program += "print(*Library(pathlib.Path(sys.argv[1])).names())"
    assert python("-c", program, str(library)).strip()


def test_missing_packages_are_named_with_the_install_command(python):
    said = python("-m", "pqchain", "plot", "sizes", code=1)
    assert said.strip().endswith(
        "matplotlib, which is not installed: apt-get install python3-matplotlib"
    )
    said = python("-c", "import pqchain; pqchain.open_signer('Ed25519')", code=1)
    assert "pip install pycryptodome" in said or "apt-get install python3-cryptography" in said
