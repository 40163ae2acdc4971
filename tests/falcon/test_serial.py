"""The serial back end on a simulated board: the netlist behind a pseudo-terminal; line faults."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hls_kernels.boards import measure
from hls_kernels.rtl.serial_line import FAULTS, Proxy, Trials, simulated_board
from hls_kernels.tools.nist_drbg import NistDrbg
from pqchain.errors import BoardFailure, BoardTimeout, UsageError, WrongBitstream
from pqchain.falcon import FalconSigner, core, serial
from tests.falcon.rtl import ROOT, need_netlist

pytestmark = [pytest.mark.native, pytest.mark.timeout(600)]

SEED = bytes(range(48))


@pytest.fixture(scope="module")
def device() -> Iterator[Path]:
    """Return the terminal of a simulated board."""
    need_netlist("rtl-serial")
    with simulated_board(ROOT / "hls_kernels" / "build" / "rtl" / "serial_board") as terminal:
        yield terminal


def sign_both(device: Path, degree: int) -> None:
    """Sign one message on the board and by liboqs, from the same randomness."""
    signatures = []
    for backend, at in (("serial", device), ("reference", None)):
        signer = FalconSigner(degree, backend, device=at, random_bytes=NistDrbg(SEED))
        public_key, secret_key = signer.generate_keypair()
        signatures.append(signer.sign(b"message", secret_key))
        assert signer.verify(b"message", signatures[-1], public_key)
        if backend == "serial":
            assert 500 * degree < signer.cycles < 1000 * degree
            signer.close()
    assert signatures[0] == signatures[1]


@pytest.mark.parametrize("degree", [512, 1024])
def test_board_signatures_equal_liboqs(device: Path, degree: int) -> None:
    sign_both(device, degree)


def test_measurement_of_a_board_has_a_row_for_every_signature(device: Path) -> None:
    frame = measure.CONTRACT.frame(measure.measure(device, 1))
    assert frame["algorithm"].tolist() == ["Falcon-512", "Falcon-1024"]
    assert (frame["cycles"] > 100_000).all()
    assert (frame["sign_seconds"] > 0).all()


def test_auto_opens_a_serial_device_only_when_it_is_named(device: Path) -> None:
    with closing(FalconSigner(512, device=str(device))) as signer:
        assert signer.backend == "serial"
    assert FalconSigner(512).backend != "serial"
    signer = FalconSigner(512, device="/dev/none")
    assert signer.backend == "kernel"
    assert "cannot open the serial device /dev/none" in signer.reason


@pytest.mark.parametrize("up", [False, True], ids=["to the board", "from the board"])
@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("later", [2, pytest.param(600, marks=pytest.mark.long)])
def test_damaged_line_gives_an_error_and_no_signature(
    device: Path, kind: str, up: bool, later: int
) -> None:
    """Clearing and reading the version take 11 and 15 bytes down, 9 and 13 up."""
    # Up, an attempt has 10 short answers before the 1,024 bytes of the response.
    at = (22 if up else 26) + later
    proxy = Proxy(device, FAULTS[kind], at, up=up)
    signer = FalconSigner(512, "serial", device=proxy.device, timeout_seconds=1.5)
    _, secret_key = signer.generate_keypair()
    with pytest.raises(BoardFailure):
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


def test_signer_recovers_after_a_damaged_frame(device: Path) -> None:
    proxy = Proxy(device, FAULTS["changed"], 500, up=False)
    with closing(FalconSigner(512, "serial", device=proxy.device, timeout_seconds=5)) as signer:
        public_key, secret_key = signer.generate_keypair()
        with pytest.raises(BoardFailure, match=r"checksum|rejected"):
            signer.sign(b"message", secret_key)
        signature = signer.sign(b"message", secret_key)
        assert signer.verify(b"message", signature, public_key)
    proxy.unplug()


def test_unplugged_board_gives_an_error(device: Path) -> None:
    proxy = Proxy(device, up=False)
    with closing(FalconSigner(512, "serial", device=proxy.device, timeout_seconds=2)) as signer:
        _, secret_key = signer.generate_keypair()
        proxy.unplug()
        with pytest.raises(BoardFailure, match=r"unplugged|failed"):
            signer.sign(b"message", secret_key)


def test_silent_device_times_out() -> None:
    driver, other = os.openpty()
    with pytest.raises(BoardTimeout, match=r"did not answer within 0.2 s"):
        FalconSigner(512, "serial", device=os.ttyname(other), timeout_seconds=0.2)
    os.close(driver)
    os.close(other)


def test_another_version_is_rejected(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "VERSION", 7)
    with pytest.raises(WrongBitstream, match="0x46530001"):
        FalconSigner(512, "serial", device=device)


def test_second_program_is_rejected(device: Path) -> None:
    rejected = pytest.raises(BoardFailure, match="no other")
    with closing(FalconSigner(512, "serial", device=device)), rejected:
        FalconSigner(512, "serial", device=device)


READ, WRITE, READ_REGISTER, CLEAR = 0, 1, 2, 4


@pytest.mark.parametrize(
    "command", [(READ, 4095, 2), (READ_REGISTER, 32, 1), (READ_REGISTER, 0, 2), (6, 0, 0)]
)
def test_impossible_command_is_rejected(device: Path, command: tuple[int, int, int]) -> None:
    line = serial.Line(device, 10)
    with pytest.raises(BoardFailure, match="no such command or address"):
        line.exchange(*command)
    line.exchange(CLEAR)
    line.close()


def test_memory_is_cleared_on_command_and_when_the_host_disappears(device: Path) -> None:
    line = serial.Line(device, 60)
    secret = b"a secret"
    for how in ("command", "silence"):
        line.exchange(WRITE, 4094, 2, secret)
        assert line.exchange(READ, 4094, 2) == secret
        for _ in range(20):
            if how == "command":
                line.exchange(CLEAR)
            else:
                time.sleep(1.5)  # each frame makes the board wait again
            if (left := line.exchange(READ, 4094, 2)) == bytes(8):
                break
        assert left == bytes(8)
    line.close()


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        *((value, UsageError, "device must be the path") for value in (None, "", 3)),
        *((path, BoardFailure, "cannot open the serial device") for path in ("/dev/none", "a\0b")),
        (__file__, BoardFailure, "must be a serial device"),
    ],
)
def test_what_is_not_a_device_is_named(value: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        FalconSigner(512, "serial", device=value)


def test_boards_are_found_by_their_usb_name(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(serial, "_BY_NAME", tmp_path / "none")
    assert serial.find_boards() == []
    for name in ("usb-FER-RADIONA_ULX3S_FPGA_85K_v3.0.8-if00-port0", "usb-other-if00"):
        (tmp_path / name).write_text("")
    monkeypatch.setattr(serial, "_BY_NAME", tmp_path)
    assert [path.name[-6:] for path in serial.find_boards()] == ["-port0"]
