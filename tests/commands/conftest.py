"""Shared by tests of commands: replacements of measurements, and the check of usage errors."""

import json
import shlex
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from pqchain.bench import blocks as blockbench
from pqchain.bench import operations as bench
from pqchain.bench import presets
from pqchain.commands.main import main
from tests import frames


@pytest.fixture
def measured(monkeypatch):
    """Replace the benchmark and record its calls."""
    calls = []

    def measure(names, operations, implementations, *, preset, **options):
        calls.append((names, operations, implementations, preset))
        frame = frames.measurements(names or ["Falcon-512", "Hawk-512"])
        frame.attrs["provenance"] |= {"preset": preset}
        return frame

    monkeypatch.setattr(bench, "measure", measure)
    monkeypatch.delenv(presets.PRESET_VARIABLE, raising=False)
    return calls


@pytest.fixture
def blocks(monkeypatch):
    """Replace the measurement of blocks and record its calls."""
    calls = []

    def measure(names, **options):
        calls.append((names, options))
        frame = frames.blocks(names)
        frame.attrs["provenance"] |= {"preset": options["preset"]}
        return frame

    monkeypatch.setattr(blockbench, "measure_blocks", measure)
    monkeypatch.delenv(presets.PRESET_VARIABLE, raising=False)
    return calls


class Said(NamedTuple):
    """What a command wrote to stdout and stderr."""

    out: str
    err: str

    @property
    def data(self) -> Any:
        """The JSON of stdout."""
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Run a command line and check its exit code."""

    def run_command(line: str | Sequence[str], code: int = 0) -> Said:
        assert main(shlex.split(line) if isinstance(line, str) else line) == code
        return Said(*capsys.readouterr())

    return run_command
