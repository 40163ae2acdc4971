"""The RTL engine, alone and behind a serial line: signatures, invalid requests, faults, cycles.

The long checks (10^7 operands per unit, 100 known answers, every error of the bus) are
`make -C hls_kernels rtl-test`; these tests take a minute.
"""

import os
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from hls_kernels.boards import measure
from hls_kernels.rtl.known_answers import Signer
from hls_kernels.rtl.serial_line import FAULTS, Proxy, Trials, simulated_board
from hls_kernels.tools.nist_drbg import NistDrbg
from pqchain import errors
from pqchain.falcon import FalconSigner, core, kernel, netlist, serial
from tests.crypto.builds import BUILDS
from tests.crypto.test_known_answers import ANSWERS, digest, signature_text
from tests.falcon.rtl import ROOT, need_netlist, signs_as_liboqs

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
    with pytest.raises(errors.UsageError, match=r"stall must be .* got 256"):
        chip.behave(stall=256)
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


@pytest.mark.parametrize(
    "filled", [0x7F, *(pytest.param(byte, marks=pytest.mark.long) for byte in (0, 1, 0x80))]
)
def test_request_without_a_key_fails_as_in_the_kernel(filled: int, chip: netlist.Netlist) -> None:
    request = bytearray([filled]) * 2048 + request_of(512)[2048:]
    status, _, response = kernel.run_request(request, 9)
    attempt = chip.attempt(request, 9)
    assert attempt.status == status
    assert attempt.response == (response or bytes(1024))
    assert attempt.cycles < NO_KEY_CYCLES


EARLY = [pytest.param(*case, marks=pytest.mark.long) for case in ((0, 9_000), (1, 500))]


@pytest.mark.parametrize(("abort", "cycles"), [(0, 300_123), (1, 200_001), *EARLY])
def test_stopped_attempt_is_wiped_and_the_next_is_right(abort, cycles, chip):
    """A reset, or an abort by the host, which writes nothing to its memory."""
    response = bytearray(kernel.response_bytes(9))
    chip.map(0, request_of(512))
    chip.map(0x10000, response)
    core.start(chip.write, 0, 0x10000, 9)
    assert chip.run(cycles) == cycles
    assert chip.nonzero_words() > 100
    if abort:
        chip.write("abort", 1)
        assert chip.run(netlist.MAX_CYCLES) < 2_000
        assert chip.read("CTRL") & core.DONE
        assert chip.read("status") == kernel.ABORTED
        assert not any(response)
    else:
        chip.reset(1)
    assert chip.nonzero_words() == 0
    request = request_of(512, 2)
    attempt = chip.attempt(request, 9)
    assert (attempt.status, attempt.response) == kernel.run_request(request, 9)[::2]
    assert chip.nonzero_words() == 0


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
    # the last word of the seed is truncated
    attempt = chip.attempt(bytearray(request_of(512)[:-1]), 9)
    assert attempt.status == kernel.BUS_FAILED
    assert not any(attempt.response)


def test_missing_library_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netlist, "LIBRARY", tmp_path / "none.so")
    with pytest.raises(errors.Unsupported, match="make rtl"):
        netlist.Netlist()
    (tmp_path / "bad.so").write_text("no library")
    with pytest.raises(errors.NativeLibraryBroken, match="Run `make rtl` again"):
        netlist.Netlist(tmp_path / "bad.so")


@pytest.fixture(scope="module")
def device() -> Iterator[Path]:
    """Return the terminal of a simulated board."""
    need_netlist("rtl-serial")
    with simulated_board(ROOT / "hls_kernels" / "build" / "rtl" / "serial_board") as terminal:
        yield terminal


@pytest.mark.parametrize("degree", [512, 1024])
def test_board_signatures_equal_liboqs(device: Path, degree: int) -> None:
    with closing(signs_as_liboqs("serial", degree, [b"message"], device=device)) as signer:
        assert 500 * degree < signer.cycles < 1000 * degree


@pytest.mark.long
def test_measurement_of_a_board_has_a_row_for_every_signature(device: Path) -> None:
    frame = measure.CONTRACT.frame(measure.measure(device, 1))
    assert frame["algorithm"].tolist() == ["Falcon-512", "Falcon-1024"]
    assert (frame["cycles"] > 100_000).all() and (frame["sign_seconds"] > 0).all()


def test_auto_opens_a_serial_device_only_when_it_is_named(device: Path) -> None:
    with closing(FalconSigner(512, device=str(device))) as signer:
        assert signer.backend == "serial"
    assert FalconSigner(512).backend != "serial"
    signer = FalconSigner(512, device="/dev/none")
    assert signer.backend == "kernel"
    assert "cannot open the serial device /dev/none" in signer.reason


