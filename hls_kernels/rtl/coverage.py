"""Measure which lines and cover points of the engine the benches reach.

`python -m hls_kernels.rtl.coverage <folder>` runs the benches that `make -C hls_kernels
rtl-coverage` built, and prints the covered lines and branches of each module and the count of each
cover point of bench/checks.sv. Exit code 1 if a bench fails or a cover point is not reached.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

HLS = Path(__file__).parents[1]
CHECKS = HLS / "rtl" / "bench" / "checks.sv"


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the command of each bench, with fewer cases than in rtl-test."""
    vectors = HLS / "csim" / "vectors"
    recorded = [str(vectors / f"sign_{degree}.bin") for degree in (512, 1024)]
    return {
        "sign": [str(folder / "sign"), "1", *recorded],
        "sampler": [str(folder / "sampler"), "20000", str(vectors / "samplerz_512.txt")],
        "protocol": [str(folder / "protocol"), *recorded],
        "resets": [str(folder / "resets"), "8", *recorded],
    }


Counts = Counter[tuple[str, str, int, int]]
"""Counts by kind of point, module, line and column."""


def read(path: Path) -> Counts:
    """Return the counts of a file of Verilator, summed over the instances of a module."""
    counts: Counts = Counter()
    for point, count in re.findall(r"^C '(.*)' (\d+)$", path.read_text(encoding="utf-8"), re.M):
        fields = dict(field.split("\x02", 1) for field in point.split("\x01") if field)
        kind, module = fields["page"].split("/", 1)
        counts[kind.removeprefix("v_"), module, int(fields["l"]), int(fields["n"])] += int(count)
    return counts


def cover_points() -> dict[int, str]:
    """Return the names of the cover points by their line in checks.sv."""
    lines = CHECKS.read_text(encoding="utf-8").splitlines()
    matches = ((at, re.match(r" *`COVER\((\w+),", line)) for at, line in enumerate(lines, 1))
    return {at: match.group(1) for at, match in matches if match}


def summarize(counts: Counts) -> list[dict[str, Any]]:
    """Return a row for each module: covered and all points of lines and branches."""
    modules: defaultdict[str, list[int]] = defaultdict(list)
    for (kind, module, _, _), count in counts.items():
        if kind != "user" and not module.endswith("_checks"):
            modules[module.split("__")[0]].append(count)
    return [
        {"module": module, "covered": sum(count > 0 for count in values), "points": len(values)}
        for module, values in sorted(modules.items())
    ]


def main(folder: Path) -> bool:
    """Run the benches; return whether they succeed and reach every cover point."""
    counts: Counts = Counter()
    failed = []
    for name, command in commands(folder).items():
        with tempfile.TemporaryDirectory() as files:
            environment = os.environ | {"COVERAGE_FILE": str(Path(files) / name)}
            if subprocess.run(command, env=environment, check=False).returncode:
                failed.append(name)
            for path in Path(files).iterdir():
                counts.update(read(path))
    for row in summarize(counts):
        sys.stdout.write("{module:15} {covered:5} of {points:5} lines and branches\n".format(**row))
    reached = dict.fromkeys(cover_points(), 0)
    for (kind, _, line, _), count in counts.items():
        if kind == "user" and line in reached:
            reached[line] += count
    for at, name in cover_points().items():
        sys.stdout.write(f"{name:35} {reached[at]:12}{'' if reached[at] else '  NOT REACHED'}\n")
    missed = sum(count == 0 for count in reached.values())
    sys.stdout.write(f"{len(reached)} cover points, {missed} not reached\n")
    if failed:
        sys.stdout.write(f"these benches fail: {', '.join(failed)}\n")
    return not missed and not failed


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(not main(Path(sys.argv[1]).resolve()))
