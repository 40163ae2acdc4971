"""Check which parts of pqchain work on this machine, and how to repair them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from pqchain.commands import console, values
from pqchain.crypto.diagnosis import FOLDER, Diagnosis, build_command, examine
from pqchain.errors import PqchainError, UsageError
from pqchain.render.table import Column, Table


def doctor(
    *,
    noise: bool = False,
    example: bool = False,
    library: Path | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Check which parts of pqchain work on this machine, and how to repair them.

    Exit code 1 if a part is broken or an essential one is missing.

    Args:
        noise: instead of the parts, check the noise of measured times: for a minute, compare runs
            of the same code
        example: instead, print an example in C of a library with your own signature scheme or KEM,
            and the commands that build it
        library: instead, check every scheme of your shared library, each check in its own process:
            sizes, round trips, flipped bits, stack, threads, clock

    Examples:
      pqchain doctor
      pqchain doctor --noise                   before `pqchain compare`: which changes can be found?
      pqchain doctor --json | python -m json.tool
      pqchain doctor --example > mine.c
      pqchain doctor --library libmine.so

    Use the library by --scheme ./libmine.so of bench, chain, consensus, gas, study and others.
    """
    if noise + example + (library is not None) > 1:
        raise UsageError("--noise, --example and --library exclude each other; give one")
    if noise:
        return _noise(form)
    if example:
        text = (FOLDER / "example.c").read_text(encoding="utf-8").rstrip()
        commands = [
            "pqchain doctor --example > mine.c",
            build_command("mine.c", "libmine.so"),
            "pqchain doctor --library libmine.so",
            "pqchain bench --scheme ./libmine.so",
        ]
        facts = {"example": text, "folder": str(FOLDER), "commands": commands}
        return console.show(form, facts, text, remarks=commands, verbatim=True)
    if library is not None:
        return _check_library(form, library)
    findings = [*examine(), _data()]
    healthy = all(finding.healthy for finding in findings)
    report = {"healthy": healthy, "findings": list(map(asdict, findings))}
    return console.show(form, report, "\n".join(_text(findings)), ok=healthy)


def _check_library(form: values.Format, library: Path) -> int:
    from tqdm import tqdm

    from pqchain.crypto import isolated, library_check

    # Path.resolve() raises RuntimeError at a loop of links before Python 3.13.
    path = Path(os.path.realpath(library.expanduser()))
    if not path.is_file():
        raise UsageError(f"--library {library} does not exist")
    checks = library_check.check_library(path, first_use_seconds=isolated.limit_seconds())
    findings = list(tqdm(checks, unit="check", disable=not console.is_interactive()))
    rows = [
        [finding.scheme, finding.check, "passed" if finding.passed else "WRONG", finding.detail]
        for finding in findings
    ]
    columns = [Column(title) for title in ("scheme", "check", "verdict", "detail")]
    ok = all(finding.passed for finding in findings)
    facts = {"ok": ok, "findings": list(map(asdict, findings))}
    return console.show(form, facts, Table(columns=columns, rows=rows), ok=ok)


def _noise(form: values.Format) -> int:
    """Show the noise of this machine; fail if its times are too noisy to publish or to rank."""
    from pqchain.bench import noise

    console.print_stderr(f"Measuring for about {noise.SECONDS} seconds.")
    level = noise.measure_noise(progress=console.is_interactive())
    bound = noise.MAX_MEDIAN_OVER_MIN
    data = asdict(level) | {"max_median_over_min": bound}
    return console.show(form, data, level.text(), ok=level.median_over_min <= bound)


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
