"""The real pynq and the driver on a simulated board; skipped without pynq.

`make test-board` makes an environment with pynq and runs this there.
"""

import warnings
from pathlib import Path
from typing import Any

import pytest

from hls_kernels.boards import measure
from hls_kernels.rtl.boards import hwh
from hls_kernels.tools.nist_drbg import NistDrbg
from pqchain import results
from pqchain.errors import BadBoardSignature, BitstreamMissing, BoardTimeout, WrongBitstream
from pqchain.falcon import FalconSigner, kernel, registers
from pqchain.falcon import core as falcon_core
from tests.falcon.rtl import SEED, need_netlist, signs_as_liboqs

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pynq = pytest.importorskip(
        "pynq", reason="pynq is not installed: `make test-board` tests the driver"
    )
    from pynq.pl_server import hwh_parser

    from pqchain.falcon import overlay, simboard

pytestmark = [
    pytest.mark.native,
    # pynq warns about this processor, and reads its packages in a deprecated way.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

CORES = pytest.mark.parametrize("core", simboard.CORES)


class FaultyDevice(simboard.SimulatedDevice):
    """Simulated board with another core, a core that hangs, or changed responses."""

    def __init__(self, *, version=None, hangs=False, flips=False, name=overlay.VLNV, **core):
        self.version, self.hangs, self.flips, self.core_name = version, hangs, flips, name
        super().__init__(**core)

    def get_bitfile_metadata(self, bitfile_name, partial=False):
        found = super().get_bitfile_metadata(bitfile_name, partial)
        found.ip_dict["falcon_sign_0"]["type"] = self.core_name
        return found

    def invalidate(self, bo, *place):
        self._memory[bo][0] ^= self.flips
        super().invalidate(bo, *place)

    def read_registers(self, address, length):
        if self.version is not None and address == simboard.BASE + registers.OFFSETS["version"]:
            return self.version.to_bytes(4, "little")
        return super().read_registers(address, length)

    def write_registers(self, address, data):
        if not self.hangs:
            super().write_registers(address, data)
        elif isinstance(self._core, simboard._Kernel):
            # Started, and never done or idle again.
            self._core._registers["CTRL"] = falcon_core.START


def board(core="kernel", **faults):
    """Return a simulated board; skip if its netlist cannot be built."""
    if core == "rtl":
        need_netlist()
    return FaultyDevice(core=core, **faults)


def board_signer(degree=512, core="kernel", faults=None, **options):
    """Return a signer on a simulated board, the board, and a secret key."""
    device = board(core, **(faults or {}))
    signer = FalconSigner(degree, "simboard", device=device, **options)
    return signer, device, signer.generate_keypair()[1]


@pytest.mark.parametrize("degree", [512, 1024])
@pytest.mark.parametrize("padded", [False, True])
def test_board_signatures_equal_liboqs(degree: int, padded: bool) -> None:
    """20 keys; 50 messages each, 5 in the padded form, every one with fresh randomness."""
    messages = [bytes(count) for count in range(5 if padded else 50)]
    for key in range(20):
        options = {"device": board(), "padded": padded}
        signs_as_liboqs("simboard", degree, messages, seed=bytes([key] * 48), **options)


@pytest.mark.parametrize("degree", [512, 1024])
def test_netlist_signs_through_pynq_and_the_driver(degree: int) -> None:
    need_netlist()
    signer = signs_as_liboqs(
        "simboard", degree, (b"", b"second"), device=simboard.SimulatedDevice(core="rtl")
    )
    assert 600 * degree < signer.cycles < 800 * degree


def test_driver_is_bound_by_core_name(tmp_path: Path) -> None:
    device = simboard.SimulatedDevice()
    loaded = pynq.Overlay(str(simboard.write_placeholder(tmp_path)), device=device)
    core = loaded.falcon_sign_0
    assert isinstance(core, overlay.FalconSign)
    core.register_map.logn = 3
    assert core.read(registers.OFFSETS["logn"]) == 3
    assert core.identify(1.0) == falcon_core.VERSION


@CORES
def test_handshake_follows_vitis_hls(core: str) -> None:
    device = board(core=core)
    control = simboard.BASE + registers.OFFSETS["CTRL"]
    assert device.read_registers(control, 4)[0] == 0b0100
    device.write_registers(control, b"\x01\0\0\0")
    assert device.read_registers(control, 4)[0] == 0b1110
    assert device.read_registers(control, 4)[0] & 0b0111 == 0b0100, "reading clears the done bit"


@CORES
def test_buffers_are_flushed_before_the_start_and_invalidated_after_it(core: str) -> None:
    signer, device, secret_key = board_signer(core=core, random_bytes=NistDrbg(SEED))
    assert device.events == [("download", "falcon_simboard.bit"), ("start", 0)]
    device.events.clear()
    signer.sign(b"message", secret_key)
    request, response = kernel.request_bytes(9), kernel.response_bytes(9)
    assert device.events == [
        ("flush", request), ("flush", response), ("start", 9), ("invalidate", response),
        ("flush", request), ("flush", response), ("free", False), ("free", False),
    ]  # fmt: skip


@CORES
@pytest.mark.parametrize("fault", ["flush", "invalidate", "flips"])
def test_bad_signature_from_the_board_is_not_returned(fault, core, monkeypatch):
    """Flipped bits, and a forgotten flush or invalidation."""
    faults = {"flips": fault == "flips"}
    signer, device, secret_key = board_signer(core=core, faults=faults)
    if fault != "flips":
        monkeypatch.setattr(device, fault, lambda *arguments: None)
    with pytest.raises(BadBoardSignature, match="invalid signature"):
        signer.sign(b"message", secret_key)


@CORES
def test_hung_core_times_out(core: str) -> None:
    with pytest.raises(BoardTimeout, match=r"within 0.05 s"):
        board_signer(core=core, faults={"hangs": True}, timeout_seconds=0.05)


@CORES
def test_only_buffers_of_a_running_core_are_kept(core: str) -> None:
    """Writes to a hung core in RTL are lost, so it never starts."""
    signer, device, secret_key = board_signer(core=core, timeout_seconds=0.05)
    device.hangs = True
    device.events.clear()
    with pytest.raises(BoardTimeout):
        signer.sign(b"message", secret_key)
    kept = signer._board._buffers_in_use
    assert len(kept) == (0 if core == "rtl" else 2) and not any(map(any, kept))
    assert any(event[0] == "free" for event in device.events) == (core == "rtl")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"version": 7}, "0x00000007"),
        ({"name": "xilinx.com:hls:fft:1.0"}, r"xilinx\.com:hls:fft:1\.0"),
    ],
)
def test_another_design_is_rejected_before_a_key_is_sent(fault: dict[str, Any], said: str) -> None:
    device = board(**fault)
    with pytest.raises(WrongBitstream, match=said):
        FalconSigner(512, "simboard", device=device)
    assert not [event for event in device.events if event[0] == "flush"]


