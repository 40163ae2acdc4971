"""The public interface: names, fast import, consistent versions, and secrets that are not shown."""

import configparser
import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pqchain as pq
from pqchain import algorithms
from pqchain.bench import aggregates
from pqchain.crypto import open_signer
from pqchain.delegates.setting import SharedInputs
from pqchain.wire.identity import generate
from pqchain_conform.models import ml_dsa_signer

PUBLIC = [
    "Costs", "PqchainError", "__version__", "algorithms", "bench", "chain",
    "consensus", "costs", "crypto", "delegates", "errors", "falcon", "header",
    "machine", "measure", "measure_blocks", "open_kem", "open_signer", "papers", "plots",
    "preset", "reencode", "register", "reproduce", "results", "schemes", "sentence", "show",
    "study", "whatif", "works",
]  # fmt: skip
"""Changing this list changes what other people's scripts may rely on: say so in the changelog."""


ROOT = Path(__file__).parent.parent

HEAVY = ("numpy", "pandas", "matplotlib", "oqs", "coincurve", "cryptography", "Crypto", "pyperf")
"""Slow or native: loaded at the first use of what needs them."""


def run(code: str) -> str:
    """Run code in a new interpreter and return its output."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_public_names_are_pinned() -> None:
    assert sorted(pq.__all__) == dir(pq) == PUBLIC


def test_every_public_name_resolves_and_modules_are_themselves() -> None:
    for name in PUBLIC:
        thing = getattr(pq, name)
        assert thing is not None
        if any(PACKAGE.glob(f"{name}.py")) or any(PACKAGE.glob(f"{name}/__init__.py")):
            assert thing is importlib.import_module(f"pqchain.{name}")


def test_importing_the_package_prints_nothing_and_loads_nothing_heavy() -> None:
    loaded, _, maps = run(
        "import sys, pathlib, pqchain; print(*sys.modules)\n"
        "maps = pathlib.Path('/proc/self/maps')\n"
        "print(maps.read_text() if maps.exists() else '')"
    ).partition("\n")
    assert not set(HEAVY) & {name.partition(".")[0] for name in loaded.split()}
    assert "_native" not in maps and "liboqs" not in maps


def test_help_loads_no_heavy_module() -> None:
    """Help of the program and of each command is fast."""
    loaded = run(
        "import sys; from pqchain.commands import main\n"
        "for name in main.targets(): main.help_of([name])\n"
        "print(*sys.modules)"
    )
    slow = {"pandas", "numba", "simpy", "matplotlib", "oqs", "aioquic", "dask"}
    assert not slow & set(loaded.split())


EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)


@pytest.mark.native
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda code: code.split("\n")[2])
def test_readme_examples_run(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(aggregates, "ROUNDS", 3)
    with algorithms.temporary_registrations():
        exec(example, {})


def test_version_is_consistent() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r'^version = "(.*)"$', project, re.MULTILINE) == [pq.__version__]
    assert re.findall(r'^version: "?([^"\n]*)"?$', citation, re.MULTILINE) == [pq.__version__]


@pytest.mark.native
def test_secrets_are_not_shown() -> None:
    from pqchain.chain.wallet import Wallet

    pair = open_signer("Falcon-512").generate_keypair()
    (identity,) = generate(1, algorithm="Ed25519")
    key = ml_dsa_signer.generate("ML-DSA-44", bytes(range(32)))
    held = {
        Wallet("Falcon-512", keypairs=[pair]): [pair[1]],
        SharedInputs((pair,), (pair,), ()): [pair[1]],
        identity: [identity.secret_key, identity.certificate_key_pem],
    }
    for each, secrets in held.items():
        for secret in secrets:
            assert repr(secret)[2:40] not in repr(each)
            assert secret[:8].hex() not in repr(each)
    assert repr(key.signing_seed)[2:20] not in repr(key)


PACKAGE = Path(pq.__file__).parent
WITH_EXAMPLES = sorted(
    path for path in PACKAGE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_docstring_examples_are_correct(path):
    name = ".".join(("pqchain", *path.relative_to(PACKAGE).with_suffix("").parts))
    result = doctest.testmod(importlib.import_module(name), raise_on_error=False)
    assert result.attempted
    assert result.failed == 0


def test_architecture_shows_the_enforced_layers():
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter", encoding="utf-8")
    layers = config["importlinter:contract:layers"]["layers"].split("\n")[2:]  # without __main__
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert "```\n" + "\n".join(layers) + "\n```" in text
