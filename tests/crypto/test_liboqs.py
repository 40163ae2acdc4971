"""The default implementation: silent import of the packaged library through liboqs-python."""

import os
import subprocess
import sys
from importlib.machinery import ModuleSpec

import pytest

from pqchain.crypto import open_signer, unavailable_reason
from pqchain.errors import Unsupported

pytestmark = pytest.mark.skipif(
    bool(unavailable_reason("liboqs-0.13/dispatch")),
    reason=unavailable_reason("liboqs-0.13/dispatch") or "available",
)


def run(code: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run Python code in a fresh process."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True, text=True, check=False, env={**os.environ, **environment},
    )  # fmt: skip


def test_signatures_cross_between_implementations() -> None:
    ours, theirs = open_signer("ML-DSA-65", "liboqs-0.13/ref"), open_signer("ML-DSA-65")
    public_key, secret_key = theirs.generate_keypair()
    assert ours.verify(b"m", theirs.sign(b"m", secret_key, b"c"), public_key, b"c")
    assert theirs.verify(b"m", ours.sign(b"m", secret_key, b"c"), public_key, b"c")
    assert not theirs.verify(b"m", ours.sign(b"m", secret_key, b"c"), public_key, b"d")


def test_import_prints_nothing_and_uses_the_packaged_library() -> None:
    result = run(
        "import pqchain as pq\n"
        "s = pq.open_signer('ML-DSA-44')\n"
        "import pathlib; maps = pathlib.Path('/proc/self/maps').read_text()\n"
        "assert 'liboqs-0.13-avx2/lib/liboqs.so' in maps or 'liboqs-0.13-ref' in maps\n"
        "import os; assert 'OQS_INSTALL_PATH' not in os.environ\n"
        "import ctypes.util; assert ctypes.util.find_library('c')\n"
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_install_path_variable_is_ignored() -> None:
    result = run(
        "import os, pqchain as pq\n"
        "pq.open_signer('ML-DSA-44')\n"
        "assert os.environ['OQS_INSTALL_PATH'] == '/nonexistent'\n",
        OQS_INSTALL_PATH="/nonexistent",
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_liboqs_python_with_another_library_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    from pqchain.crypto import liboqs

    class Elsewhere:
        __spec__ = ModuleSpec("oqs", None)

        @staticmethod
        def native() -> object:
            return type("Handle", (), {"_name": "/usr/lib/liboqs.so"})()

    monkeypatch.setitem(sys.modules, "oqs", Elsewhere)
    with pytest.raises(Unsupported, match="was imported before pqchain and uses /usr/lib"):
        liboqs.module()
