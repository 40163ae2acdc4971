"""Collect the licences of all Rust code of a library in one text.

The build runs `python licences.py <cargo> <rustc> <Cargo.toml> <target> <output> <title>`. Every
licence file of a crate is copied; for a crate without one, its declared licence is named. The
notices of Rust's standard library, which is linked in, come with the toolchain.
"""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

_LICENCE = re.compile(r"licen[cs]e|copying|notice|copyright", re.IGNORECASE)


def linked(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the packages linked by the root package, without itself, build scripts and tests."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = metadata["resolve"]["root"]
    dependencies, waiting = set(), [root]
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if normal and dependency["pkg"] not in dependencies:
                dependencies.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    return sorted((packages[key] for key in dependencies), key=lambda package: str(package["name"]))


def gather(packages: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return each licence text with its crates."""
    texts: dict[str, list[str]] = defaultdict(list)
    for package in packages:
        name = f"{package['name']} {package['version']}"
        folder = Path(package["manifest_path"]).parent
        files = [path for path in sorted(folder.iterdir()) if _LICENCE.match(path.name)]
        licences = [path.read_text(errors="replace").strip() for path in files if path.is_file()]
        for text in licences or [f"Licence as declared: {package['license']}"]:
            if name not in texts[text]:
                texts[text].append(name)
    return texts


def standard_library(sysroot: Path) -> list[str]:
    """Return the notices of Rust's standard library, and the licences that they name.

    rustup has a page and a folder of licences, Debian a single text.
    """
    folder = sysroot / "share" / "doc"
    page = folder / "rust" / "COPYRIGHT-library.html"
    if page.is_file():
        text = html.unescape(re.sub(r"<[^>]*>", "", page.read_text("utf-8", errors="replace")))
        text = re.sub(r"\s*\n\s*\n\s*", "\n\n", text).strip()
        licences = sorted((folder / "rust" / "licenses").glob("*.txt"))
        named = [path for path in licences if path.stem in text]
        return [text, *(path.read_text(errors="replace").strip() for path in named)]
    for name in ("rust/COPYRIGHT", "libstd-rust-dev/copyright", "rustc/copyright"):
        if (folder / name).is_file():
            return [(folder / name).read_text(errors="replace").strip()]
    return ["Licence as declared: MIT OR Apache-2.0. Copyright: The Rust Project Developers."]


def main(cargo: str, rustc: str, manifest: str, target: str, output: Path, title: str) -> None:
    """Write the licences to the file `output`."""
    command = [cargo, "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    metadata = subprocess.run(
        [*command, "--manifest-path", manifest], check=True, stdout=subprocess.PIPE
    )
    parts = [f"{title} of pqchain contains the following crates, under these licences."]
    for text, names in gather(linked(json.loads(metadata.stdout))).items():
        parts += ["-" * 80 + "\n" + ", ".join(names), text]
    printed = subprocess.run([rustc, "--print", "sysroot"], check=True, stdout=subprocess.PIPE)
    sysroot = Path(os.fsdecode(printed.stdout.rstrip(b"\n")))
    parts += ["-" * 80 + "\nThe Rust standard library", *standard_library(sysroot)]
    output.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], Path(sys.argv[5]), sys.argv[6])
