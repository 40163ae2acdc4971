"""Where this installation lies, what data comes with it, and which version it is."""

from __future__ import annotations

import importlib
import platform
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pqchain.errors import DataError, PackageMissing

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


MOST_TEXT_BYTES, MOST_JSON_BYTES = 4 << 20, 64 << 20
"""The longest TOML that is read, a plan's too, and the longest JSON of ours or of others."""


def read_bytes(path: Path, most: int) -> bytes:
    """Return what is in a file. Raises OSError, and DataError if that is more than `most` bytes."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise DataError(f"{path} has more than {most} bytes, as no file of its kind; name another")
    return data


def parse_toml(text: str) -> dict[str, Any]:
    """Turn a text into tables; raises ValueError."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("its brackets are nested too deeply") from None


VERSION = "0.1.0"

HOME = Path(__file__).resolve().parent
"""The folder of the package's Python code, in an editable install the one of the checkout."""


def folders() -> list[Path]:
    """Return the folders of the package: an editable install has two, checkout and native build."""
    spec = find_spec("pqchain")
    assert spec is not None and spec.submodule_search_locations is not None
    return [Path(folder) for folder in spec.submodule_search_locations]


def data(name: str) -> Path:
    """Return a folder of data: inside the package if installed, else in the checkout."""
    candidates = [root / "data" / name for root in (HOME, HOME.parent)]
    for folder in candidates:
        if folder.is_dir():
            return folder
    raise DataError(
        f"the data of pqchain is missing: neither {candidates[0]} nor {candidates[1]} is a folder; "
        "install pqchain again"
    )


def read_toml(path: Path) -> dict[str, Any]:
    """Return a TOML file that comes with pqchain, parsed. Raises DataError."""
    try:
        return parse_toml(read_bytes(path, MOST_TEXT_BYTES).decode())
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}; restore the file") from error


_DISTRIBUTIONS = {"Crypto": "pycryptodome", "oqs": "liboqs-python"}
"""What pip calls packages that are imported by another name."""

_OF_DEBIAN = ("cryptography", "matplotlib", "numpy", "pandas")
"""Packages that Debian and Ubuntu have compiled for 32-bit ARM, where pip would compile them."""


def install_command(package: str) -> str:
    """Return the command that installs a Python package, given by the name it is imported with."""
    if platform.machine() == "armv7l" and package in _OF_DEBIAN:
        return f"apt-get install python3-{package}"
    return f"pip install {_DISTRIBUTIONS.get(package, package)}"


def missing(error: ModuleNotFoundError) -> PackageMissing:
    """Return what to raise where a Python package is not installed."""
    package = (error.name or "").partition(".")[0]
    if package in ("", "pqchain"):
        raise error
    return PackageMissing(
        f"this needs the Python package {package}, which is not installed: "
        f"{install_command(package)}"
    )


def late(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package whose names are fetched at first use.

    `homes` has its modules, each with the names that the package offers from it.
    """

    def fetch(name: str) -> Any:
        for module, names in homes.items():
            if name == module or name in names.split():
                try:
                    home = importlib.import_module(f"{package}.{module}")
                except ModuleNotFoundError as error:
                    raise missing(error) from error
                value = home if name == module else getattr(home, name)
                setattr(sys.modules[package], name, value)
                return value
        raise AttributeError(f"module {package!r} has no attribute {name!r}; see its __all__")

    def listed() -> list[str]:
        module = sys.modules[package]
        return sorted({*vars(module), *module.__all__})

    return fetch, listed
