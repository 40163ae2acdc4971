"""Gather the licences of the crates that go into the QUIC library, as one text.

The build runs it: `python licences.py <cargo> <Cargo.toml> <target> <output>`. Of each crate every
file that is called after a licence is taken; one that ships none is named with what it declares.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

_LICENCE = re.compile(r"licen[cs]e|copying|notice|copyright", re.IGNORECASE)


def linked(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the packages that the root links, itself, build scripts and tests left out."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = metadata["resolve"]["root"]
    found, waiting = set(), [root]
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if normal and dependency["pkg"] not in found:
                found.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    return sorted((packages[each] for each in found), key=lambda each: str(each["name"]))


def gather(packages: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return each text with the crates that it is for."""
    texts: dict[str, list[str]] = defaultdict(list)
    for package in packages:
        name = f"{package['name']} {package['version']}"
        folder = Path(package["manifest_path"]).parent
        files = [path for path in sorted(folder.iterdir()) if _LICENCE.match(path.name)]
        given = [path.read_text(errors="replace").strip() for path in files if path.is_file()]
        for text in given or [f"Licence as declared: {package['license']}"]:
            if name not in texts[text]:
                texts[text].append(name)
    return texts


def main(cargo: str, manifest: str, target: str, output: Path) -> None:
    """Write the licences into the file `output`."""
    command = [cargo, "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    told = subprocess.run(
        [*command, "--manifest-path", manifest], check=True, stdout=subprocess.PIPE
    )
    parts = ["The QUIC library of pqchain contains the following crates, under these licences."]
    for text, names in gather(linked(json.loads(told.stdout))).items():
        parts += ["-" * 80 + "\n" + ", ".join(names), text]
    output.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]))
