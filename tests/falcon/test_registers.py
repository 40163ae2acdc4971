"""The register map, with everything that is generated from it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hls_kernels.rtl import registers
from hls_kernels.rtl.boards import hwh
from pqchain.falcon.registers import OFFSETS, RTL_OFFSETS


def test_committed_lists_are_what_the_description_gives() -> None:
    for path, text in registers.files().items():
        assert path.read_text(encoding="utf-8") == text, path.name


def test_every_list_has_the_same_offsets() -> None:
    described = {register.name: register.offset for register in registers.registers()}
    assert described == OFFSETS | RTL_OFFSETS == hwh.registers()
    verilog = re.findall(r"REGISTER_(\w+) = 7'h(\w+);", registers.systemverilog())
    assert {name: int(offset, 16) for name, offset in verilog} == {
        name.upper(): offset for name, offset in described.items()
    }
    header = re.findall(r"REGISTER_(\w+) = (0x\w+)", registers.c_header())
    assert [(name, int(offset, 16)) for name, offset in header] == [
        (name, int(offset, 16)) for name, offset in verilog
    ]


def test_hardware_uses_every_described_register() -> None:
    source = (registers.RTL / "core" / "control.sv").read_text(encoding="utf-8")
    used = set(re.findall(r"\bREGISTER_(\w+)", source))
    assert used == {register.name.upper() for register in registers.registers()}


def test_changed_list_is_noticed(monkeypatch, tmp_path: Path, capsys) -> None:
    (tmp_path / "stale.py").write_text("old\n")
    files = {tmp_path / "stale.py": "new\n", tmp_path / "none.py": "new\n"}
    monkeypatch.setattr(registers, "files", lambda: files)
    monkeypatch.setattr("sys.argv", ["registers", "--check"])
    assert not registers.main()
    assert "stale.py is not what registers.toml gives" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["registers"])
    assert registers.main()
    assert (tmp_path / "none.py").read_text() == (tmp_path / "stale.py").read_text() == "new\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [("0x04", "0x00", "offsets"), ("0x04", "0x06", "offsets"), ('"GIER"', '"CTRL"', "names")],
)
def test_impossible_description_is_rejected(
    old: str, new: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (registers.RTL / "registers.toml").read_text(encoding="utf-8")
    (tmp_path / "registers.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    monkeypatch.setattr(registers, "RTL", tmp_path)
    with pytest.raises(ValueError, match=message):
        registers.registers()
