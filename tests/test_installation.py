"""What is installed: data, versions, names at first use, and shared libraries before loading."""

import json
import re
import shutil
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from pqchain import installation
from pqchain.chain import bulk
from pqchain.crypto import external_libraries, isolation, native
from pqchain.errors import DataError, NativeLibraryBroken, PackageMissing, Unsupported
from pqchain.results.kept import KeptValues
from tests import frames
from tests.attacks.damaged import FAULTS


@pytest.mark.parametrize("inside", [True, False])
def test_data_is_read_from_an_installation_and_from_a_checkout(tmp_path, monkeypatch, inside):
    package = tmp_path / "pqchain"
    folder = (package if inside else tmp_path) / "data" / "papers"
    folder.mkdir(parents=True)
    monkeypatch.setattr(installation, "HOME", package)
    assert installation.data("papers") == folder


def test_missing_data_names_the_searched_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(installation, "HOME", tmp_path / "pqchain")
    with pytest.raises(DataError, match=r"neither .* nor .* is a folder; install pqchain again"):
        installation.data("papers")


@pytest.fixture
def get(tmp_path):
    """Return the function that imports the names of a package at their first use."""
    (tmp_path / "__init__.pyi").write_text("from .frames import measurements as measurements\n")
    get, listed, names = installation.lazy_exports("tests", str(tmp_path / "__init__.py"))
    assert listed() == names == ["measurements"]
    return get


def test_names_are_imported_at_first_use(get):
    assert get("measurements") is frames.measurements
    with pytest.raises(AttributeError, match="module 'tests' has no attribute 'frame'; see its"):
        get("frame")
    with pytest.raises(AttributeError, match="did you mean measurements"):
        get("measurement")


def test_package_that_is_missing_is_named_with_the_command_that_installs_it(get, monkeypatch):
    monkeypatch.delitem(sys.modules, "tests.frames", raising=False)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(PackageMissing, match="package pandas, which is not installed: pip install"):
        get("measurements")
    assert issubclass(PackageMissing, ImportError)


@pytest.mark.parametrize(
    ("machine", "package", "command"),
    [
        ("x86_64", "numpy", "pip install numpy"),
        ("x86_64", "Crypto", "pip install pycryptodome"),
        ("armv7l", "numpy", "apt-get install python3-numpy"),
        ("armv7l", "simpy", "pip install simpy"),
    ],
)
def test_packages_without_wheels_come_from_the_system(machine, package, command, monkeypatch):
    monkeypatch.setattr(installation.platform, "machine", lambda: machine)
    assert installation.install_command(package) == command


def test_missing_pqchain_module_is_not_an_install_hint():
    error = ModuleNotFoundError("No module named 'pqchain.lost'", name="pqchain.lost")
    with pytest.raises(ModuleNotFoundError, match="lost"):
        installation.missing(error)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("numpy", "1.20.3", "1.21.0"),
        ("pandas", "1.2.5", "1.3.0rc1"),
        ("matplotlib", "3.4.3", "3.5"),
    ],
)
def test_package_older_than_the_tested_versions_is_refused(name, old, new):
    package = types.ModuleType(name)
    for package.__version__ in (new, f"{new}.post1", "11.2.3"):
        installation.check_version(package)
    package.__version__ = old
    needed = ".".join(new.split(".")[:2])
    with pytest.raises(Unsupported, match=rf"{name} must be at least {needed}; got {old}\. Use"):
        installation.check_version(package)


@pytest.mark.parametrize(
    ("package", "use"),
    [
        ("pandas", "from pqchain import results; results.Contract('x', {}).frame()"),
        ("matplotlib", "import pqchain; pqchain.plots.plot_sizes"),
    ],
)
def test_old_package_is_refused_where_it_is_used(package, use):
    version = f"import {package}; {package}.__version__ = '1.0.0'"
    done = subprocess.run(
        [sys.executable, "-c", f"{version}; {use}"], capture_output=True, text=True
    )
    assert f"the version of {package} must be at least" in done.stderr


