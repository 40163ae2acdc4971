"""Failures of pynq and the overlay, with a substitute of pynq that raises them at each stage."""

import importlib
import sys
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import Mock
from xml.etree.ElementTree import ParseError

import numpy as np
import pytest

import pqchain.falcon
from pqchain.errors import BoardFailure, PqchainError, Unsupported
from pqchain.falcon import FalconSigner, kernel, registers
from tests.falcon.rtl import signs_as_liboqs

pytestmark = pytest.mark.native

ERRORS = (
    AttributeError("'NoneType' object has no attribute 'split'"), KeyError("registers"),
    ParseError("no element\nfound"), TypeError("a NoneType"), IndexError("out of range"),
    ValueError("a value"), RuntimeError("no memory"), OSError(5, "input/output error"),
    MemoryError(), ModuleNotFoundError("No module named 'pycparser.plyparser'"), AssertionError(),
)  # fmt: skip


def failures(*stages: str) -> list[tuple[str, Exception]]:
    """Return every stage with one exception, and the first with every exception."""
    return [(stages[0], error) for error in ERRORS] + [(stage, ERRORS[1]) for stage in stages[1:]]


OVERLAY, CORE = "pqchain.falcon.overlay", "xilinx.com:hls:falcon_sign:1.0"
DESCRIPTION = {"registers": {n: {"address_offset": o} for n, o in registers.OFFSETS.items()}}
OPENING = failures("device", "load", "ip_dict", "driver", "identify")
SIGNING = failures("wait", "allocate", "flush", "start", "invalidate", "wipe")


class Pynq(ModuleType):
    """Substitute of pynq with a working core; `fail` has the exception of each failing stage."""

    __version__ = "3.0.1"

    def __init__(self) -> None:
        super().__init__("pynq")
        self.fail: dict[str, BaseException] = {}
        self.buffers: list[Any] = []
        self.running = False
        outer = self

        class DefaultIP:
            def __init__(self, description: dict[str, Any]) -> None:
                outer.stage("driver")
                self.values = dict.fromkeys(registers.OFFSETS.values(), 0)

            def read(self, offset: int) -> int:
                outer.stage("wait" if outer.buffers else "identify")
                if offset == registers.OFFSETS["CTRL"]:
                    return 0 if outer.running else 2
                return int(self.values[offset])

            def write(self, offset: int, value: int) -> None:
                outer.stage("start" if outer.buffers else "identify")
                self.values[offset] = value
                if offset == registers.OFFSETS["CTRL"]:
                    at = {name: self.values[place] for name, place in registers.OFFSETS.items()}
                    request = bytes(outer.buffers[-2]) if at["logn"] else b""
                    status, version, response = kernel.run_request(request, at["logn"])
                    self.values[registers.OFFSETS["status"]] = status
                    self.values[registers.OFFSETS["version"]] = version
                    if response:
                        outer.buffers[-1][:] = np.frombuffer(response, np.uint8)

        class Buffer(np.ndarray):  # type: ignore[type-arg]
            device_address, flushed = 4096, False

            def flush(self) -> None:
                outer.stage("wipe" if self.flushed else "flush")
                self.flushed = True

            def invalidate(self) -> None:
                outer.stage("invalidate")

        class Device:
            active_device = property(lambda _: outer.stage("device", "board"))

        class Overlay:
            ip_dict = property(lambda _: outer.stage("ip_dict", {"falcon_sign_0": {"type": CORE}}))
            falcon_sign_0 = property(lambda _: sys.modules[OVERLAY].FalconSign(DESCRIPTION))

            def __init__(self, path: str, device: object) -> None:
                outer.stage("load")

        def allocate(shape: tuple[int], dtype: Any, target: object) -> Any:
            outer.buffers.append(outer.stage("allocate", np.zeros(shape, dtype).view(Buffer)))
            return outer.buffers[-1]

        self.DefaultIP, self.Device, self.Overlay = DefaultIP, Device(), Overlay
        self.allocate = allocate

    def stage(self, name: str, value: Any = None) -> Any:
        """Return a value, or raise the exception of the stage, if it has one."""
        if name in self.fail:
            raise self.fail[name]
        return value


@pytest.fixture
def pynq(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pynq]:
    stub = Pynq()
    monkeypatch.setitem(sys.modules, "pynq", stub)
    # Imported again with the substitute, and restored afterwards.
    monkeypatch.setattr(pqchain.falcon, "overlay", None, raising=False)
    monkeypatch.setitem(sys.modules, OVERLAY, stub)
    del sys.modules[OVERLAY]
    yield stub


@pytest.fixture
def bitstream(tmp_path: Path) -> Path:
    (tmp_path / "falcon.bit").write_bytes(b"bits")
    (tmp_path / "falcon.hwh").write_text('<EDKSYSTEM EDWVERSION="1.2" VIVADOVERSION="2024.2">')
    return tmp_path / "falcon.bit"


