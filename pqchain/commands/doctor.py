"""`pqchain doctor`: what works here, what does not, what that disables and what mends it."""

from __future__ import annotations

import argparse
import platform
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from itertools import groupby
from typing import Literal

from pqchain import algorithms, machine
from pqchain.commands import console
from pqchain.crypto import native, obstacle, open_signer
from pqchain.errors import CryptoFailure, NativeLibraryMissing, PqchainError, Unsupported

State = Literal["present", "missing", "broken"]


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


def _package(name: str, disables: str, *beside: str, essential: bool = False) -> Finding:
    remedy = f"pip install {' '.join((name, *beside))}"
    return Finding("Python packages", name, "missing", "not installed", disables, remedy, essential)


def _tool(name: str, remedy: str) -> Finding:
    disables = "building the native libraries; what is built still runs"
    return Finding("Build tools", name, "missing", "not on the search path", disables, remedy)


_BOARDS = "signing on an FPGA board; normal on anything that is not a board"

PACKAGES = (
    _package("numpy", "everything but this command", essential=True),
    _package("pandas", "everything but this command", essential=True),
    _package("matplotlib", "everything but this command", essential=True),
    _package("pyperf", "bench and reproduce, which must say where a number was made"),
    _package("liboqs-python", "the default implementation, liboqs-0.13/dispatch"),
    _package("coincurve", "ECDSA and Schnorr on secp256k1"),
    _package("cryptography", "ECDSA on P-256 and Ed25519 through OpenSSL"),
    _package("pycryptodome", "the slow baseline of ECDSA and Ed25519"),
    _package("tqdm", "progress bars"),
    _package("aioquic", "replays of a re-encoding over QUIC"),
    _package("simpy", "the reference engine of the consensus models; the fast one runs without"),
    _package("reedsolo", "the slow engine of the erasure code, by which the others are checked"),
    _package("jupyterlab", "opening the notebooks", "ipykernel"),
    _package("numba", "the compiled kernels of the consensus models; numpy does it slower"),
    _package("dask", "sweeps on a Dask cluster; processes do it here", "distributed"),
    _package("distributed", "sweeps on a Dask cluster; processes do it here"),
    _package("grpcio", "replays of a re-encoding over gRPC"),
    _package("qh3", "replays of a re-encoding over QUIC with a core in Rust"),
    _package("uvloop", "quicker event loops of replays; asyncio's own do it slower"),
    Finding("Python packages", "pynq", "missing", "not installed", _BOARDS),
)
"""What is to be said of a package that is missing; only the first are needed by all commands."""

TOOLS = (
    _tool("cc", "apt-get install gcc"),
    _tool("cmake", "pip install cmake"),
    _tool("cargo", "apt-get install cargo (or set PQCHAIN_LIBOQS_SOURCE to a source tree)"),
)
"""Programs that the build of the native libraries calls; an installed pqchain runs without."""

_MENDS = {
    NativeLibraryMissing: "make    (without make: pip install .)",
    Unsupported: "pip install liboqs-python",
}
"""The command against an obstacle, by its error; none adds CPU flags."""

