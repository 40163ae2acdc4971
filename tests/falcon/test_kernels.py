"""Bit-exact kernels, and the sampler's recorded answers and distribution."""

import math
import random
import shutil
import subprocess
from array import array
from pathlib import Path
from re import findall

import numpy as np
import pytest
from scipy.stats import chi2

from pqchain.crypto import native
from pqchain.falcon import kernel
from pqchain.results import machine
from tests.crypto.builds import BUILDS
from tests.crypto.test_known_answers import ANSWERS, digest, signature_response

pytestmark = pytest.mark.native

HLS = Path(__file__).parent.parent.parent / "hls_kernels"
MEMORY = 11 * 1024
FORWARD, INVERSE, MULTIPLY, DECOMPOSE, SPLIT, MERGE = 3, 4, 9, 12, 13, 14


def run(memory, opcode: int, logn: int, *places: int):
    """Run one step of the engine on a copy of the memory."""
    work = memory.copy()
    a, b, c, d = (*places, 0, 0, 0, 0)[:4]
    native.library(kernel.IMPLEMENTATION).call(
        "falcon_run_step", work.data.cast("B"), opcode, logn, a, b, c, d, 0.0
    )
    return work


def bits(values):
    """Return the bits of doubles, so that 0.0 and -0.0 differ."""
    return np.ascontiguousarray(values).view(np.uint64)


