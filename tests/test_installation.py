"""Data is found in an installation and in a checkout."""

import subprocess
import sys
import types

import pytest

from pqchain import installation
from pqchain.errors import DataError, PackageMissing, Unsupported
from tests import frames


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


def test_names_are_imported_at_first_use(tmp_path):
    (tmp_path / "__init__.pyi").write_text("from .frames import measurements as measurements\n")
    get, listed, names = installation.lazy_exports("tests", str(tmp_path / "__init__.py"))
    assert listed() == names == ["measurements"]
    assert get("measurements") is frames.measurements
    with pytest.raises(AttributeError, match="module 'tests' has no attribute 'frame'; see its"):
        get("frame")
    with pytest.raises(AttributeError, match="did you mean measurements"):
        get("measurement")


def test_package_that_is_missing_is_named_with_the_command_that_installs_it(tmp_path, monkeypatch):
    (tmp_path / "__init__.pyi").write_text("from .frames import measurements as measurements\n")
    get, _, _ = installation.lazy_exports("tests", str(tmp_path / "__init__.py"))
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
