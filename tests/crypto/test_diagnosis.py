"""Checks of an installation, and when it counts as broken."""

from importlib import metadata

import pytest

from pqchain import algorithms, installation
from pqchain.crypto import diagnosis, isolation
from pqchain.errors import CryptoFailure, NativeLibraryBroken
from pqchain.reencode.storage import erasure
from pqchain.results import machine
from pqchain.wire.transports import native_library


@pytest.fixture
def in_process(monkeypatch):
    """Load libraries that are no implementation in this process, which a test has changed."""
    child = isolation.call

    def call(function, name, **options):
        if name in diagnosis.parts()["Native libraries"]:
            return diagnosis.library_detail(name)
        return child(function, name=name, **options)

    monkeypatch.setattr(diagnosis.isolation, "call", call)


def found(name):
    """Run all checks and return the one of that name."""
    return next(finding for finding in diagnosis.examine() if finding.name == name)


def test_doctor_checks_everything():
    names = {finding.name for finding in diagnosis.examine()}
    rows = algorithms.IMPLEMENTATIONS.values()
    libraries = {row.name for row in rows if row.library and not row.setting}
    assert libraries < names
    assert {
        "numpy",
        "coincurve",
        "liboqs-python",
        "pynq",
        "cmake",
        "schemes",
    } < names


def test_known_attacks_are_reported_with_their_date():
    finding = found("schemes")
    assert finding.healthy
    assert "checked on 2026-11-23; broken: MAYO-2 (round 2), Hawk-512" in finding.detail
    assert "warning: MAYO-1 (round 2)" in finding.detail


def test_missing_board_is_not_a_failure(monkeypatch):
    def version(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    findings = {finding.name: finding for finding in diagnosis.examine()}
    assert findings["pynq"].healthy
    assert "not a board" in findings["pynq"].disables
    assert findings["coincurve"].healthy
    assert findings["coincurve"].fix == "pip install coincurve"
    assert not findings["numpy"].healthy
    monkeypatch.setattr(diagnosis.platform, "machine", lambda: "armv7l")
    assert found("numpy").healthy


@pytest.mark.usefixtures("in_process")
def test_every_library_has_a_working_install_command(monkeypatch):
    def version(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(erasure, "_isal", lambda: None)
    findings = {finding.name: finding for finding in diagnosis.examine()}
    looked_for = "aioquic simpy reedsolo numba dask distributed uvloop ISA-L"
    for name in looked_for.split():
        assert (findings[name].state, findings[name].healthy) == ("missing", True)
        assert findings[name].disables
        assert findings[name].fix.startswith("pip install ")
    extras = [row.name for row in findings.values() if "pqchain" in row.fix]
    assert extras == ["pqchain-conform", "pqchain-engines"]


def test_missing_optional_libraries_are_not_a_failure(monkeypatch):
    monkeypatch.setattr(installation, "library_path", lambda stem: None)
    monkeypatch.setattr(machine, "missing_flags", lambda row: ())
    finding = found("liboqs-0.13/ref")
    assert (finding.state, finding.healthy) == ("missing", True)
    assert finding.fix.startswith("make")


@pytest.mark.usefixtures("in_process")
def test_missing_quic_library_states_the_reason(monkeypatch, tmp_path):
    place = tmp_path / "_native/quic"
    place.mkdir(parents=True)
    (place / "reason.txt").write_text("cargo was not found when it was built: install Rust\n")
    monkeypatch.setattr(installation, "folders", lambda: [tmp_path])
    native_library.load.cache_clear()
    finding = found("QUIC")
    assert (finding.state, finding.healthy) == ("missing", True)
    assert "cargo was not found when it was built" in finding.detail
    assert "aioquic" in finding.disables
    assert finding.fix.startswith("make")


def test_missing_avx2_is_reported(monkeypatch):
    monkeypatch.setattr(machine, "cpu_flags", lambda: frozenset({"popcnt"}))
    finding = found("CPU flags")
    assert finding.state == "missing"
    lacks = finding.detail.removeprefix("lacks ").split(", ")
    assert {"avx2", "bmi2"} <= set(lacks)
    assert "liboqs-0.13/avx2" in finding.disables
    library = found("liboqs-0.13/avx2")
    assert (library.state, library.fix) == ("missing", "")


@pytest.mark.parametrize("error", [CryptoFailure("wrong"), NativeLibraryBroken("damaged")])
def test_failing_library_is_broken(monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(diagnosis, "obstacle", lambda implementation: None)
    monkeypatch.setattr(diagnosis.isolation, "call", fail)
    for name in ("liboqs-0.13/ref", "block", "QUIC", "XMSS and LMS", "RTL engine", "ISA-L"):
        finding = found(name)
        assert (finding.state, finding.healthy, finding.detail) == ("broken", False, str(error))
        assert finding.fix.startswith("`make -B install`")


def test_library_that_ends_its_process_is_broken(monkeypatch):
    call = isolation.call
    ended = lambda function, **_: call("os:abort", limit_seconds=60)  # noqa: E731
    monkeypatch.setattr(diagnosis.isolation, "call", ended)
    finding = diagnosis._library("block", diagnosis.parts()["Native libraries"]["block"])
    assert (finding.state, finding.healthy) == ("broken", False)
    assert finding.detail == "the process ended by SIGABRT"


@pytest.mark.native
def test_every_installed_library_is_loaded_by_a_check_in_a_child(monkeypatch):
    monkeypatch.setattr(installation, "_loaded", {})
    monkeypatch.setattr(isolation, "_idle", [])
    rows = algorithms.IMPLEMENTATIONS.values()
    unusable = {row.library for row in rows if machine.missing_flags(row)}
    findings = [*diagnosis._libraries()]
    isolation.end_all(isolation._idle)
    assert not [finding for finding in findings if finding.state == "broken"]
    assert (
        set(installation.loaded_libraries()) >= set(installation.installed_libraries()) - unusable
    )


@pytest.mark.native
def test_every_library_signs_and_lists_corrections():
    finding = found("liboqs-0.13/ref")
    assert finding.state == "present"
    assert "ML-DSA-44 signs and verifies" in finding.detail
    assert "1 algorithm, " in found("rainbow/avx2").detail
