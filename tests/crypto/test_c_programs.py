"""C programs compiled and run by tests: hostile calls, constant time, threads, 128-bit integers."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pqchain.crypto import native
from pqchain.crypto.diagnosis import FOLDER
from pqchain.results import machine
from tests.crypto.builds import need

HERE = Path(__file__).parent

DIGESTS = {
    ("falcon/kernel", "Falcon-512"): "4cfa5aa756a8bb64",
    ("hawk/ref", "Hawk-512"): "2f4fd40eac88f61d",
    ("hawk/avx2", "Hawk-512"): "2f4fd40eac88f61d",
    ("liboqs-0.13/ref", "ML-DSA-44"): "a1ef5198e7f9302b",
    ("liboqs-0.13/avx2", "ML-DSA-44"): "a1ef5198e7f9302b",
    ("pqcp/avx2", "ML-DSA-44"): "a1ef5198e7f9302b",
    ("pqcp/avx512", "ML-DSA-44"): "a1ef5198e7f9302b",
    ("fn-dsa/avx2", "Falcon-512"): "739e458aa2064ff9",
    ("slhdsa/ref", "SLH-DSA-SHA2-128f"): "68bdcbade1906691",
    ("slhdsa/avx2", "SLH-DSA-SHA2-128f"): "68bdcbade1906691",
    ("slhdsa/sha-ni", "SLH-DSA-SHA2-128f"): "68bdcbade1906691",
    ("slhdsa/avx2", "SLH-DSA-SHAKE-128f"): "fc3dc2f9bc256e66",
}
"""Of all inputs and outcomes of 300: the same keys are refused and the same signatures wrong."""


def compiled(program: Path, *arguments: str | Path) -> Path:
    """Compile C into a program or library; skip without a compiler."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler to build the driver with")
    flags = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{FOLDER}")
    subprocess.run(["cc", *flags, *arguments, "-o", program, "-ldl", "-lpthread"], check=True)
    return program


def completed(*command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = variables or None
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.native
@pytest.mark.parametrize(("implementation", "name"), DIGESTS)
def test_fuzzed_keys_and_batches_give_pinned_results(tmp_path, implementation, name):
    """A small part of `make fuzz-native`."""
    need(implementation, name)
    sanitize = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    program = compiled(tmp_path / "native-fuzz", *sanitize, HERE / "native_fuzz.c")
    library = native.library(implementation).path
    done = completed(program, "300", library, name, ASAN_OPTIONS="detect_leaks=0")
    assert done.returncode == 0, done.stderr
    match = re.fullmatch(rf"{name}: \d+ damaged keys, .*; digest ([0-9a-f]{{16}})\n", done.stdout)
    assert match, done.stdout
    assert match[1] == DIGESTS[implementation, name]


@pytest.mark.skipif(sys.maxsize < 2**32, reason="this compiler has no numbers of 128 bits")
def test_int128_agrees_with_the_compiler(tmp_path: Path) -> None:
    program = compiled(tmp_path / "int128", "-O2", HERE / "int128.c")
    assert completed(program, "50000").returncode == 0


@pytest.mark.long
@pytest.mark.native
@pytest.mark.parametrize("is_shared", [False, True])
def test_shared_random_source_is_detected(tmp_path: Path, is_shared: bool) -> None:
    """The driver of `make sanitize` on the example library."""
    sanitize = ("-O2", "-g", "-fsanitize=thread")
    try:
        driver = compiled(tmp_path / "threads", *sanitize, HERE / "threads.c")
    except subprocess.CalledProcessError:
        pytest.skip("this compiler makes no programs with -fsanitize=thread")
    text = (FOLDER / "common.c").read_text(encoding="utf-8")
    assert text.count("static __thread pq_random_source") == 1
    if is_shared:
        text = text.replace("static __thread pq_random_source", "static pq_random_source")
    (tmp_path / "common.c").write_text(text, encoding="utf-8")
    sources = (FOLDER / "example.c", FOLDER / "no_kem.c", tmp_path / "common.c")
    library = compiled(tmp_path / "example.so", *sanitize, "-shared", "-fPIC", *sources)
    done = completed(driver, "20", library)
    assert (done.returncode != 0) is is_shared, done.stdout + done.stderr
    assert ("data race" in done.stderr) is is_shared


def sources(folder: str, *without: str) -> list[Path]:
    """Return the C files of a folder except for names with these endings, and the shared hash."""
    files = sorted((FOLDER / folder).glob("*.c"))
    return [FOLDER / "shake.c", *(path for path in files if not path.stem.endswith(without))]


HAWK = sources("hawk", "_glue", "_study", "authors")
SLHDSA = sources("slhdsa", "_glue", "_ni")
CODE = {
    "slhdsa-ref": (SLHDSA, ["-DSLHDSA"]),
    "slhdsa-avx2": (SLHDSA, ["-DSLHDSA", "-mavx2", "-DSLH_VECTOR_BYTES=32"]),
    "hawk-ref": ([*HAWK, *sorted((FOLDER / "hawk" / "ref").glob("*.c"))], []),
    "hawk-avx2": (
        [*HAWK, *sorted((FOLDER / "hawk" / "avx2").glob("*.c"))],
        ["-mavx2", "-mbmi2", "-mpclmul"],
    ),
    "rainbow": (
        [*sources("rainbow", "_glue"), FOLDER / "slhdsa" / "sha2.c"],
        ["-mavx2", "-maes", "-DRAINBOW"],
    ),
}
"""Sources and flags of each signer. Memcheck lacks the SHA instructions of slhdsa/sha-ni."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "argument"),
    [*((name, "1" if "slhdsa" in name else "2") for name in CODE), ("hawk-ref", "leak")],
)
def test_signing_has_no_secret_dependent_branches_or_addresses(name, argument, tmp_path):
    """Constant-time claims under valgrind; a leak in the driver is detected."""
    if shutil.which("valgrind") is None or not Path("/usr/include/valgrind").is_dir():
        pytest.skip("needs valgrind with its headers (Debian: valgrind)")
    needed = {"avx2", "bmi2", "pclmulqdq", "aes"}
    if not name.endswith("-ref") and not needed <= machine.cpu_flags():
        pytest.skip("this processor has no AVX2")
    files, flags = CODE[name]
    declassify = "-DDECLASSIFY(memory,bytes)=(void)VALGRIND_MAKE_MEM_DEFINED(memory,bytes)"
    memcheck = ("-include", "valgrind/memcheck.h", declassify)
    driver = HERE / "constant_time.c"
    program = compiled(tmp_path / name, "-O3", "-g", *memcheck, *flags, *files, driver)
    done = completed("valgrind", "--quiet", "--error-exitcode=9", program, argument)
    if argument == "leak":
        assert done.returncode == 9
        assert "Conditional jump or move depends on uninitialised value" in done.stderr
    else:
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{argument} rounds\n", "")
