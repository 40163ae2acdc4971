"""Shared by all tests: reproducible examples, no deadlines, skipped native tests."""

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import settings

# Equal examples everywhere, and no result that depends on the load of the machine.
settings.register_profile("pqchain", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("pqchain")


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers of native and optional tests."""
    config.addinivalue_line("markers", "native: needs the native libraries")
    config.addinivalue_line("markers", "jupyter: runs notebooks in JupyterLab (make test-jupyter)")
    config.addinivalue_line("markers", "long: seconds each on one core (make test-long)")
    config.addinivalue_line("markers", "cluster: workers in network namespaces (make test-cluster)")
    config.addinivalue_line("markers", "acvp: all ACVP vectors of SLH-DSA (make test-acvp)")
    config.addinivalue_line("markers", "wheel: looks into dist/ (make test-wheel)")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip native tests only on request: a broken build must fail, not be skipped."""
    if os.environ.get("PQCHAIN_NATIVE", "").casefold() != "off":
        return
    skip = pytest.mark.skip(reason="PQCHAIN_NATIVE=off: this install has no native libraries")
    for item in items:
        if item.get_closest_marker("native"):
            item.add_marker(skip)


def pytest_collection_finish() -> None:
    """Collect garbage less often, without modules and tests, which saves 5 % of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def short_measurements() -> Iterator[None]:
    """Let measurements in the process of the tests end early: no test judges a time."""
    from pqchain.bench.presets import PRESETS

    quick = PRESETS["quick"]
    blocks = replace(quick.blocks, rounds=3, sign_seconds=0.1, validate_seconds=0.1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PRESETS, "quick", replace(quick, limit_seconds=0.005, pool=1, blocks=blocks))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_kept_values() -> Iterator[None]:
    """Neither read nor change what this user has measured: tests measure anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PQCHAIN_KEPT", f"{os.devnull}/kept")
        yield


@pytest.fixture
def refused(capsys, monkeypatch, tmp_path) -> Callable[[Sequence[str], str], None]:
    """Check that a command exits with 2, states the remedy and writes no output and no file."""
    from pqchain.commands.main import main

    monkeypatch.chdir(tmp_path)

    def check(arguments: Sequence[str], message: str) -> None:
        before = set(tmp_path.iterdir())
        assert main(arguments) == 2
        assert set(tmp_path.iterdir()) == before
        captured = capsys.readouterr()
        assert captured.out == ""
        assert message in captured.err
        assert "Traceback" not in captured.err

    return check
