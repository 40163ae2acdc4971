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

INTERFACE = """
#ifndef HAWK_H__
#define HAWK_H__
#include <stddef.h>
typedef struct { size_t bytes; unsigned char data[4096]; } shake_context;
typedef void (*hawk_rng)(void *context, void *destination, size_t bytes);
#define HAWK_TMPSIZE_KEYGEN(logn) ((size_t)64 << (logn))
#define HAWK_TMPSIZE_SIGN(logn) ((size_t)6 << (logn))
#define HAWK_TMPSIZE_VERIFY(logn) ((size_t)10 << (logn))
void shake_inject(shake_context *sc, const void *data, size_t bytes);
int hawk_keygen(unsigned logn, void *priv, void *pub, hawk_rng rng, void *context, void *tmp,
                size_t tmp_len);
void hawk_sign_start(shake_context *sc);
int hawk_sign_finish(unsigned logn, hawk_rng rng, void *context, void *sig,
                     const shake_context *sc, const void *priv, void *tmp, size_t tmp_len);
void hawk_verify_start(shake_context *sc);
int hawk_verify_finish(unsigned logn, const void *sig, size_t sig_len, const shake_context *sc,
                       const void *pub, size_t pub_len, void *tmp, size_t tmp_len);
#endif
"""

STAND_IN = """
#include <hawk.h>
#include <string.h>
/* A toy: the key is random, the public key repeats its head, the signature is of both. */
static const size_t PUBLIC[] = {1024, 2440}, SECRET[] = {184, 360}, SIGNATURE[] = {555, 1221};
void shake_inject(shake_context *sc, const void *data, size_t bytes) {
    memcpy(sc->data + sc->bytes, data, bytes);
    sc->bytes += bytes;
}
void hawk_sign_start(shake_context *sc) { sc->bytes = 0; }
void hawk_verify_start(shake_context *sc) { sc->bytes = 0; }
int hawk_keygen(unsigned logn, void *priv, void *pub, hawk_rng rng, void *context, void *tmp,
                size_t tmp_len) {
    memset(tmp, 0xff, tmp_len);
    rng(context, priv, SECRET[logn - 9]);
    memset(pub, 0, PUBLIC[logn - 9]);
    memcpy(pub, priv, 32);
    return 1;
}
static void tag(unsigned char *out, size_t n, const shake_context *sc, const unsigned char *key) {
    memset(out, 0, n);
    for (size_t i = 0; i < sc->bytes; i++) {
        out[i % n] ^= sc->data[i];
    }
    for (size_t i = 0; i < 32; i++) {
        out[i] ^= key[i];
    }
}
int hawk_sign_finish(unsigned logn, hawk_rng rng, void *context, void *sig,
                     const shake_context *sc, const void *priv, void *tmp, size_t tmp_len) {
    (void)rng, (void)context;
    memset(tmp, 0xff, tmp_len);
    tag(sig, SIGNATURE[logn - 9], sc, priv);
    return 1;
}
int hawk_verify_finish(unsigned logn, const void *sig, size_t sig_len, const shake_context *sc,
                       const void *pub, size_t pub_len, void *tmp, size_t tmp_len) {
    unsigned char wanted[1221];
    memset(tmp, 0xff, tmp_len);
    tag(wanted, SIGNATURE[logn - 9], sc, pub);
    return pub_len == PUBLIC[logn - 9] && memcmp(wanted, sig, sig_len) == 0;
}
"""


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
@pytest.mark.parametrize("inside", ["", "src"])
def test_authors_hawk_code_builds_into_a_library(tools, tmp_path, monkeypatch, inside):
    code = tmp_path / "authors" / inside
    code.mkdir(parents=True)
    (code / "hawk.h").write_text(INTERFACE, encoding="utf-8")
    (code / "hawk_kgen.c").write_text(STAND_IN, encoding="utf-8")
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
    assert list(frame["implementation"]) == ["hawk/avx2", "hawk/ref", AUTHORS]


@pytest.mark.native
def test_folder_without_hawk_code_is_rejected(tools: None, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = configure(tmp_path / "empty", tmp_path / "build")
    assert done.returncode != 0
    told = " ".join(done.stderr.split())
    assert "PQCHAIN_HAWK_SOURCE" in told
    assert "hawk.h, hawk_kgen.c, hawk_sign.c, hawk_vrfy.c" in told


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
