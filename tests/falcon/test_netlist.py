"""The RTL engine: complete signatures, invalid requests, the bus and cycle counts.

The long checks (10^7 operands per unit, 100 known answers, every error of the bus) are
`make -C hls_kernels rtl-test`; these tests take a minute.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hls_kernels.rtl.known_answers import Signer
from hls_kernels.tools.nist_drbg import NistDrbg
from pqchain.errors import NativeLibraryBroken, Unsupported, UsageError
from pqchain.falcon import FalconSigner, core, kernel, netlist
from tests.crypto.builds import BUILDS
from tests.crypto.test_known_answers import ANSWERS, digest, signature_text
from tests.falcon.rtl import need_netlist

pytestmark = [pytest.mark.native, pytest.mark.timeout(600)]

NO_KEY_CYCLES = 50_000_000
"""More than a request that holds no key takes before it is refused."""


@pytest.fixture(scope="module")
def chip() -> netlist.Netlist:
    return netlist.Netlist(need_netlist()[0])


def request_of(degree: int, seed: int = 1) -> bytearray:
    """Return a request with a new key."""
    random = NistDrbg(bytes([seed] * 48))
    signer = FalconSigner(degree, "kernel", random_bytes=random)
    _, secret_key = signer.generate_keypair()
    given = {"secret_key": secret_key, "nonce": random(40), "message": b"m"}
    with kernel.request_of(signer.algorithm, **given) as request:
        kernel.seed_request(request, random(48), 0, kernel.check_degree(degree))
        return bytearray(request)


@pytest.mark.long
def test_netlist_testbenches_pass() -> None:
    """Every kernel's bits at every size, the sampler's recorded answers, whole attempts."""
    _, said = need_netlist("rtl-quick")
    for line in (
        "steps: 71 kernels and sizes, 1 runs each, all bits equal",
        "sampler: 4000 pairs, 0 wrong",
        "sampler: 92 of 92 ways of a verdict",
        "samplerz_512.txt: 512 of 512",
        "sign: all equal to the C++ kernel",
        "resets: all right",
    ):
        assert line in said, said


@pytest.mark.parametrize("degree", [512, 1024])
def test_netlist_reproduces_the_first_known_answer(degree: int, chip: netlist.Netlist) -> None:
    signer = Signer(degree, chip, 1)
    text = signature_text(f"Falcon-{degree}", signer, signer, 1)
    assert digest(text) == ANSWERS[BUILDS]["signature"][f"Falcon-{degree}"]["single"]
    assert len(signer.cycles) == 1
    assert chip.violations() == 0


def test_slow_bus_changes_cycles_only(chip: netlist.Netlist) -> None:
    request = request_of(512)
    quick = chip.attempt(request, 9)
    chip.behave(read_delay_cycles=60, stall=128)
    slow = chip.attempt(request, 9)
    chip.behave()
    assert (quick.status, quick.response) == (slow.status, slow.response)
    assert quick.cycles < slow.cycles
    assert quick.status == kernel.run_request(request, 9)[0] == kernel.SIGNED
    assert quick.response == kernel.run_request(request, 9)[2]


@pytest.mark.parametrize("logn", [0, 8, 11, 2**32 - 1])
def test_another_degree_is_rejected_at_once(logn: int, chip: netlist.Netlist) -> None:
    attempt = chip.attempt(request_of(512), logn)
    assert (attempt.status, attempt.response) == (kernel.REFUSED, b"")
    assert attempt.version == kernel.run_request(b"", 0)[1]
    assert attempt.cycles < 10


@pytest.mark.parametrize("filled", [0, 1, 0x7F, 0x80])
def test_request_without_a_key_fails_as_in_the_kernel(filled: int, chip: netlist.Netlist) -> None:
    request = bytearray([filled]) * 2048 + request_of(512)[2048:]
    status, _, response = kernel.run_request(request, 9)
    attempt = chip.attempt(request, 9)
    assert attempt.status == status
    assert attempt.response == (response or bytes(1024))
    assert attempt.cycles < NO_KEY_CYCLES


def begin(chip: netlist.Netlist, request: bytearray, cycles: int) -> bytearray:
    """Start an attempt of degree 512 and run it for some cycles; return its response memory."""
    response = bytearray(kernel.response_bytes(9))
    chip.map(0, request)
    chip.map(0x10000, response)
    core.start(chip.write, 0, 0x10000, 9)
    assert chip.run(cycles) == cycles
    assert chip.nonzero_words() > 100
    return response


@pytest.mark.parametrize("cycles", [9_000, 300_123])
def test_reset_in_a_run_wipes_and_the_next_attempt_is_right(
    cycles: int, chip: netlist.Netlist
) -> None:
    begin(chip, request_of(512), cycles)
    chip.reset(1)
    assert chip.nonzero_words() == 0
    request = request_of(512, 2)
    attempt = chip.attempt(request, 9)
    assert (attempt.status, attempt.response) == kernel.run_request(request, 9)[::2]
    assert chip.nonzero_words() == 0


@pytest.mark.parametrize("cycles", [500, 200_001])
def test_aborted_attempt_is_wiped_and_writes_nothing(cycles: int, chip: netlist.Netlist) -> None:
    response = begin(chip, request_of(512), cycles)
    chip.write("abort", 1)
    assert chip.run(netlist.MAX_CYCLES) < 2_000
    assert chip.read("CTRL") & core.DONE
    assert chip.read("status") == kernel.ABORTED
    assert chip.nonzero_words() == 0
    assert not any(response)
    request = request_of(512, 2)
    attempt = chip.attempt(request, 9)
    assert (attempt.status, attempt.response) == kernel.run_request(request, 9)[::2]


def test_cycles_are_counted_per_phase(chip: netlist.Netlist) -> None:
    chip.spent()
    cycles = chip.attempt(request_of(512), 9).cycles
    spent = chip.spent()
    assert abs(sum(each for each, _ in spent.values()) - cycles) < 5
    assert spent["decompose"][1] == 255
    assert spent["open_leaf"] == (256 * 187, 256)
    assert 512 < spent["attempt"][1] < 700, "two samples a round, and some rounds again"
    assert 0 < spent["exact"][1] < 60, "bounds leave few verdicts open"
    assert not any(each for each, _ in chip.spent().values())


def test_only_the_sampler_has_variable_time(chip: netlist.Netlist) -> None:
    """Two keys: rounds, verdicts and waits for random bits differ, and nothing else does."""
    spent = []
    for seed in (1, 2):
        chip.spent()
        assert chip.attempt(request_of(512, seed), 9).status == kernel.SIGNED
        spent.append(chip.spent())
    one, other = spent
    assert one["attempt"] != other["attempt"]
    for place in one.keys() - {"attempt", "exact", "verdicts", "random bits"}:
        assert one[place] == other[place], place


def test_out_of_range_memory_is_a_bus_error(chip: netlist.Netlist) -> None:
    asked = bytearray(request_of(512)[:-1])  # the last word of the seed is truncated
    attempt = chip.attempt(asked, 9)
    assert attempt.status == kernel.BUS_FAILED
    assert not any(attempt.response)


def test_missing_library_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netlist, "LIBRARY", tmp_path / "none.so")
    with pytest.raises(Unsupported, match="make rtl"):
        netlist.Netlist()
    (tmp_path / "bad.so").write_text("no library")
    with pytest.raises(NativeLibraryBroken, match="Run `make rtl` again"):
        netlist.Netlist(tmp_path / "bad.so")


def test_bus_stall_is_bounded(chip: netlist.Netlist) -> None:
    with pytest.raises(UsageError, match=r"stall must be .* got 256"):
        chip.behave(stall=256)


def test_netlist_core_needs_a_simulated_board() -> None:
    for options in ({"backend": "kernel", "core": "rtl"}, {"core": "verilog"}):
        with pytest.raises(UsageError, match="core"):
            FalconSigner(512, **options)
