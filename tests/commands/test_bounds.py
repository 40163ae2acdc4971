"""What commands read is bounded: a longer file is refused, and no more of it than that is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from pqchain import installation, results
from pqchain.commands.main import main
from pqchain.conform import formats
from pqchain.errors import DataError
from pqchain.reencode import replay
from pqchain.reencode.storage.store import Manifest
from pqchain.study import reading
from pqchain.study.provers import read as read_prover

READERS = {
    "plan.toml": (reading.load, installation.MOST_TEXT_BYTES),
    "prover.toml": (read_prover, installation.MOST_TEXT_BYTES),
    "paper.toml": (installation.read_toml, installation.MOST_TEXT_BYTES),
    "vectors.json": (formats.read, installation.MOST_JSON_BYTES),
    "manifest.json": (Manifest.read, installation.MOST_JSON_BYTES),
    "kept.json": (replay._remembered, installation.MOST_JSON_BYTES),
    "table.json": (
        lambda path: results.load(path.with_suffix(".csv")),
        installation.MOST_JSON_BYTES,
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_is_too_long_is_refused(name: str, tmp_path: Path) -> None:
    read, most = READERS[name]
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(1 << 40)  # without a byte on the disk, and more than there is memory
    with pytest.raises(DataError, match=f"{path} has more than {most} bytes"):
        read(path)


def test_no_more_is_read_than_may_be_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(100))
    assert installation.read_bytes(path, 100) == bytes(100)
    with pytest.raises(DataError):
        installation.read_bytes(path, 99)


def test_a_key_without_end_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "message").write_bytes(b"message")
    words = ["falcon", "sign", str(tmp_path / "message"), "--secret-key", "/dev/zero"]
    assert main([*words, "--output", str(tmp_path / "signature")]) == 1
    assert "/dev/zero has more than 65536 bytes" in capsys.readouterr().err
