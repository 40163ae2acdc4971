"""Every wheel and the sdist in dist/; run by `make test-wheel`."""

import json
import re
import struct
import sys
import tarfile
import zipfile
from email.parser import BytesParser
from hashlib import sha256
from pathlib import Path

import pytest

import pqchain

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.wheel

ROOT = Path(__file__).resolve().parents[2]
WHEELS = sorted((ROOT / "dist").glob("pqchain-*.whl"))
SDISTS = sorted((ROOT / "dist").glob("*.tar.gz"))

MACHINES = {"x86_64": (64, 62), "aarch64": (64, 183), "armv7l": (32, 40)}
"""Bits and numbers of processors in the header of an ELF file."""

LAYOUT = {64: ("<Q10xHHH", 40, "<IIQQQQIIQQ", "<qQ"), 32: ("<I10xHHH", 32, "<10I", "<iI")}
"""Of each kind of ELF file: where the sections are and at which place that stands, the header of a
section, an entry of the dynamic section."""

EVERYWHERE = {
    "block", "blst-assembly", "falcon-kernel", "hawk-ref", "liboqs-0.13-ref", "liboqs-0.7.1-ref",
}  # fmt: skip
"""Libraries that every wheel has."""

SYSTEM = re.compile(rb"lib(?:c|m)\.so\.6|ld-linux-[a-z0-9-]+\.so\.\d")
"""Libraries that every Linux with glibc has."""


@pytest.fixture(params=WHEELS, ids=lambda path: path.name.rpartition("_")[2])
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


def libraries(path: Path) -> dict[str, bytes]:
    """Return the shared objects of a wheel by the name of their folder."""
    with zipfile.ZipFile(path) as wheel:
        names = [name for name in wheel.namelist() if name.endswith(".so")]
        return {name.split("/")[2]: wheel.read(name) for name in names}


def builds(path: Path) -> dict[str, dict[str, object]]:
    """Return every build.json of a wheel by the name of its folder."""
    with zipfile.ZipFile(path) as wheel:
        names = [name for name in wheel.namelist() if name.endswith("/build.json")]
        return {name.split("/")[2]: json.loads(wheel.read(name)) for name in names}


def metadata(path: Path, name: str) -> bytes:
    """Return one file of the wheel's .dist-info."""
    with zipfile.ZipFile(path) as wheel:
        return wheel.read(f"pqchain-{pqchain.__version__}.dist-info/{name}")


def needed(library: bytes) -> list[bytes]:
    """Return the needed libraries and search paths of an ELF file."""
    where, at_byte, section, entry = LAYOUT[32 * library[4]]
    sections, size, count, names = struct.unpack_from(where, library, at_byte)
    assert size == struct.calcsize(section)
    assert names < count
    headers = [
        struct.unpack_from(section, library, sections + size * index) for index in range(count)
    ]
    dynamic = next(header for header in headers if header[1] == 6)
    strings = headers[dynamic[6]][4]
    wanted = []
    for at in range(dynamic[4], dynamic[4] + dynamic[5], struct.calcsize(entry)):
        tag, value = struct.unpack_from(entry, library, at)
        if tag in (1, 15, 29):  # DT_NEEDED, DT_RPATH, DT_RUNPATH
            start = strings + value
            wanted.append(library[start : library.index(b"\0", start)])
    return wanted


def test_wheel_tag_is_py3_manylinux(path):
    pattern = rf"pqchain-{re.escape(pqchain.__version__)}-py3-none-manylinux_2_\d+_\w+\.whl"
    assert re.fullmatch(pattern, path.name)
    tags = BytesParser().parsebytes(metadata(path, "WHEEL")).get_all("Tag")
    assert tags == [path.stem.split("-", 2)[2]]


def test_libraries_match_the_processor_and_need_only_libc(path):
    processor = next(name for name in MACHINES if path.stem.endswith(name))
    result = libraries(path)
    assert set(result) >= EVERYWHERE
    assert any(name.endswith("-avx2") for name in result) == (processor == "x86_64")
    for name, library in result.items():
        assert library[:4] == b"\x7fELF"
        assert (32 * library[4], *struct.unpack_from("<H", library, 18)) == MACHINES[processor]
        for wanted in needed(library):
            # Rust unwinds panics with libgcc_s, which every manylinux platform has.
            unwinding = name == "quic" and wanted == b"libgcc_s.so.1"
            assert unwinding or SYSTEM.fullmatch(wanted), f"{name} needs {wanted.decode()}"