def test_importing_reads_no_data_but_the_registry():
    """Importing every module opens no file of data/ except data/algorithms."""
    program = """
import contextlib, importlib, pkgutil, sys
import pqchain
from pqchain import installation

data = str(installation.data("algorithms").parent)
opened = set()

def note(event, arguments):
    if event == "open" and str(arguments[0]).startswith(data):
        opened.add(str(arguments[0]).removeprefix(data)[1:])

sys.addaudithook(note)
for module in pkgutil.walk_packages(pqchain.__path__, "pqchain."):
    if not module.name.endswith("__main__"):
        with contextlib.suppress(ModuleNotFoundError):  # optional packages
            importlib.import_module(module.name)
print(*sorted(name for name in opened if not name.startswith("algorithms/")))
assert opened, "the registry was not seen"
"""
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout.split() == []


_SOURCE = ("source", "source_version", "source_origin", "source_digest", "variant")
BUILD = dict.fromkeys((*_SOURCE, "algorithms", "compiler", "flags", "processor"), "a text")
BUILD |= {"corrections": [], "library_bytes": 3}
BUILD["library_sha256"] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def copy(name: str, folder: Path) -> Path:
    """Copy an installed library with its record; return the path of the copy."""
    path = installation.library_path(name)
    assert path is not None
    target = folder / "_native" / name / "lib" / path.name
    target.parent.mkdir(parents=True)
    shutil.copyfile(path, target)
    shutil.copyfile(path.parents[1] / "build.json", target.parents[1] / "build.json")
    return target


@pytest.mark.native
@pytest.mark.parametrize("damage", FAULTS.values(), ids=FAULTS)
def test_every_damaged_library_is_an_error(tmp_path: Path, damage: Callable[[bytes], bytes]):
    names = sorted(installation.installed_libraries())
    assert {"block", "quic", "falcon-kernel", "liboqs-0.13-ref", "hawk-ref"} <= set(names)
    for name in names:
        path = copy(name, tmp_path)
        path.write_bytes(damage(path.read_bytes()))
        with pytest.raises(NativeLibraryBroken, match=r"(bytes|digest must be).*Install it again"):
            installation.load_library(path)


@pytest.mark.native
@pytest.mark.parametrize(
    ("record", "message"),
    [
        (None, "digest are missing in build.json"),
        ("{", "cannot read"),
        ("[1]", "cannot read"),
        ("[" * 100_000, "cannot read"),
        (json.dumps(dict.fromkeys(BUILD, "")), "must have  bytes; got"),
    ],
)
def test_bundled_library_needs_its_record(tmp_path: Path, record: str | None, message: str):
    path = copy("block", tmp_path)
    build = path.parents[1] / "build.json"
    build.unlink()
    if record is not None:
        build.write_text(record)
    with pytest.raises(NativeLibraryBroken, match=message):
        installation.load_library(path)


def test_file_that_is_recorded_and_no_library_is_an_error(tmp_path: Path):
    path = tmp_path / "rtl" / "libfalcon_rtl.so"
    path.parent.mkdir()
    path.write_bytes(b"abc")
    path.with_name("build.json").write_text(json.dumps(BUILD))
    with pytest.raises(NativeLibraryBroken, match=r"abc|too short|invalid ELF"):
        installation.load_library(path)
    path.write_bytes(b"xyz")  # the record of `make rtl` is in the folder of the library
    with pytest.raises(NativeLibraryBroken, match="digest must be ba7816bf"):
        installation.load_library(path)


def test_file_is_hashed_again_only_after_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    opened, read = [], installation.open_regular
    monkeypatch.setattr(installation, "open_regular", lambda at: opened.append(at) or read(at))
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    assert installation.sha256(path) == installation.sha256(path) == BUILD["library_sha256"]
    assert opened == [path]
    path.unlink()
    path.write_bytes(b"abcd")
    assert installation.sha256(path) != BUILD["library_sha256"]


