"""The registry of engines: pins, availability with remedies, builds."""

from __future__ import annotations

import pytest

from pqchain.crypto import source_builds
from pqchain.errors import Unsupported
from pqchain_engines import registry


@pytest.mark.parametrize("engine", registry.engines().values(), ids=registry.engines())
def test_lock_files_pin_the_stated_version_with_checksums(engine):
    lock = (engine.source.sources / engine.locks).read_text(encoding="utf-8")
    if engine.locks == "Cargo.lock":
        assert f'name = "{engine.package}"\nversion = "{engine.version}"' in lock
        packages = [part for part in lock.split("[[package]]")[1:] if "source =" in part]
        assert len(packages) > 50
        assert all("checksum =" in part for part in packages)
    else:
        assert f"{engine.package} v{engine.version} h1:" in lock


@pytest.mark.parametrize("engine", registry.engines().values(), ids=registry.engines())
def test_an_engine_that_is_missing_is_named_with_its_remedy(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path))
    monkeypatch.setattr(source_builds.shutil, "which", lambda tool: f"/usr/bin/{tool}")
    with pytest.raises(Unsupported, match=f"run `pqchain engine build {engine.name}`"):
        engine.executable()
    monkeypatch.setattr(source_builds.shutil, "which", lambda tool: None)
    with pytest.raises(Unsupported, match=r"no .* on the path; install "):
        engine.executable()
    status, reason = registry.build([engine.name])[engine.name]
    assert status == "unsupported"
    assert reason.count("\n") == 0
    assert list(tmp_path.iterdir()) == []


def test_a_build_is_used_without_its_toolchain(tmp_path, monkeypatch):
    sources = tmp_path / "sources"
    (sources / "simplex").mkdir(parents=True)
    (sources / "simplex" / "build.sh").write_text("touch engine-simplex\n")
    monkeypatch.setattr(registry, "SOURCES", sources)
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(source_builds.shutil, "which", lambda tool: f"/usr/bin/{tool}")
    assert registry.build(["simplex"]) == {"simplex": ("built", "")}
    monkeypatch.setattr(source_builds.shutil, "which", lambda tool: None)
    engine = registry.get("Simplex")
    assert engine.executable().is_file()
    cometbft = registry.get("cometbft")
    assert set(cometbft.programs) <= set(cometbft.algorithms)
    assert registry.build(["simplex"]) == {"simplex": ("cached", "")}
