"""Run the commands of the board pages, and unit tests, with the packages of the PYNQ images.

    make test-oldest

The environment has Python 3.10 and the packages of ubuntu-22.04.txt. The commands are read from the
pages; pynq finds a simulated board. A command or test that is not run is printed with the reason.
"""

import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "docs" / "tasks" / f"{name}.md" for name in ("board-pynq", "board-32")]
PINS = Path(__file__).with_name("ubuntu-22.04.txt")

NOT_RUN = {
    r"make\b": "builds or tests on a PC",
    r"source |echo .*vivado": "needs Vivado",
    r"scp |sudo -i$": "needs a board",
    r"(cd ~xilinx && )?pip install \S*\.whl$": "the wheel is for another processor: test-armv7l",
    r"apt-get update$|(apt-get|pip) install [a-z0-9 -]+$": f"{PINS.name} has the packages",
    r"python3 .*/dev/ttyUSB0": "needs a board with a serial line",
}
"""Commands of the pages that are not run, by regular expression, and the reasons."""

MOST_MEGABYTES = 200
"""Memory that a command may use; a PYNQ-Z2 has 512 MB."""

UNIT_TESTS = ("bench", "chain", "commands", "crypto/test_classical.py", "crypto/test_properties.py",
              "falcon", "plots", "render", "results")  # fmt: skip

_P256 = "the package cryptography has no deterministic ECDSA on P-256"
_HYBRID = "chain/test_canonical.py::test_no_signature_of_a_hybrid_can_be_changed"
LEFT_OUT = {
    "bench/test_gas.py::test_every_scheme_has_a_price_in_every_unit_that_has_an_anchor": _P256,
    f"{_HYBRID}[names0-inline]": _P256,
    f"{_HYBRID}[names2-recovered]": _P256,
    "chain/test_canonical.py::test_other_forms_are_malformed": _P256,
    "chain/test_canonical.py::test_wallets_use_the_lower_s": _P256,
    "chain/test_transaction.py::test_wallets_reject_unsupported_modes_with_the_reason": _P256,
    "commands/test_measuring.py::test_gas_prices_are_compared_with_statements": _P256,
    "results/test_machine.py::test_provenance_is_plain_json_with_the_promised_keys": "no pyperf",
}  # fmt: skip
"""Unit tests that are not run, and the reasons."""


def commands(page: str) -> list[tuple[str, str]]:
    """Return the commands of a page with the output that it shows, in order."""
    found: list[tuple[str, str]] = []
    for kind, block, inline in re.findall(
        r"^ *```(console|text)\n(.*?)^ *```$|`((?:apt-get|make|pip|pqchain|python3?) [^`]+)`", page,
        re.DOTALL | re.MULTILINE,
    ):  # fmt: skip
        if not kind:
            found.append((inline, ""))
            continue
        lines = re.sub(r"^ +(?=\S)", "", block, flags=re.MULTILINE).splitlines()
        has_prompts = any(line.startswith("$ ") for line in lines)
        is_open = False
        for line in lines:
            if is_open or (has_prompts and not line.startswith("$ ")):
                command, output = found.pop()
                joined = (
                    (f"{command}\n{line}", output) if is_open else (command, f"{output}{line}\n")
                )
                found.append(joined)
            else:
                found.append((line.removeprefix("$ "), ""))
            try:
                is_open = not shlex.split(found[-1][0])
            except ValueError:  # a quotation that ends in a later line
                is_open = True
    return found


def reason(command: str) -> str:
    """Return why a command is not run, or ""."""
    return "; ".join(text for rule, text in NOT_RUN.items() if re.match(rule, command))


def prepare(folder: Path) -> None:
    """Write the files that earlier steps of the pages make."""
    from hls_kernels.rtl.boards import hwh

    out = folder / "hls_kernels" / "boards" / "pynq-z2" / "out"
    out.mkdir(parents=True)
    (folder / "measure.py").write_bytes((ROOT / "hls_kernels/boards/measure.py").read_bytes())
    for place in (out, folder):
        (place / "falcon_sign.bit").write_text("simulated")
        (place / "falcon_sign.hwh").write_text(hwh.describe(), encoding="utf-8")


def run(command: str, output: str, folder: Path) -> str:
    """Run a command of a page; return what is wrong, or ""."""
    missing = re.search(r"the Python package (\w+), which is not installed", output)
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).with_name("board")), str(ROOT)]),
        "PQCHAIN_TEST_MISSING": missing[1] if missing else "",
    }
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=600, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    printed = done.stdout + done.stderr
    sys.stdout.write("".join(f"    {line}\n" for line in printed.splitlines()[-6:]))
    if missing and printed != output:
        return f"the page shows {output!r}"
    if missing:
        return run(command, "", folder)  # with the package
    if done.returncode or "Traceback" in printed or "Warning" in printed:
        return f"it ended with {done.returncode} or printed a warning:\n{printed}"
    if "FalconSigner(" in command and not re.match(r"overlay True (None|\d+)$", done.stdout):
        return "expected the signature of an overlay that is valid"
    if "measure.py" in command and len((folder / "figures.csv").read_text().split()) != 201:
        return "expected 200 rows in figures.csv"
    return ""


def run_pages() -> list[str]:
    """Run the commands of all pages; return those that fail, with what is wrong."""
    failed, ran, left = [], 0, 0
    with tempfile.TemporaryDirectory(prefix="pqchain-oldest-") as name:
        prepare(Path(name))
        for page in PAGES:
            for command, output in commands(page.read_text(encoding="utf-8")):
                if why := reason(command):
                    sys.stdout.write(f"{page.name}: NOT RUN ({why}): {command}\n")
                    left += 1
                    continue
                sys.stdout.write(f"{page.name}: {command}\n")
                if wrong := run(command, output, Path(name)):
                    failed.append(f"{page.name}: {command}: {wrong}")
                ran += 1
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    if megabytes > MOST_MEGABYTES:
        failed.append(f"the memory of a command must be at most {MOST_MEGABYTES} MB")
    sys.stdout.write(
        f"commands of the pages: {ran} run, {len(failed)} failed, {left} not run; "
        f"at most {megabytes:.0f} MB of memory\n"
    )
    sys.stdout.flush()
    return failed


def main() -> None:
    """Check the versions; run the commands and the unit tests; exit with 1 if any fails."""
    pins = dict(re.findall(r"^(\S+)==(\S+)$", PINS.read_text(), re.MULTILINE))
    installed = {name: metadata.version(name) for name in pins}
    if installed != pins or sys.version_info[:2] != (3, 10):
        raise SystemExit(f"the environment must have Python 3.10 and {pins}; it has {installed}")
    sys.stdout.write(f"Python {sys.version.split()[0]} and {PINS.name}: {pins}\n")
    failed = run_pages()
    for test, why in LEFT_OUT.items():
        sys.stdout.write(f"tests/{test}: NOT RUN ({why})\n")
    sys.stdout.write(f"tests with P256 in their name: NOT RUN ({_P256})\n")
    sys.stdout.flush()
    left = [f"--deselect=tests/{test}" for test in LEFT_OUT]
    code = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--dist", "loadfile", "-k", "not P256",
         "-p", "no:cacheprovider", *left, *(f"tests/{name}" for name in UNIT_TESTS)],
        cwd=ROOT, check=False,
    ).returncode  # fmt: skip
    sys.stdout.write("".join(f"FAILED {line}\n" for line in failed))
    raise SystemExit(bool(failed or code))


if __name__ == "__main__":
    main()