def sign(signer: FalconSigner) -> None:
    public_key, secret_key = signer.generate_keypair()
    assert signer.verify(b"message", signer.sign(b"message", secret_key), public_key)


def test_auto_signs_by_the_board_that_works(pynq: Pynq, bitstream: Path) -> None:
    signer = signs_as_liboqs("auto", 512, [b"message"], bitstream=bitstream)
    assert signer.backend == "overlay" and len(pynq.buffers) >= 2


def stated(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


@pytest.mark.parametrize(("stage", "error"), OPENING, ids=repr)
def test_failure_while_opening(pynq: Pynq, bitstream: Path, stage: str, error: Exception) -> None:
    pynq.fail = {stage: error}
    if (stage, type(error)) == ("device", RuntimeError):  # pynq's own: no board
        expected = ["XILINX_XRT"]
    else:
        expected = ["pynq 3.0.1", "falcon.bit of Vivado 2024.2", stated(error), "backend 'kernel'"]
    with pytest.raises(BoardFailure) as raised:
        FalconSigner(512, "overlay", bitstream=bitstream)
    signer = FalconSigner(512, "auto", bitstream=bitstream)
    assert signer.backend == "kernel"
    for text in expected:
        assert text in str(raised.value) and text in signer.reason
    sign(signer)


@pytest.mark.parametrize(("stage", "error"), SIGNING, ids=repr)
def test_failure_while_signing(pynq: Pynq, bitstream: Path, stage: str, error: Exception) -> None:
    requested, auto, profiled = (
        FalconSigner(512, backend, bitstream=bitstream) for backend in ("overlay", "auto", "auto")
    )
    assert auto.backend == "overlay"
    _, secret_key = auto.generate_keypair()
    pynq.fail = {stage: error}
    with pytest.raises(BoardFailure, match=r"pynq 3\.0\.1 .*falcon\.bit of Vivado 2024\.2"):
        requested.sign(b"message", secret_key)
    assert requested.backend == "overlay"
    sign(auto)
    assert len(profiled.profile(b"message", secret_key)) > 4
    for signer in (auto, profiled):
        assert signer.backend == "kernel"
        assert signer.reason.startswith("overlay: pynq 3.0.1") and stated(error) in signer.reason
    pynq.fail, count = {}, len(pynq.buffers)
    sign(auto)
    assert len(pynq.buffers) == count, "a board that failed is not used again"


def test_buffers_are_kept_after_an_interrupt(pynq, bitstream, monkeypatch):
    signer = FalconSigner(512, "auto", bitstream=bitstream)
    _, secret_key = signer.generate_keypair()
    pynq.running = True
    core = signer._board._core  # type: ignore[union-attr]
    monkeypatch.setattr(core, "read", Mock(side_effect=chain([KeyboardInterrupt], repeat(0))))
    with pytest.raises(KeyboardInterrupt):
        signer.sign(b"message", secret_key)
    assert len(signer._board._buffers_in_use) == 2  # type: ignore[union-attr]
    assert signer.backend == "overlay"


def test_faults_of_pqchain_are_not_failures_of_the_board(pynq, bitstream, monkeypatch):
    signer = FalconSigner(512, "auto", bitstream=bitstream)
    _, secret_key = signer.generate_keypair()
    monkeypatch.setattr(kernel, "encode_signature", lambda *given: given[9])
    with pytest.raises(IndexError):
        signer.sign(b"message", secret_key)


@pytest.mark.parametrize(
    "error", [ERRORS[0], ImportError("broken"), SyntaxError("broken")], ids=repr
)
def test_failure_while_pynq_is_imported(pynq, bitstream, error, monkeypatch):
    real, failing = importlib.import_module, Mock(side_effect=error)
    monkeypatch.setattr(
        importlib, "import_module", lambda name: (failing if name == "pynq" else real)(name)
    )
    with pytest.raises(Unsupported, match="need pynq"):
        FalconSigner(512, "overlay", bitstream=bitstream)
    signer = FalconSigner(512, "auto", bitstream=bitstream)
    assert signer.backend == "kernel" and type(error).__name__ in signer.reason


@pytest.mark.parametrize("text", ["\xff", 'VIVADOVERSION="' + 30 * "2"])
def test_unreadable_version_of_vivado_is_unknown(pynq: Pynq, bitstream: Path, text: str) -> None:
    bitstream.with_suffix(".hwh").write_bytes(text.encode("latin-1"))
    pynq.fail = {"load": KeyError("x")}
    with pytest.raises(PqchainError, match="Vivado of an unknown version"):
        FalconSigner(512, "overlay", bitstream=bitstream)