def test_external_library_is_skipped_only_if_it_is_missing(tmp_path: Path):
    paths = (tmp_path / "none.so", "libnone-of-this-name.so.9")
    assert external_libraries.library(*paths, functions={}) is None
    (tmp_path / "text.so").write_text("text")
    with pytest.raises(NativeLibraryBroken, match="too short"):
        external_libraries.library(*paths, tmp_path / "text.so", functions={})


def test_only_two_modules_load_libraries():
    modules = {
        path.relative_to(installation.HOME).as_posix()
        for path in installation.HOME.rglob("*.py")
        if re.search(r"\bCDLL\(|LoadLibrary|\bdlopen\(|PyDLL\(", path.read_text(encoding="utf-8"))
    }
    # The second loads libraries of other packages and of the system.
    assert modules == {"installation.py", "crypto/external_libraries.py"}


@pytest.mark.native
def test_only_a_missing_block_library_is_replaced_by_python(tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "library", bulk.library.__wrapped__)
    path = copy("block", tmp_path)
    monkeypatch.setattr(installation, "folders", lambda: [tmp_path])
    assert bulk.library() is not None
    monkeypatch.setattr(bulk, "_ABI", 99)
    with pytest.raises(NativeLibraryBroken, match="interface of pqchain, version 99; got 1"):
        bulk.library()
    path.unlink()  # the loaded file must stay as it is
    path.write_bytes(b"text")
    with pytest.raises(NativeLibraryBroken, match=r"must have .* bytes; got 4"):
        bulk.library()
    shutil.rmtree(tmp_path / "_native")
    assert bulk.library() is None


def test_installed_libraries_are_found_in_every_package_folder(tmp_path, monkeypatch):
    for facts in installation.installed_libraries().values():
        assert set(BUILD) <= set(facts)
    monkeypatch.setattr(installation, "folders", lambda: [tmp_path / "a", tmp_path / "b"])
    assert installation.installed_libraries() == {}
    for folder, library, version in (("a", "one", "1"), ("b", "one", "2"), ("b", "two", "2")):
        record = tmp_path / folder / "_native" / library / "build.json"
        record.parent.mkdir(parents=True)
        record.write_text(json.dumps(BUILD | {"source_version": version}))
    builds = installation.installed_libraries()
    versions = {library: facts["source_version"] for library, facts in builds.items()}
    assert versions == {"one": "1", "two": "2"}
    record.write_text("{")
    with pytest.raises(DataError, match="install it again: `make -B install`"):
        installation.installed_libraries()


_LOADED = """
import json
from pqchain import installation
from pqchain.results import machine
from pqchain import open_signer
steps = [list(machine.provenance()["native"])]
open_signer("Hawk-512", "hawk/ref").generate_keypair()
steps.append(list(machine.provenance()["native"]))
print(json.dumps([steps, installation.loaded_libraries()["hawk-ref"]]))
"""


@pytest.mark.native
def test_provenance_has_the_libraries_that_were_loaded():
    run = subprocess.run(
        [sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True
    )
    steps, record = json.loads(run.stdout)
    assert steps == [[], ["hawk-ref"]]
    assert record == installation.installed_libraries()["hawk-ref"]


def load_hawk() -> int:
    """Load a library; runs in a child process."""
    return len(native.library("hawk/ref").names())


@pytest.mark.native
def test_libraries_of_child_processes_and_resumed_runs_are_listed(tmp_path, monkeypatch):
    monkeypatch.setattr(installation, "_loaded", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path))
    monkeypatch.setenv("PQCHAIN_KEPT", str(tmp_path / "kept"))
    assert isolation.call(f"{__name__}:load_hawk", limit_seconds=60) == 2
    assert list(installation.loaded_libraries()) == ["hawk-ref"]
    KeptValues().put("key", 1)
    monkeypatch.setattr(installation, "_loaded", {})
    assert KeptValues().get("key") == 1
    assert list(installation.loaded_libraries()) == ["hawk-ref"]
