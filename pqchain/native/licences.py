"""Collect the licences of one library's downloaded source code in one text.

The build runs `python licences.py <source> <release> <families> <output>`. Files named LICENSE or
NOTICE are copied; source files in folders without them are searched for comments that claim or
waive a copyright. Equal texts appear once, below the names of all files that they apply to.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

_LICENCE_NAME = re.compile(r"licen[cs]e|notice", re.IGNORECASE)
"""Names of licence files."""

_CODE = {".c", ".h", ".s", ".S", ".i", ".inc", ".macros"}
"""Suffixes of source files, which may begin with a licence."""

_COMMENT = re.compile(
    r"(?:/\*(?:[^*]|\*(?!/))*\*/\s*|^[ \t]*(?://[^\n]*|#|#[ \t][^\n]*)\n)+", re.MULTILINE
)
"""Consecutive comments of C, C++ or assembly."""

_CLAIM = re.compile(r"Copyright |waived all copyright|public domain (?:code|implementation)")
"""Text that marks a comment as a licence."""


def gather(source: Path, families: str) -> dict[str, list[str]]:
    """Return each licence text with a sorted list of its files below `source`."""
    inside = re.compile(rf"({families})/")
    files = sorted(path for path in (source / "src").rglob("*") if path.is_file())
    selected = [path for path in files if inside.match(path.relative_to(source / "src").as_posix())]
    licensed = {path.parent for path in selected if _LICENCE_NAME.match(path.name)}
    texts: dict[str, list[str]] = defaultdict(list)
    for path in selected:
        name = path.relative_to(source).as_posix()
        if path.parent in licensed and _LICENCE_NAME.match(path.name):
            texts[path.read_text(errors="replace").strip()].append(name)
        elif path.suffix in _CODE and licensed.isdisjoint(path.parents):
            for comment in _COMMENT.findall(path.read_text(errors="replace")):
                if _CLAIM.search(comment):
                    texts[comment.strip()].append(name)
    return texts


def main(source: Path, release: str, families: str, output: Path) -> None:
    """Write the licences of a release to the file `output`."""
    parts = [
        f"pqchain contains code of {release.replace('-', ' ')}, whose licence is:",
        (source / "LICENSE.txt").read_text().strip(),
        "In it, the following files and folders have licences of their own.",
    ]
    for text, names in gather(source, families).items():
        parts += ["-" * 80 + "\n" + "\n".join(names), text]
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4]))