@pytest.mark.parametrize(
    "up", [pytest.param(False, id="to the board", marks=pytest.mark.long), True]
)
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind == "changed" else pytest.mark.long) for kind in FAULTS],
)
@pytest.mark.parametrize("later", [2, pytest.param(600, marks=pytest.mark.long)])
def test_damaged_line_gives_an_error_and_no_signature(device, kind, up, later):
    """Clearing and reading the version take 11 and 15 bytes down, 9 and 13 up."""
    # Up, an attempt has 10 short answers before the 1,024 bytes of the response.
    at = (22 if up else 26) + later
    proxy = Proxy(device, FAULTS[kind], at, up=up)
    signer = FalconSigner(512, "serial", device=proxy.device, timeout_seconds=1.5)
    _, secret_key = signer.generate_keypair()
    with pytest.raises(errors.BoardFailure):
        signer.sign(b"message", secret_key)
    signer.close()
    proxy.unplug()
    FalconSigner(512, "serial", device=device).close()  # the board answers again


@pytest.mark.long
def test_every_fault_ends_with_an_error_or_the_right_signature(device: Path) -> None:
    trials = Trials(device, 1)
    trials.run(512, 1)
    assert trials.wrong == 0
    assert trials.outcomes["next attempt", "right"] == 7
    assert trials.outcomes["unplugged", "error"] == 1


@pytest.mark.long
def test_signer_recovers_after_a_damaged_frame(device: Path) -> None:
    proxy = Proxy(device, FAULTS["changed"], 500, up=False)
    with closing(FalconSigner(512, "serial", device=proxy.device, timeout_seconds=5)) as signer:
        public_key, secret_key = signer.generate_keypair()
        with pytest.raises(errors.BoardFailure, match=r"checksum|rejected"):
            signer.sign(b"message", secret_key)
        signature = signer.sign(b"message", secret_key)
        assert signer.verify(b"message", signature, public_key)
    proxy.unplug()


@pytest.mark.long
def test_unplugged_board_gives_an_error(device: Path) -> None:
    proxy = Proxy(device, up=False)
    with closing(FalconSigner(512, "serial", device=proxy.device, timeout_seconds=2)) as signer:
        _, secret_key = signer.generate_keypair()
        proxy.unplug()
        with pytest.raises(errors.BoardFailure, match=r"unplugged|failed"):
            signer.sign(b"message", secret_key)


def test_silent_device_times_out() -> None:
    driver, other = os.openpty()
    with pytest.raises(errors.BoardTimeout, match=r"did not answer within 0.2 s"):
        FalconSigner(512, "serial", device=os.ttyname(other), timeout_seconds=0.2)
    os.close(driver)
    os.close(other)


def test_another_version_is_rejected(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "VERSION", 7)
    with pytest.raises(errors.WrongBitstream, match="0x46530001"):
        FalconSigner(512, "serial", device=device)


def test_second_program_is_rejected(device: Path) -> None:
    rejected = pytest.raises(errors.BoardFailure, match="no other")
    with closing(FalconSigner(512, "serial", device=device)), rejected:
        FalconSigner(512, "serial", device=device)


READ, WRITE, READ_REGISTER, CLEAR = 0, 1, 2, 4


@pytest.mark.parametrize(
    "command", [(READ, 4095, 2), (READ_REGISTER, 32, 1), (READ_REGISTER, 0, 2), (6, 0, 0)]
)
def test_impossible_command_is_rejected(device: Path, command: tuple[int, int, int]) -> None:
    with closing(serial.Line(device, 10)) as line:
        with pytest.raises(errors.BoardFailure, match="no such command or address"):
            line.exchange(*command)
        line.exchange(CLEAR)


@pytest.mark.long
def test_memory_is_cleared_on_command_and_when_the_host_disappears(device: Path) -> None:
    with closing(serial.Line(device, 60)) as line:
        # each frame makes the board wait again
        for clear in (partial(line.exchange, CLEAR), partial(time.sleep, 1.5)):
            line.exchange(WRITE, 4094, 2, b"a secret")
            assert line.exchange(READ, 4094, 2) == b"a secret"
            left = (clear() or line.exchange(READ, 4094, 2) for _ in range(20))
            assert bytes(8) in left


@pytest.mark.parametrize(
    ("value", "message"),
    [("/dev/none", "cannot open"), ("a\0b", "cannot open"), (__file__, "must be a serial device")],
)
def test_what_is_not_a_device_is_named(value: object, message: str) -> None:
    with pytest.raises(errors.BoardFailure, match=message):
        FalconSigner(512, "serial", device=value)


def test_boards_are_found_by_their_usb_name(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(serial, "_BY_NAME", tmp_path / "none")
    assert serial.find_boards() == []
    for name in ("usb-FER-RADIONA_ULX3S_FPGA_85K_v3.0.8-if00-port0", "usb-other-if00"):
        (tmp_path / name).write_text("")
    monkeypatch.setattr(serial, "_BY_NAME", tmp_path)
    assert [path.name[-6:] for path in serial.find_boards()] == ["-port0"]
