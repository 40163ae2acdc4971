"""PQCHAIN_HAWK_SOURCE builds the authors' code; here a substitute with its interface."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pqchain import installation
from pqchain.bench import operations as bench
from pqchain.crypto import native, open_signer, unavailable_reason
from pqchain.errors import NativeLibraryMissing, PqchainError

NATIVE = Path(native.__file__).parents[1] / "native"

AUTHORS = "hawk-authors/avx2"


def configure(folder: Path, build: Path) -> subprocess.CompletedProcess[str]:
    """Configure only Hawk's part of the native build, with the authors' code from a folder."""
    listing = build.parent / "project" / "CMakeLists.txt"
    listing.parent.mkdir(exist_ok=True)
    listing.write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(hawk_alone LANGUAGES C)\n"
        f'set(PQCHAIN_NATIVE_DIR "{NATIVE}")\nset(variants avx2 ref)\n'
        f'include("{NATIVE}/cmake/library.cmake")\ninclude("{NATIVE}/hawk/hawk.cmake")\n',
        encoding="utf-8",
    )
    return subprocess.run(
        ["cmake", "-S", str(listing.parent), "-B", str(build)],
        env={**os.environ, "PQCHAIN_HAWK_SOURCE": str(folder)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.fixture
def tools() -> None:
    """Skip without the build tools."""
    lacking = [tool for tool in ("cmake", "make", "cc") if shutil.which(tool) is None]
    if lacking:
        pytest.skip(f"{', '.join(lacking)} not found")
    if reason := unavailable_reason("hawk/avx2"):
        pytest.skip(reason)


@pytest.mark.native
@pytest.mark.long
def test_authors_hawk_code_builds_into_a_library(tools, tmp_path, monkeypatch):
    code = tmp_path / "authors" / "src"
    code.mkdir(parents=True)
    for file in Path(__file__).with_name("hawk_authors").iterdir():
        shutil.copy(file, code)
    for name in ("hawk_sign.c", "hawk_vrfy.c"):
        (code / name).write_text("#include <hawk.h>\n", encoding="utf-8")
    build = tmp_path / "build"
    done = configure(tmp_path / "authors", build)
    assert done.returncode == 0, done.stderr
    subprocess.run(
        ["cmake", "--build", str(build), "--target", "hawk-authors-avx2"],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    built = build / "hawk-authors-avx2" / "lib" / "liboqs.so"
    found = installation.library_path
    monkeypatch.setattr(
        installation,
        "library_path",
        lambda stem: built if stem == "hawk-authors-avx2" else found(stem),
    )
    assert native.library(AUTHORS).build_facts()["source"] == "the authors of Hawk"
    for name in ("Hawk-512", "Hawk-1024"):
        signer = open_signer(name, AUTHORS)
        public_key, secret_key = signer.generate_keypair()
        signature = signer.sign(b"message", secret_key)
        assert len(signature) == signer.algorithm.signature_bytes
        assert signer.verify(b"message", signature, public_key)
        assert not signer.verify(b"massage", signature, public_key)
    frame = bench.measure(["Hawk-512"], "verify", preset="quick")
    assert list(frame["implementation"]) == ["hawk/avx512", "hawk/avx2", "hawk/ref", AUTHORS]


def test_optional_builds_are_not_measured_by_default() -> None:
    if not unavailable_reason(AUTHORS):
        pytest.skip("this install was built with the authors' code")
    assert "only `PQCHAIN_HAWK_SOURCE=<folder> make -B install` builds it" in unavailable_reason(
        AUTHORS
    )
    with pytest.raises(NativeLibraryMissing, match="PQCHAIN_HAWK_SOURCE"):
        open_signer("Hawk-512", AUTHORS)
    asked = bench.measure(["Hawk-512"], "verify", implementations=[AUTHORS], preset="quick")
    assert list(asked["status"]) == ["unsupported"]
    assert issubclass(NativeLibraryMissing, PqchainError)