def test_build_facts_are_those_of_the_repaired_library(path):
    facts = builds(path)
    for name, library in libraries(path).items():
        build = facts[name]
        assert path.stem.endswith(build["processor"])
        assert name.endswith(build["variant"])
        assert build["library_bytes"] == len(library)
        assert build["library_sha256"] == sha256(library).hexdigest()


def test_build_machine_is_not_named(path):
    places = [str(ROOT).encode(), str(Path.home()).encode() + b"/"]
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            text = wheel.read(name)
            assert not [place for place in places if place in text], name


def test_licences_of_all_code_are_included(path):
    with zipfile.ZipFile(path) as wheel:
        files = [name.partition(".dist-info/licenses/")[2] for name in wheel.namelist()]
    versions = {(build["source"], build["source_version"]) for build in builds(path).values()}
    named = {f"LICENSE-{s}-{v}.txt" for s, v in versions if s in ("liboqs", "blst")}
    of = {"quic": "quic", "fn-dsa-ref": "crates", "pqcp-avx2": "aws-lc-0.47.0"}
    named |= {f"LICENSE-{of[name]}.txt" for name in of.keys() & libraries(path).keys()}
    assert set(filter(None, files)) == {"LICENSE"} | named
    assert metadata(path, "licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    for name in named:
        text = metadata(path, f"licenses/{name}").decode()
        if "liboqs" in name:
            # MIT of liboqs, and a notice of third-party code in it.
            assert "Permission is hereby granted, free of charge" in text
            assert "Thomas Pornin" in text
        elif "aws-lc" in name:
            assert "mldsa-native" in text
            assert "Apache License" in text
        elif "quic" in name or "crates" in name:
            crates, library = text.split("The Rust standard library", 1)
            assert ("quinn-proto" if "quic" in name else "ed25519-dalek") in crates
            # Notices and the full licence text, not only its name.
            assert "The Rust Project Developers" in library
            assert "Permission is hereby granted, free of charge" in library


def files_below(*folders: str, pattern: str = "*") -> set[str]:
    """Return the files of the checkout in these folders, without compiled Python."""
    return {
        file.relative_to(ROOT).as_posix()
        for folder in folders
        for file in (ROOT / folder).rglob(pattern)
        if file.is_file() and "__pycache__" not in file.parts
    }


def test_package_is_complete_without_c_sources(path):
    with zipfile.ZipFile(path) as wheel:
        inside = {name for name in wheel.namelist() if not name.endswith("/")}
    modules = files_below("pqchain", pattern="*.py") - files_below("pqchain/native")
    data = {f"pqchain/{file}" for file in files_below("data", "notebooks", pattern="*.*")}
    assert modules | data <= inside
    assert {name for name in inside if name.endswith(".py")} == modules
    names = ("common.c", "example.c", "known_keys.h", "no_kem.c", "pq_native.h")
    kit = {f"pqchain/native/{name}" for name in names}
    assert {name for name in inside if name.endswith((".c", ".h", ".cpp", ".cmake"))} == kit
    assert {name for name in inside if name.startswith("pqchain/native/")} == kit


def test_dependencies_are_those_of_pyproject(path):
    """auditwheel rewrites the wheel and must keep the project's dependencies."""
    told = BytesParser().parsebytes(metadata(path, "METADATA"))
    assert told["Requires-Python"] == ">=3.10"
    names = {re.split(r"[^\w-]", line)[0] for line in told.get_all("Requires-Dist")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = {re.split(r"[^\w-]", line)[0] for line in project["dependencies"]}
    assert asked
    assert asked <= names


def test_sdist_contains_build_and_test_files():
    names = ("pqchain", "pqchain_conform", "pqchain_engines")
    expected = [f"{name}-{pqchain.__version__}.tar.gz" for name in names]
    assert [path.name for path in SDISTS] == expected
    with tarfile.open(SDISTS[0]) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("LICENSE", "Makefile", "constraints.txt", "conftest.py", "notebooks"):
        assert any(file == name or file.startswith(f"{name}/") for file in inside), name
    assert files_below("pqchain/native", "hls_kernels/src", "data") <= inside
    made = (".venv", "build/", "packages/")
    assert [file for file in inside if "__pycache__" in file or file.startswith(made)] == []