ISAL = Finding(
    "Native libraries",
    "ISA-L",
    "missing",
    "ISA-L is not installed",
    "the fast engine of the erasure code; numpy does it slower",
    "pip install pyeclib    (or a package of the system: libisal2)",
)


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.epilog = """examples:
  pqchain doctor
  pqchain doctor --json | python -m json.tool"""
    console.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show what was looked at; fail if something essential is broken."""
    findings = examine()
    healthy = all(finding.healthy for finding in findings)
    if arguments.json:
        records = [asdict(finding) for finding in findings]
        console.write_json({"healthy": healthy, "findings": records})
    else:
        console.write("\n".join(_lines(findings, healthy=healthy)))
    return console.FINE if healthy else console.CHECK_FAILED


def _lines(findings: list[Finding], *, healthy: bool) -> Iterator[str]:
    width = max(len(finding.name) for finding in findings)
    for group, members in groupby(findings, key=lambda finding: finding.group):
        yield group
        for finding in members:
            mark = {"present": "ok", "missing": "--", "broken": "!!"}[finding.state]
            yield f"  {mark}  {finding.name:<{width}}  {finding.detail}"
            if finding.disables:
                yield f"      {'':<{width}}  disables: {finding.disables}"
            if finding.mend:
                yield f"      {'':<{width}}  to mend:  {finding.mend}"
        yield ""
    missing = sum(finding.state == "missing" for finding in findings)
    verdict = "Nothing essential is broken" if healthy else "Something essential is broken"
    parts = "1 optional part is" if missing == 1 else f"{missing} optional parts are"
    yield f"{verdict}; {parts} missing."


def examine() -> list[Finding]:
    """Look at the interpreter, the packages, the processor, the native libraries and the tools."""
    python = platform.python_implementation()
    return [
        Finding("Python", python, "present", platform.python_version(), essential=True),
        *map(_installed, PACKAGES),
        _processor(),
        *_libraries(),
        _erasure_engine(),
        _data(),
        *(_present(tool, "found") if shutil.which(tool.name) else tool for tool in TOOLS),
    ]


def _present(part: Finding, detail: str) -> Finding:
    return Finding(part.group, part.name, "present", detail)


def _installed(package: Finding) -> Finding:
    """Look for the version that the installer wrote down; nothing is imported."""
    try:
        return _present(package, metadata.version(package.name))
    except metadata.PackageNotFoundError:
        return package


def _processor() -> Finding:
    """Name the flags that the processor lacks and the implementations that this excludes."""
    rows = algorithms.IMPLEMENTATIONS.values()
    needed = sorted({flag for row in rows for flag in row.cpu_flags})
    lacking = [flag for flag in needed if flag not in machine.cpu_flags()]
    return Finding(
        "Processor",
        "CPU flags",
        "missing" if lacking else "present",
        f"lacks {', '.join(lacking)}" if lacking else ", ".join(needed),
        disables=", ".join(row.name for row in rows if machine.missing_flags(row)),
    )


def _libraries() -> Iterator[Finding]:
    """Load every native library, and sign and verify once with each."""
    group = "Native libraries"
    for row in algorithms.IMPLEMENTATIONS.values():
        if not row.library:
            continue
        if stands := obstacle(row.name):
            if not row.setting:  # else it is built on request only
                disables = f"{row.name}: its rows are marked unsupported"
                remedy = _MENDS[stands.error] if stands.remedy else ""
                yield Finding(group, row.name, "missing", stands.reason, disables, remedy)
            continue
        try:
            yield Finding(group, row.name, "present", _library_detail(row.name))
        except (PqchainError, OSError, ValueError) as error:
            # The library is not at fault where the Python package that leads to it is missing.
            optional = isinstance(error.__cause__, ImportError)
            state: State = "missing" if optional else "broken"
            remedy = "pip install liboqs-python" if optional else "make clean && make"
            yield Finding(group, row.name, state, str(error), row.name, remedy)


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


def _erasure_engine() -> Finding:
    """Look for ISA-L, which is a library of the system or comes with a Python package."""
    try:
        from pqchain.reencode.storage import erasure
    except ImportError:
        return ISAL
    missing = erasure.available()["isal"]
    return ISAL if missing else _present(ISAL, "the fast engine of the erasure code")


def _data() -> Finding:
    group, name = "Data", "published tables"
    try:
        from pqchain.works import papers

        detail = f"{len(papers.keys())} works, {len(papers.published())} printed values"
    except (PqchainError, OSError, ImportError) as error:
        disables = "papers, compare, reproduce"
        remedy = "pip install --force-reinstall .    (in the checkout)"
        return Finding(group, name, "broken", str(error), disables, remedy, essential=True)
    return Finding(group, name, "present", detail, essential=True)
