"""Inputs of commands are bounded: longer files are rejected after a bounded read."""

import os
import re
import time
from pathlib import Path

import pytest

from pqchain import installation, results, scheduler
from pqchain.errors import DataError, UsageError
from pqchain.installation import MAX_JSON_BYTES, MAX_TABLE_BYTES, MAX_TEXT_BYTES
from pqchain.reencode.storage.store import Manifest
from pqchain.study import files as plans
from pqchain.study import ready
from pqchain.study.provers import read as read_prover
from pqchain.works import papers
from pqchain_conform import reading

READERS = {
    "plan.toml": (plans.load, MAX_TEXT_BYTES),
    "prover.toml": (read_prover, MAX_TEXT_BYTES),
    "paper.toml": (installation.read_toml, MAX_TEXT_BYTES),
    "vectors.json": (reading.read, MAX_JSON_BYTES),
    "manifest.json": (Manifest.read, MAX_JSON_BYTES),
    "table.json": (lambda path: results.load(path.with_suffix(".csv")), MAX_JSON_BYTES),
    "printed.csv": (lambda path: list(papers._rows(path)), MAX_TABLE_BYTES),
}


@pytest.mark.parametrize("name", READERS)
def test_file_that_is_too_long_is_rejected(name: str, tmp_path: Path) -> None:
    read, most = READERS[name]
    path = tmp_path / name
    path.with_suffix(".csv").touch()  # the table next to the sidecar
    with path.open("wb") as file:
        file.truncate(1 << 40)  # sparse, and larger than the memory
    with pytest.raises(DataError, match=f"{path} must have at most {most} bytes"):
        read(path)


def test_reads_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(100))
    assert installation.read_bytes(path, 100) == bytes(100)
    with pytest.raises(DataError):
        installation.read_bytes(path, 99)


NOT_REGULAR = ("/dev/zero", "/dev/full", "pipe", "folder")
NAMED_FILES = (
    "consensus --nodes 4 --blocks 1 --costs named.csv",
    "study named.toml",
    "study pqdpol --measurements named.csv",
    "conform run --vectors named.json",
    "plot speed named.csv",
    "compare named.csv named.csv",
    "doctor --library named.so",
    "bench --scheme named.so",
)
"""For each file that a command reads, the command."""


@pytest.mark.native
@pytest.mark.parametrize("kind", NOT_REGULAR)
@pytest.mark.parametrize("line", NAMED_FILES)
def test_special_file_is_rejected_at_once(line, kind, tmp_path, monkeypatch, run):
    """A device may be endless, and opening a pipe would wait for a writer."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for ending in ("csv", "toml", "so", "json"):
        (tmp_path / f"named.{ending}").symlink_to(kind)
    before = time.monotonic()
    said = run(line, 2)
    assert time.monotonic() - before < 20
    assert said.out == ""
    assert len(said.err.strip().splitlines()) <= 2


def test_file_replaced_by_a_pipe_does_not_block(tmp_path, monkeypatch):
    path, regular = tmp_path / "file", os.stat_result(Path(__file__).stat())
    os.mkfifo(path)
    monkeypatch.setattr(Path, "stat", lambda *_, **__: regular)
    with pytest.raises(UsageError, match="file must be a regular file"):
        installation.read_bytes(path, 100)


@pytest.mark.parametrize(
    "value", ["9" * 4000, "9" * 5000, f"0x{'f' * 9000}", f"[0x{'f' * 9000}]", "1e400", "nan", "-1"]
)
@pytest.mark.parametrize("name", ["block_bytes", "nodes", "law", "transactions_per_second"])
def test_hostile_numbers_in_a_plan_are_rejected(name: str, value: str, tmp_path: Path, run):
    text, count = re.subn(rf"(?m)^{name} = [^\n]*", f"{name} = {value}", ready("pqdpol"), count=1)
    assert count == 1
    path = tmp_path / "plan.toml"
    path.write_text(text)
    said = run(["study", str(path)], 2).err
    assert f"{path}" in said
    assert len(said) < 2000


PLACES = {
    "conform vectors --output {}": "/dev/null",
    "conform run --output {}": "/dev/null",
    "reproduce --output {}": "/dev/null",
    "consensus --mode virtual --transport native --network star --nodes 4 --log {}": "/dev/null",
    "plot networks --output {}": "named.svg",
    "study pqdpol --page {}": "named.html",
    **{
        f"{command} --output {{}}": "named.csv"
        for command in (
            "bench", "chain", "gas", "reencode", "study pqdpol",
            "consensus --nodes 4", "conform mutants", "compare a.csv b.csv",
        )
    },
}  # fmt: skip
"""What commands write, each with a name that leads to a device."""


@pytest.mark.parametrize("line", PLACES)
def test_unwritable_output_is_rejected_before_the_work(line, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    for name in ("named.svg", "named.html", "named.csv"):
        (tmp_path / name).symlink_to("/dev/null")
    before = time.monotonic()
    said = run(line.format(PLACES[line]), 2).err
    assert time.monotonic() - before < 20
    assert "must be a folder; it is a file" in said or "must be a regular file" in said
    assert {path.name for path in tmp_path.iterdir()} == {"named.svg", "named.html", "named.csv"}


@pytest.mark.parametrize("place", ["/", "/etc", "mine"])
@pytest.mark.parametrize("line", [line for line, place in PLACES.items() if place == "/dev/null"])
def test_foreign_folders_are_rejected_before_the_work(line, place, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("mine")
    assert (
        f"{place} must be new, empty or written by pqchain"
        in run(line.format(place).split(), 2).err
    )
    assert [path.read_text() for path in (tmp_path / "mine").iterdir()] == ["mine"]


def test_unresponsive_scheduler_times_out(run, monkeypatch) -> None:
    pytest.importorskip("dask.distributed")
    monkeypatch.setattr(scheduler, "CONNECT_SECONDS", 1)
    before = time.monotonic()
    said = run("consensus --nodes 4 --blocks 1 --scheduler tcp://127.0.0.1:1", 2)
    assert time.monotonic() - before < 20
    waiting, refused = said.err.splitlines()[:2]
    assert waiting == "Waiting up to 1 s for the Dask scheduler at tcp://127.0.0.1:1 ..."
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:1' within 1 s" in refused