def test_missing_bitstream_is_named(tmp_path: Path) -> None:
    for _ in ("without the file", "without its description"):
        with pytest.raises(BitstreamMissing, match=r"needs nothing\."):
            FalconSigner(512, "overlay", bitstream=tmp_path / "nothing.bit")
        (tmp_path / "nothing.bit").write_bytes(b"")


def test_overlay_accepts_a_given_device(tmp_path: Path) -> None:
    bitstream = simboard.write_placeholder(tmp_path)
    device = simboard.SimulatedDevice()
    signer = signs_as_liboqs("auto", 512, [b""], bitstream=bitstream, device=device)
    assert signer.backend == "overlay"


@CORES
def test_profile_names_the_board(core: str) -> None:
    signer, _, secret_key = board_signer(core=core)
    frame = signer.profile(b"", secret_key)
    assert list(frame["where"]) == ["software", "board", "software", "software"]


def test_pynq_reads_the_description_of_the_engine_in_rtl(tmp_path: Path) -> None:
    path = tmp_path / "falcon.hwh"
    path.write_text(hwh.describe(), encoding="utf-8")
    core = hwh_parser._HWHZynq(str(path)).ip_dict["falcon_sign_0"]
    assert core["type"] == overlay.VLNV
    assert core["phys_addr"] == simboard.BASE
    offsets = {name: about["address_offset"] for name, about in core["registers"].items()}
    assert offsets == registers.OFFSETS | registers.RTL_OFFSETS


@CORES
def test_board_measurements_are_saved(core: str, tmp_path: Path) -> None:
    path = simboard.write_placeholder(tmp_path)
    rows = measure.measure(path, 1, board(core=core))
    frame = measure.CONTRACT.frame(rows)
    assert list(frame["algorithm"]) == ["Falcon-512", "Falcon-1024"]
    assert frame["cycles"].notna().all() == (core == "rtl")
    written = results.save(frame, tmp_path / "figures.csv", contract=measure.CONTRACT)
    assert written.is_file()
