"""Provenance describes the machine without identifying its owner."""

import getpass
import json
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pqchain
from pqchain.algorithms import IMPLEMENTATIONS, Implementation
from pqchain.results import machine

CPUINFO = """\
processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 94
model name\t: Intel(R) Core(TM) i7-6700 CPU @ 3.40GHz
stepping\t: 3
flags\t\t: fpu sse2 popcnt avx2

processor\t: 1
flags\t\t: fpu
"""


@pytest.fixture
def skylake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend to be a machine with a known /proc/cpuinfo."""
    path = tmp_path / "cpuinfo"
    path.write_text(CPUINFO, encoding="utf-8")
    monkeypatch.setattr(machine, "_CPUINFO", path)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend to be a system without /proc/cpuinfo."""
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "missing")


def test_provenance_is_plain_json_with_the_promised_keys() -> None:
    provenance = machine.provenance()
    promised = {
        "machine_id", "cpu_model", "cpu_count", "cpu_flags", "platform", "python", "pqchain",
        "commit", "native", "date", "load_average",
    }  # fmt: skip
    assert promised <= set(provenance)
    assert json.loads(json.dumps(provenance, allow_nan=False)) == provenance
    assert provenance["pqchain"] == pqchain.__version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", provenance["date"])


def test_provenance_names_no_person_host_or_folder() -> None:
    provenance = machine.provenance()
    assert not {"hostname", "python_executable", "python_config_args"} & set(provenance)
    # Those left out are tested where they are written; "CLOCK_..." is not a path.
    values = [str(value) for key, value in provenance.items() if key not in ("native", "timer")]
    assert not any("/" in value for value in values)
    assert platform.node() not in values
    assert getpass.getuser() not in values


@pytest.mark.parametrize(
    ("model", "slug"),
    [
        ("AMD EPYC", "amd-epyc"),
        ("AMD EPYC (cpu family 25, model 1, stepping 1)", "amd-epyc"),
        ("AMD EPYC 7763 64-Core Processor", "amd-epyc-7763"),
        ("Intel(R) Core(TM) i7-6700 CPU @ 3.40GHz", "intel-core-i7-6700"),
        ("Apple M1", "apple-m1"),
        ("", "unknown"),
        ("../../etc", "etc"),
    ],
)
def test_machine_id_is_a_readable_slug(model: str, slug: str) -> None:
    name = machine.machine_id(cpu_model=model, cpu_count=4, system="Linux x86_64")
    assert re.fullmatch(rf"{re.escape(slug)}-[0-9a-f]{{8}}", name)


def test_machine_ids_of_different_machines_differ() -> None:
    names = {
        machine.machine_id(cpu_model=model, cpu_count=count, system=system)
        for model in ("AMD EPYC (model 1)", "AMD EPYC (model 17)")
        for count in (4, 8)
        for system in ("Linux x86_64", "Linux aarch64")
    }
    assert len(names) == 8


@pytest.mark.usefixtures("skylake")
def test_flags_and_model_come_from_the_first_processor() -> None:
    assert machine.cpu_flags() == {"fpu", "sse2", "popcnt", "avx2"}
    provenance = machine.provenance()
    assert provenance["cpu_model"] == (
        "Intel(R) Core(TM) i7-6700 CPU @ 3.40GHz (cpu family 6, model 94, stepping 3)"
    )
    assert provenance["cpu_flags"] == ["avx2", "popcnt"]


@pytest.mark.usefixtures("skylake")
def test_missing_flags_are_in_registry_order() -> None:
    assert machine.missing_flags(IMPLEMENTATIONS["liboqs-0.13/avx2"]) == ("bmi2",)
    assert machine.missing_flags(IMPLEMENTATIONS["liboqs-0.13/ref"]) == ()
    needs = Implementation("a/b", "", cpu_flags=("z", "avx2", "a"))
    assert machine.missing_flags(needs) == ("z", "a")


@pytest.mark.usefixtures("elsewhere")
def test_without_cpuinfo_no_flag_is_known_and_provenance_still_works() -> None:
    assert machine.cpu_flags() == frozenset()
    assert machine.missing_flags(IMPLEMENTATIONS["liboqs-0.13/avx2"])
    provenance = machine.provenance()
    assert provenance["cpu_flags"] == []
    assert provenance["cpu_model"]


def git(folder: Path, *arguments: str) -> str:
    """Run git with a fixed author and without user settings."""
    settings = "user.name=t user.email=t@example.org commit.gpgSign=false core.hooksPath="
    command = ["git", *(word for setting in settings.split() for word in ("-c", setting))]
    command += arguments
    completed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return completed.stdout.strip()


def test_commit_of_a_checkout_and_whether_it_was_changed(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "inside").mkdir()
    (tmp_path / "file").write_text("a", encoding="utf-8")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "--quiet", "--message=first")
    git(tmp_path, "tag", "v1")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert machine._commit(tmp_path) == commit
    assert machine._commit(tmp_path / "inside") == ""
    (tmp_path / "file").write_text("b", encoding="utf-8")
    assert machine._commit(tmp_path) == f"{commit}-dirty"


def test_commit_is_unknown_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    assert machine._commit(tmp_path) == ""
    monkeypatch.setenv("PATH", "")
    assert machine._commit(tmp_path) == ""


def test_provenance_without_pyperf_has_the_machine_id(monkeypatch) -> None:
    whole = machine.provenance()
    monkeypatch.setitem(sys.modules, "pyperf", None)
    provenance = machine.provenance()
    assert provenance["machine_id"] == whole["machine_id"]
    assert "load_average" not in provenance
