"""The container file names existing tools and targets, and builds where an engine is there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the container file and their arguments."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def test_image_is_pinned_and_starts_the_reproduction() -> None:
    words = [word for word, _ in instructions()]
    assert words == ["FROM", "RUN", "WORKDIR", "COPY", "RUN", "ENTRYPOINT"]
    found = dict(instructions())
    assert re.fullmatch(r"rust:\d+\.\d+-bookworm", found["FROM"])
    assert found["ENTRYPOINT"] == '["make", "reproduce"]'
    assert re.search(r"^reproduce:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


def test_image_has_the_tools_that_the_build_needs() -> None:
    install = next(rest for word, rest in instructions() if "apt-get install" in rest)
    assert {"cmake", "g++", "git", "make", "python3", "python3-venv"} <= set(install.split())
    # The tag is that of Rust.
    version = tuple(map(int, re.findall(r"\d+", dict(instructions())["FROM"])[:2]))
    cargo = (ROOT / "pqchain/native/quic/Cargo.toml").read_text("utf-8")
    needed = re.search(r'rust-version = "(\d+)\.(\d+)"', cargo)
    assert needed is not None and version >= tuple(map(int, needed.groups()))


def test_products_of_a_checkout_stay_outside() -> None:
    ignored = set((ROOT / ".dockerignore").read_text("utf-8").split())
    assert {".venv", "build", "results", "docs/_build"} <= ignored
    tracked = {"pqchain", "data", "hls_kernels", "Makefile", "constraints.txt", ".git"}
    assert not ignored & tracked


@pytest.mark.wheel
@pytest.mark.timeout(3600)
def test_image_builds() -> None:
    engine = shutil.which("podman") or shutil.which("docker")
    if engine is None:
        pytest.skip("no container engine here: the file was read, the image was not built")
    subprocess.run([engine, "build", "--tag", "pqchain", str(ROOT)], check=True)
