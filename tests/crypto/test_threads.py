"""The driver of `make sanitize` on the example library finds a shared random source."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pqchain.crypto.diagnosis import FOLDER

pytestmark = pytest.mark.native

FLAGS = ("-std=gnu11", "-O2", "-g", "-fsanitize=thread", f"-I{FOLDER}")


def compiled(output: Path, *arguments: str | Path) -> Path:
    """Compile C with ThreadSanitizer."""
    subprocess.run(["cc", *FLAGS, *arguments, "-o", output, "-ldl", "-lpthread"], check=True)
    return output


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("threads")
    (folder / "empty.c").write_text("int main(void) { return 0; }\n")
    try:
        subprocess.run([compiled(folder / "empty", folder / "empty.c")], check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this compiler makes no programs with -fsanitize=thread")
    return compiled(folder / "threads", Path(__file__).with_name("threads.c"))


@pytest.mark.parametrize("is_shared", [False, True])
def test_shared_random_source_is_detected(tmp_path: Path, driver: Path, is_shared: bool):
    text = (FOLDER / "common.c").read_text(encoding="utf-8")
    assert text.count("static __thread pq_random_source") == 1
    if is_shared:
        text = text.replace("static __thread pq_random_source", "static pq_random_source")
    (tmp_path / "common.c").write_text(text, encoding="utf-8")
    sources = (FOLDER / "example.c", FOLDER / "no_kem.c", tmp_path / "common.c")
    library = compiled(tmp_path / "example.so", "-shared", "-fPIC", *sources)
    completed = subprocess.run([driver, "20", library], capture_output=True, text=True, check=False)
    assert (completed.returncode != 0) is is_shared, completed.stdout + completed.stderr
    assert ("data race" in completed.stderr) is is_shared