def root(k: int) -> complex:
    """Compute the root of unity of table entry k independently of the table."""
    m = 1 << k.bit_length()
    exponent = int(format(m + k - m // 2, "010b")[::-1], 2)
    return complex(math.cos(math.pi * exponent / 1024), math.sin(math.pi * exponent / 1024))


def roots() -> list[tuple[float, float]]:
    """Read the table of the kernels."""
    text = (HLS / "src" / "tables.h").read_text(encoding="utf-8")
    body = text.partition("roots[512][2] = {")[2].partition("\n};")[0]
    return [(float(re), float(im)) for re, im in findall(r"\{\s*([^{},]+),\s*([^{},]+)\}", body)]


ROOTS = roots()


def test_fft_roots_are_correct() -> None:
    assert len(ROOTS) == 512
    for k in range(1, 512):
        assert abs(complex(*ROOTS[k]) - root(k)) < 1e-15


def forward(f):
    """Transform in numpy: each operation rounds once, as nothing there is fused."""
    n = len(f)
    re, im = f[: n // 2].copy(), f[n // 2 :].copy()
    groups, width = 1, n // 4
    while width:
        for group in range(groups):
            wr, wi = ROOTS[groups + group]
            x, y = (slice(at * width, (at + 1) * width) for at in (2 * group, 2 * group + 1))
            tr, ti = re[y] * wr - im[y] * wi, re[y] * wi + im[y] * wr
            ur, ui = re[x].copy(), im[x].copy()
            re[x], im[x], re[y], im[y] = ur + tr, ui + ti, ur - tr, ui - ti
        groups, width = 2 * groups, width // 2
    return np.concatenate([re, im])


@pytest.mark.parametrize("logn", range(1, 11))
def test_forward_transform_equals_numpy_bit_for_bit(logn: int) -> None:
    rng = np.random.default_rng(logn)
    n = 1 << logn
    for _ in range(20):
        memory = rng.normal(scale=1000, size=MEMORY)
        assert (bits(run(memory, FORWARD, logn)[:n]) == bits(forward(memory[:n]))).all()


def test_transform_evaluates_the_polynomial() -> None:
    """At the odd powers of exp(i pi / n), one of each conjugate pair, in any order."""
    rng = np.random.default_rng(3)
    memory = rng.normal(size=MEMORY)
    n = 64
    values = run(memory, FORWARD, 6)[:n]
    result = np.sort_complex(np.round(values[: n // 2] + 1j * values[n // 2 :], 9))
    at = np.exp(1j * np.pi * (2 * np.arange(n) + 1) / n)
    expected = np.polyval(memory[:n][::-1], at)
    both = np.sort_complex(np.round(np.concatenate([result, result.conj()]), 9))
    assert np.allclose(both, np.sort_complex(np.round(expected, 9)), atol=1e-8)


@pytest.mark.parametrize("logn", range(1, 11))
def test_inverse_and_merge_undo_transform_and_split(logn: int) -> None:
    memory = np.random.default_rng(logn).normal(size=MEMORY)
    n = 1 << logn
    back = run(run(memory, FORWARD, logn), INVERSE, logn)
    assert np.allclose(back[:n], memory[:n], atol=1e-12)
    halves = run(memory, SPLIT, logn, n, n + n // 2, 0)
    assert np.allclose(run(halves, MERGE, logn, 0, n, n + n // 2)[:n], memory[:n], atol=1e-13)


def test_ldl_decomposition_recomposes() -> None:
    rng = np.random.default_rng(9)
    memory = np.zeros(MEMORY)
    n, half = 256, 128
    g00, g11 = rng.uniform(100, 200, half), rng.uniform(100, 200, half)
    g01 = rng.normal(size=half) + 1j * rng.normal(size=half)
    memory[n : n + half], memory[3 * n : 3 * n + half] = g00, g11
    memory[2 * n : 2 * n + half], memory[2 * n + half : 3 * n] = g01.real, g01.imag
    after = run(memory, DECOMPOSE, 8, 0, n, 2 * n, 3 * n)
    l10 = after[:half] + 1j * after[half:n]
    assert np.allclose(l10, np.conj(g01 / g00))
    assert np.allclose(after[2 * n : 2 * n + half], g11 - abs(g01) ** 2 / g00)


@pytest.mark.parametrize(
    ("name", "count", "which"),
    [
        ("Falcon-512", 100, "all"),
        ("Falcon-1024", 1, "single"),
        pytest.param("Falcon-1024", 100, "all", marks=pytest.mark.long),
    ],
)
def test_liboqs_known_answers_are_reproduced(name: str, count: int, which: str) -> None:
    text = signature_response(name, kernel.IMPLEMENTATION, count)
    assert digest(text) == ANSWERS[BUILDS]["signature"][name][which]


@pytest.mark.parametrize(("degree", "count"), [(512, 512), (1024, 1024)])
def test_sampler_reproduces_recorded_samples(degree: int, count: int) -> None:
    path = HLS / "csim" / "vectors" / f"samplerz_{degree}.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == count
    library = native.library(kernel.IMPLEMENTATION)
    longer = 0
    for line in lines:
        centre, deviation, sigma_min, octets, expected = line.split()
        values, data = array("q", [0, 0]), bytes.fromhex(octets)
        assert library.call(
            "falcon_sample_octets", float(centre), float(deviation), float(sigma_min), data,
            len(data), memoryview(values),
        ) == 0  # fmt: skip
        assert (values[0], values[1]) == (int(expected), len(data))
        longer += len(data) % 11 != 0
    assert longer >= 3, "some vectors need several bytes in the rejection test"


@pytest.mark.parametrize(
    ("centre", "deviation", "degree"),
    [(0.0, 1.2779, 512), (0.5, 1.5, 512), (-91.904711, 1.7038, 512), (7.25, 1.8204, 1024),
     (0.999, 1.2983, 1024)],
)  # fmt: skip
def test_million_samples_are_gaussian(centre: float, deviation: float, degree: int) -> None:
    count = 1_000_000
    samples = np.zeros(count, dtype=np.int32)
    seed = random.Random(str((centre, deviation))).randbytes(56)
    library = native.library(kernel.IMPLEMENTATION)
    assert library.call(
        "falcon_sample_many", centre, deviation, seed, count, kernel.check_degree(degree),
        memoryview(samples).cast("B"),
    ) == 0  # fmt: skip
    middle = round(centre)
    support = np.arange(middle - 12, middle + 13)
    weights = np.exp(-((support - centre) ** 2) / (2 * deviation**2))
    expected = count * weights / weights.sum()
    result = np.array([(samples == value).sum() for value in support])
    assert result.sum() == count
    enough = expected >= 10
    tail_expected, tail_found = expected[~enough].sum(), result[~enough].sum()
    statistic = (((result - expected) ** 2 / expected)[enough]).sum()
    freedom = int(enough.sum()) - 1
    if tail_expected > 1:
        statistic += (tail_found - tail_expected) ** 2 / tail_expected
        freedom += 1
    limit = chi2.isf(1e-6, freedom)
    assert statistic < limit
    # The test is sensitive: a standard deviation off by one percent fails it.
    wrong = np.exp(-((support - centre) ** 2) / (2 * (deviation * 1.01) ** 2))
    wrong *= count / wrong.sum()
    assert (((result - wrong) ** 2 / wrong)[enough]).sum() > limit


def make(target: str, *needed: str, folder: Path) -> str:
    """Run a target of hls_kernels/Makefile in a new folder; skip without its tools."""
    missing = [tool for tool in ("make", "g++", *needed) if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
    completed = subprocess.run(
        ["make", "-C", str(HLS), target, f"BUILD={folder}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return completed.stdout


@pytest.mark.long
def test_hls_testbenches_pass_with_a_c_compiler(tmp_path: Path) -> None:
    output = make("csim", folder=tmp_path)
    assert "512 of 512" in output
    assert "1024 of 1024" in output
    assert output.count("3 of 3 through both interfaces") == 2
    assert "92 digests of 1000 inputs each, all equal" in output


@pytest.mark.long
@pytest.mark.parametrize(
    ("target", "tools"),
    [
        ("aarch64", "aarch64-linux-gnu-g++ qemu-aarch64"),
        ("armhf", "arm-linux-gnueabihf-g++ qemu-arm"),
    ],
)
def test_kernels_give_equal_bits_on_other_processors(target: str, tools: str, tmp_path: Path):
    output = make(target, *tools.split(), folder=tmp_path)
    assert "92 digests of 1000 inputs each, all equal" in output


@pytest.mark.long
def test_fma_contraction_is_detected(tmp_path: Path) -> None:
    """The bench compiled with fused multiply-add must give other bits."""
    if "fma" not in machine.cpu_flags():
        pytest.skip("this processor has no fused multiply-add")
    assert "digests differ, as required" in make("contraction", folder=tmp_path)
