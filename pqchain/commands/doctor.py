"""`pqchain doctor`: check which parts of pqchain work on this machine."""

from __future__ import annotations

import argparse
import platform
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from importlib import import_module, metadata
from itertools import groupby
from typing import Any, Literal

from pqchain import algorithms, libraries, machine
from pqchain.commands import console
from pqchain.crypto import isolation, native, obstacle, open_signer
from pqchain.errors import CryptoFailure, NativeLibraryMissing, PqchainError, Unsupported
from pqchain.installation import HOME, missing, read_toml
from pqchain.statistics import wilson

State = Literal["present", "missing", "broken"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Result of one check."""

    group: str
    name: str
    state: State
    detail: str
    disables: str = ""
    """Features that do not work because of it; empty if it is present."""
    fix: str = ""
    essential: bool = False

    @property
    def healthy(self) -> bool:
        """Whether the result is acceptable; an optional part may be missing."""
        return self.state == "present" or (self.state == "missing" and not self.essential)


_PARTS = read_toml(HOME / "commands" / "doctor.toml")["parts"]
"""Checked parts, by group and name: fields of `Diagnosis` for a missing one."""

_NATIVE = "Native libraries"

_FIXES = {
    NativeLibraryMissing: "make    (without make: pip install .)",
    Unsupported: "pip install liboqs-python",
}
"""Commands that remove an obstacle, by its error. No command adds CPU flags."""


def run(arguments: argparse.Namespace) -> int:
    """Show all findings; fail if a part is broken or an essential part is missing."""
    if arguments.noise:
        return _noise(arguments)
    findings = examine()
    healthy = all(finding.healthy for finding in findings)
    data = {"healthy": healthy, "findings": list(map(asdict, findings))}
    return console.show(arguments, data, "\n".join(_text(findings)), ok=healthy)


def _noise(arguments: argparse.Namespace) -> int:
    """Show the noise of this machine; fail if its times are too noisy to publish or to rank."""
    from pqchain.bench import comparing, noise, variation

    console.print_stderr(f"Measuring for about {noise.SECONDS} seconds.")
    level = noise.measure_noise(progress=console.is_interactive())
    ratio, bound = level.median_over_min, variation.MAX_MEDIAN_OVER_MIN
    low, high = wilson(level.differ, level.compared)
    differ = level.differ / level.compared
    needed = level.runs_for_resolution
    facts = {
        "called different": f"{differ:.1%} of {level.compared} rows ({low:.1%} to {high:.1%})",
        "undecided": f"{level.undecided / level.compared:.1%} of them",
        "spread of runs": f"{level.deviation:.1%}, at most {level.largest_ratio - 1:.1%}",
        "median/min": f"{ratio:.2f}" + f", above {bound:g}: times are not ranked" * (ratio > bound),
        "detectable change": f"{level.detectable_ratio - 1:.1%} with {level.side_runs} runs of "
        f"each side, in {comparing.POWER:.0%} of comparisons",
        f"runs to find {comparing.RESOLUTION - 1:.0%}": f"{needed} of each side"
        if needed <= comparing.MAX_RUNS
        else f"more than {comparing.MAX_RUNS} of each side: stop other programs",
    }
    width = max(map(len, facts))
    text = "\n".join(
        [
            f"Same code compared with itself: {level.runs} runs of {level.rows} verifications in "
            f"{level.seconds:.0f} s, each run in its own process; {level.side_runs} runs of each "
            "side, alternating",
            *(f"  {name:<{width}}  {value}" for name, value in facts.items()),
        ]
    )
    data = asdict(level) | {"max_median_over_min": bound}
    return console.show(arguments, data, text, ok=ratio <= bound)


def _text(findings: list[Diagnosis]) -> Iterator[str]:
    width = max(len(finding.name) for finding in findings)
    for group, members in groupby(findings, key=lambda finding: finding.group):
        yield group
        for finding in members:
            mark = {"present": "ok", "missing": "--", "broken": "!!"}[finding.state]
            yield f"  {mark}  {finding.name:<{width}}  {finding.detail}"
            if finding.disables:
                yield f"      {'':<{width}}  disables: {finding.disables}"
            if finding.fix:
                yield f"      {'':<{width}}  to fix:   {finding.fix}"
        yield ""
    counts = Counter((finding.essential, finding.state) for finding in findings)
    for essential, importance in ((True, "Essential"), (False, "Optional")):
        broken, missing = counts[essential, "broken"], counts[essential, "missing"]
        yield f"{importance} parts: {broken} broken, {missing} missing."


def examine() -> list[Diagnosis]:
    """Check interpreter, packages, processor, native libraries, data and tools."""
    python = platform.python_implementation()
    return [
        Diagnosis("Python", python, "present", platform.python_version(), essential=True),
        *map(_package, _PARTS["Python packages"]),
        _processor(),
        *_libraries(),
        _data(),
        _schemes(),
        *map(_tool, _PARTS["Build tools"]),
    ]


def _finding(group: str, name: str, detail: str, reason: str) -> Diagnosis:
    """Return a finding: present with `detail`, or missing with `reason` if that is empty."""
    part = _PARTS[group][name]
    if detail:
        return Diagnosis(group, name, "present", detail, essential=part.get("essential", False))
    return Diagnosis(group, name, "missing", reason, **part)


def _package(name: str) -> Diagnosis:
    """Check for a package by its installed metadata; nothing is imported."""
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        version = ""
    finding = _finding("Python packages", name, version, "not installed")
    # pip installs the essential packages, except on 32-bit ARM, where some lack wheels.
    return replace(finding, essential=finding.essential and platform.machine() != "armv7l")


def _tool(name: str) -> Diagnosis:
    detail = "found" if shutil.which(name) else ""
    return _finding("Build tools", name, detail, "not on the search path")


def _processor() -> Diagnosis:
    rows = algorithms.IMPLEMENTATIONS.values()
    needed = sorted({flag for row in rows for flag in row.cpu_flags})
    lacking = [flag for flag in needed if flag not in machine.cpu_flags()]
    return Diagnosis(
        "Processor",
        "CPU flags",
        "missing" if lacking else "present",
        f"lacks {', '.join(lacking)}" if lacking else ", ".join(needed),
        disables=", ".join(row.name for row in rows if machine.missing_flags(row)),
    )


def _libraries() -> Iterator[Diagnosis]:
    for row in algorithms.IMPLEMENTATIONS.values():
        if not row.library:
            continue
        if missing := obstacle(row.name):
            if not row.setting:  # one with a setting is built only on request
                disables = f"{row.name}: its rows are marked unsupported"
                fix = _FIXES[missing.error] if missing.remedy else ""
                yield Diagnosis(_NATIVE, row.name, "missing", missing.reason, disables, fix)
            continue
        yield _library(row.name, {"disables": row.name})
    for name, part in _PARTS[_NATIVE].items():
        yield _library(name, part)


def _library(name: str, part: Mapping[str, Any]) -> Diagnosis:
    """Load and use a library in a child process, which it may end by a signal."""
    try:
        detail = isolation.call(
            f"{__name__}:library_detail", limit_seconds=60, keep=True, name=name
        )
    except Unsupported as error:
        return Diagnosis(_NATIVE, name, "missing", str(error), part["disables"], part["fix"])
    except PqchainError as error:
        return Diagnosis(_NATIVE, name, "broken", str(error), part["disables"], libraries.REINSTALL)
    return Diagnosis(_NATIVE, name, "present", detail)


def library_detail(name: str) -> str:
    """Use an implementation, or load another library; return what it is. Runs in the child."""
    if name in _PARTS[_NATIVE]:
        module, function, *arguments = _PARTS[_NATIVE][name]["load"]
        try:
            loaded = getattr(import_module(module), function)(*arguments)
        except ModuleNotFoundError as error:
            raise Unsupported(str(missing(error))) from error
        if loaded is None:
            raise Unsupported(f"{name} is not installed")
        return str(_PARTS[_NATIVE][name]["detail"])
    # Loading is not enough: a library may load and still compute wrong results.
    library = native.library(name)
    names = library.names()
    candidates = ("ML-DSA-44", *algorithms.names("signature"))
    algorithm = next((candidate for candidate in candidates if candidate in names), names[0])
    signer = open_signer(algorithm, name)
    public_key, secret_key = signer.generate_keypair()
    if not signer.verify(b"doctor", signer.sign(b"doctor", secret_key), public_key):
        raise CryptoFailure(f"{algorithm} rejects its own signature")
    facts = library.build_facts()
    corrections = len(facts.get("corrections", []))
    corrected = f", {corrections} corrected defect{'s'[: corrections != 1]}" if corrections else ""
    return (
        f"{facts.get('source', 'source unknown')} {facts.get('source_version', '')}{corrected}, "
        f"{len(names)} algorithm{'s'[: len(names) != 1]}, "
        f"{facts.get('compiler', 'compiler unknown')}; {algorithm} signs and verifies"
    )


def _data() -> Diagnosis:
    group, name = "Data", "published tables"
    try:
        from pqchain.works import papers

        detail = f"{len(papers.keys())} works, {len(papers.published())} printed values"
    except (PqchainError, OSError, ImportError) as error:
        disables = "papers, compare, reproduce"
        fix = "pip install --force-reinstall .    (in the checkout)"
        return Diagnosis(group, name, "broken", str(error), disables, fix, essential=True)
    return Diagnosis(group, name, "present", detail, essential=True)


def _schemes() -> Diagnosis:
    """Report which schemes of the default build have known attacks, and when that was checked."""
    rows = [algorithms.get(name) for name in algorithms.names()]
    attacked = (
        f"{effect}: {', '.join(row.title for row in rows if getattr(row, effect))}"
        for effect in ("broken", "warning")
    )
    checked = min(family.checked for family in algorithms.FAMILIES.values())
    detail = f"checked on {checked}; {'; '.join(attacked)}; reasons: pqchain algorithms"
    return Diagnosis("Data", "schemes", "present", detail)
