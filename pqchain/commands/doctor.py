"""What of pqchain works here, what does not, what that disables and the command that mends it."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Literal

from pqchain import algorithms, machine
from pqchain.crypto import available, native, open_signer
from pqchain.errors import CryptoFailure, PqchainError, Unsupported
from pqchain.reencode.storage import erasure
from pqchain.works import papers

State = Literal["present", "missing", "broken"]

_NEEDED = ("numpy", "pandas", "matplotlib")
"""Packages without which no command but this one works."""

_USEFUL = (
    ("pyperf", "bench and reproduce, which must say where a number was made"),
    ("liboqs-python", "the default implementation, liboqs-0.13/dispatch"),
    ("coincurve", "ECDSA and Schnorr on secp256k1"),
    ("cryptography", "ECDSA on P-256 and Ed25519 through OpenSSL"),
    ("pycryptodome", "SHA3-256 and the slow ECDSA baseline"),
    ("tqdm", "progress bars"),
    ("aioquic", "replays of a re-encoding over QUIC"),
    ("simpy", "the reference engine of the consensus models; the fast one runs without"),
    ("reedsolo", "the slow engine of the erasure code, by which the others are checked"),
)
"""Packages that an install brings, and what is lost without each."""

_OPTIONAL = (
    ("jupyterlab", "opening the notebooks", "pip install jupyterlab ipykernel"),
    (
        "numba",
        "the compiled kernels of the consensus models; numpy does it slower",
        "pip install numba",
    ),
    ("dask", "sweeps on a Dask cluster; processes do it here", "pip install dask distributed"),
    ("distributed", "sweeps on a Dask cluster; processes do it here", "pip install distributed"),
    ("grpcio", "replays of a re-encoding over gRPC", "pip install grpcio"),
    ("qh3", "replays of a re-encoding over QUIC with a core in Rust", "pip install qh3"),
    ("uvloop", "quicker event loops of replays; asyncio's own do it slower", "pip install uvloop"),
    ("pynq", "signing on an FPGA board; normal on anything that is not a board", ""),
)
"""Packages that only some people want, what is lost without them and how to get them."""

_TOOLS = ("cc", "cmake", "cargo")
"""Programs that the build of the native libraries calls."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    group: str
    name: str
    state: State
    detail: str
    disables: str = ""
    """What does not work because of it; empty if it is present."""
    mend: str = ""
    """The command that would mend it, if there is one."""
    essential: bool = False

    @property
    def healthy(self) -> bool:
        """Whether this stops nobody: an optional part may be missing."""
        return self.state == "present" or (self.state == "missing" and not self.essential)


def examine() -> list[Finding]:
    """Look at the interpreter, the packages, the native libraries, the processor and the tools."""
    return [
        *_interpreter(), *_packages(), *_processor(), *_libraries(), *_engine(), *_data(), *_tools()
    ]  # fmt: skip


def _interpreter() -> Iterator[Finding]:
    """Judge the Python that runs this."""
    yield Finding(
        "Python", platform.python_implementation(),
        "present" if sys.version_info >= (3, 10) else "broken",
        platform.python_version(), disables="" if sys.version_info >= (3, 10) else "everything",
        mend="" if sys.version_info >= (3, 10) else "install Python 3.10 or newer", essential=True,
    )  # fmt: skip


