"""Provenance of measurements: processor, operating system, interpreter, native builds, commit.

It contains no names of persons, hosts or folders, so that it can be published unchanged.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import Any

from pqchain import installation
from pqchain.algorithms import Implementation
from pqchain.installation import HOME, VERSION

_CPUINFO = Path("/proc/cpuinfo")

_NOTABLE_FLAGS = (
    "popcnt", "aes", "pclmulqdq", "avx", "avx2", "bmi1", "bmi2", "adx", "sha_ni", "vaes", "avx512f",
    "constant_tsc", "nonstop_tsc", "hypervisor",
)  # fmt: skip
"""Flags that affect speed, or the reliability of the cycle counter."""

_FROM_PYPERF = {
    "platform": "platform",
    "timer": "timer",
    "aslr": "aslr",
    "cpu_affinity": "cpu_affinity",
    "cpu_config": "cpu_config",
    "cpu_freq": "cpu_frequency",
    "load_avg_1min": "load_average",
}
"""Keys of pyperf's metadata, and their names here. Its host name, paths and build arguments are
left out."""


class Provenance(dict[str, Any]):
    """Facts about a run, which nobody changes: pandas copies them with every column and row."""

    def __deepcopy__(self, memo: object) -> Provenance:
        return self


def identifier() -> str:
    """Return the `machine_id` of this machine."""
    return str(_hardware()["machine_id"])


def _hardware() -> dict[str, Any]:
    cpu_model = _cpu_model() or str(
        _pyperf_metadata().get("cpu_model_name", platform.processor() or "unknown")
    )
    cpu_count = os.cpu_count() or 1
    system = f"{platform.system()} {platform.machine()}"
    return {
        "machine_id": machine_id(cpu_model=cpu_model, cpu_count=cpu_count, system=system),
        "cpu_model": cpu_model,
        "cpu_count": cpu_count,
    }


def provenance() -> dict[str, Any]:
    """Return the provenance of numbers computed by this process, as JSON-compatible values.

    Always present: machine_id, cpu_model, cpu_count, cpu_flags (sorted, those that affect speed),
    python (implementation and version), pqchain (version), commit ("" outside a checkout; ends in
    "-dirty" if files were changed), native (`loaded_libraries`) and date (UTC). Present if pyperf
    is installed and the system provides them, in pyperf's format: platform, timer, aslr,
    cpu_affinity, cpu_config (governor and turbo), cpu_frequency and load_average (over one minute).
    """
    metadata = _pyperf_metadata()
    return {
        **_hardware(),
        "cpu_flags": sorted(cpu_flags().intersection(_NOTABLE_FLAGS)),
        **{ours: metadata[theirs] for theirs, ours in _FROM_PYPERF.items() if theirs in metadata},
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "pqchain": VERSION,
        "commit": _commit(HOME.parent),
        "native": installation.loaded_libraries(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def _pyperf_metadata() -> dict[str, Any]:
    try:
        import pyperf  # imported here: it loads slowly, and few commands need it
    except ImportError:
        return {}
    return dict(pyperf.Run([1.0], collect_metadata=True).get_metadata())


def load_share() -> float:
    """Return the load average of one minute per processor; 0 where unknown."""
    return os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 0.0


def machine_id(*, cpu_model: str, cpu_count: int, system: str) -> str:
    """Return a short name shared by machines of equal hardware: processor and eight hex digits.

    The digits are a hash of model, number of processors and system, which neither change with an
    update nor identify an owner.
    """
    # Trademarks, the number of cores and the clock rate are left out of the name.
    name = re.sub(r"\(.*?\)|\b(cpu|processor|\d+-core)\b|@.*", " ", cpu_model.casefold())
    slug = "-".join(re.findall(r"[a-z0-9]+", name)) or "unknown"
    digest = hashlib.sha256(f"{cpu_model}\n{cpu_count}\n{system}".encode()).hexdigest()
    return f"{slug}-{digest[:8]}"


def cpu_flags() -> frozenset[str]:
    """Return the x86 processor flags as Linux names them; empty on other systems."""
    return _flags(_CPUINFO)


# The file has a section per processor, and every signature with a seed asks for the flags.
@cache
def _flags(path: Path) -> frozenset[str]:
    return frozenset(_cpuinfo(path).get("flags", "").split())


def missing_flags(implementation: Implementation) -> tuple[str, ...]:
    """Return the processor flags that the implementation needs and this machine lacks."""
    present = cpu_flags()
    return tuple(flag for flag in implementation.cpu_flags if flag not in present)


def _cpuinfo(path: Path) -> dict[str, str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    entries = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, _, value in entries}


def _cpu_model() -> str:
    # The numbers matter on virtual machines, whose model name may be just "AMD EPYC".
    cpu = _cpuinfo(_CPUINFO)
    name = cpu.get("model name", "")
    numbers = [f"{key} {cpu[key]}" for key in ("cpu family", "model", "stepping") if key in cpu]
    return f"{name} ({', '.join(numbers)})" if name and numbers else name


def _commit(folder: Path) -> str:
    # Without this check git would report the commit of a surrounding repository.
    if not (folder / ".git").exists():
        return ""
    # --exclude=*: the hash of the commit, never the name of a tag.
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        process = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return process.stdout.strip()