def _packages() -> Iterator[Finding]:
    """Look for the packages by the version that their installer wrote down; none is imported."""
    wanted = [(name, "everything but this command", f"pip install {name}") for name in _NEEDED]
    wanted += [(name, lost, f"pip install {name}") for name, lost in _USEFUL]
    for name, lost, mend in (*wanted, *_OPTIONAL):
        try:
            yield Finding("Python packages", name, "present", metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Finding(
                "Python packages", name, "missing", "not installed",
                disables=lost, mend=mend, essential=name in _NEEDED,
            )  # fmt: skip


def _processor() -> Iterator[Finding]:
    """Tell the processor and which implementations its flags exclude."""
    needed = sorted({flag for row in algorithms.IMPLEMENTATIONS.values() for flag in row.cpu_flags})
    present = machine.cpu_flags()
    lacking = [flag for flag in needed if flag not in present]
    excluded = [
        row.name for row in algorithms.IMPLEMENTATIONS.values() if machine.missing_flags(row)
    ]
    yield Finding(
        "Processor", "CPU flags", "missing" if lacking else "present",
        f"lacks {', '.join(lacking)}" if lacking else ", ".join(needed),
        disables=", ".join(excluded),
    )  # fmt: skip


def _libraries() -> Iterator[Finding]:
    """Load every native library, and sign and verify once with each."""
    for row in algorithms.IMPLEMENTATIONS.values():
        if not row.library:
            continue
        reason = available(row.name)
        if reason and row.setting:
            continue  # nobody asked for it
        if reason:
            yield Finding(
                "Native libraries", row.name, "missing", reason.partition(":")[0],
                disables=f"{row.name}: its rows are marked unsupported",
                mend=_mend(reason),
            )  # fmt: skip
            continue
        try:
            yield Finding("Native libraries", row.name, "present", _library_detail(row.name))
        except (PqchainError, OSError, ValueError) as error:
            optional = isinstance(error, Unsupported) and "pip install" in str(error)
            yield Finding(
                "Native libraries", row.name, "missing" if optional else "broken",
                str(error), disables=row.name,
                mend="pip install liboqs-python" if optional else "make clean && make",
            )  # fmt: skip


def _engine() -> Iterator[Finding]:
    """Look for ISA-L, which is a library of the system or comes with a Python package."""
    reason = erasure.available()["isal"]
    yield Finding(
        "Native libraries", "ISA-L", "missing" if reason else "present",
        reason.partition(":")[0] or "the fast engine of the erasure code",
        disables="the fast engine of the erasure code; numpy does it slower" if reason else "",
        mend="pip install pyeclib    (or a package of the system: libisal2)" if reason else "",
    )  # fmt: skip


def _mend(reason: str) -> str:
    """Return the command for a reason of `pqchain.crypto.available`; no command adds CPU flags."""
    if "Python package" in reason:
        return "pip install liboqs-python"
    return "make    (without make: pip install .)" if "not installed" in reason else ""


def _library_detail(implementation: str) -> str:
    """Describe a library that works; raises if it does not."""
    library = native.library(implementation)
    held = library.names()
    name = next((n for n in ("ML-DSA-44", *algorithms.names("signature")) if n in held), held[0])
    signer = open_signer(name, implementation)
    public_key, secret_key = signer.generate_keypair()
    if not signer.verify(b"doctor", signer.sign(b"doctor", secret_key), public_key):
        raise CryptoFailure(f"{name} rejects a signature that it has just made")
    facts = library.build_facts()
    corrections = len(facts.get("corrections", []))
    corrected = f", {corrections} corrected defect{'s'[: corrections != 1]}" if corrections else ""
    return (
        f"{facts.get('source', 'source unknown')} {facts.get('source_version', '')}{corrected}, "
        f"{len(held)} algorithm{'s'[: len(held) != 1]}, "
        f"{facts.get('compiler', 'compiler unknown')}; {name} signs and verifies"
    )


def _data() -> Iterator[Finding]:
    """Read the published tables."""
    try:
        rows = len(papers.published())
        detail = f"{len(papers.keys())} works, {rows} printed values"
        yield Finding("Data", "published tables", "present", detail, essential=True)
    except (PqchainError, OSError) as error:
        yield Finding(
            "Data", "published tables", "broken", str(error),
            disables="papers, compare, reproduce",
            mend="pip install --force-reinstall .    (in the checkout)", essential=True,
        )  # fmt: skip


def _tools() -> Iterator[Finding]:
    """Look for the programs that a build needs; an installed pqchain runs without them."""
    remedies = {
        "cc": "apt-get install gcc",
        "cmake": "pip install cmake",
        "cargo": "apt-get install cargo (or set PQCHAIN_LIBOQS_SOURCE to a source tree)",
    }
    for tool in _TOOLS:
        found = shutil.which(tool) is not None
        yield Finding(
            "Build tools", tool, "present" if found else "missing",
            "found" if found else "not on the search path",
            disables="" if found else "building the native libraries; what is built still runs",
            mend="" if found else remedies[tool],
        )  # fmt: skip
