"""The command line: output streams and exit codes."""

import io
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from pqchain import algorithms, errors
from pqchain.commands import console
from pqchain.commands import main as cli
from pqchain.commands.main import main


def process(*arguments: str, **streams: Any) -> subprocess.CompletedProcess[str]:
    """Run the command as a process."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    command = [sys.executable, "-m", "pqchain", *arguments]
    return subprocess.run(command, **pipes, text=True, check=False)


def test_version_is_printed(run):
    assert run("--version").out.startswith("pqchain ")


@pytest.mark.parametrize(
    "line",
    [
        "bench --algorithm Falcon-512 --implementation hawk/avx2",
        "chain --algorithm Hawk-512 --implementation liboqs-0.13/avx2",
        "chain --algorithm Falcon-512 --key-mode recovered",
    ],
)
def test_table_without_successful_rows_exits_1(line, run):
    assert "unsupported" in run(line, 1).out


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.DataError("a.csv cannot be read"), 2),
        (errors.Malformed("no signature"), 2), (errors.ChunksLost("2 of 6 chunks"), 1),
        (errors.InvalidResult("cannot be stored"), 1), (errors.CryptoFailure("no key"), 1),
        (FileNotFoundError(2, "No such file", "a.csv"), 2),
        (PermissionError(13, "Permission denied", "a.csv"), 2), (OSError(28, "No space left"), 1),
        (MemoryError("Unable to allocate 9 TiB"), 1), (KeyboardInterrupt(), 130),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_unreadable_input_exits_2_and_a_failure_1(monkeypatch, run, error, code):
    monkeypatch.setattr(algorithms, "names", Mock(side_effect=error))
    assert len(run("algorithms", code).err.splitlines()) == 1


def test_messages_have_no_control_characters(tmp_path, run):
    name = "\x1b]0;OWNED\x07\x1b[2J\u202e.csv"
    lines = ["plot", "speed", name], ["compare", name, name], ["algorithms", f"--{name}"]
    for line in (*lines, ["study", f"{tmp_path}/{name}.toml"]):
        shown = run(line, 2)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown.out + shown.err)
        assert "OWNED" in shown.err


@pytest.mark.parametrize("line", ["papers round3", pytest.param("doctor", marks=pytest.mark.long)])
def test_stdout_of_a_process_is_clean_json(line):
    done = process(*line.split(), "--json")
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)


def test_ascii_terminal_is_supported(monkeypatch):
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding="ascii"))
    assert main(["papers", "pqdpol", "table4"]) == 0
    assert b"163 us" in buffer.getvalue()
    assert main(["papers", "falcon-hls", "--json"]) == 0
    text = buffer.getvalue().partition(b"{")[2].decode("ascii")
    assert json.loads("{" + text)["title_korean"].startswith("HLS 를")


def test_closed_pipe_is_not_an_error():
    reading, writing = os.pipe()
    os.close(reading)
    done = process("algorithms", "--all", "--json", stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("closed", "code", "said"), [(">&-", 2, "stdout is closed"), ("2>&-", 0, "")]
)
def test_closed_stream_gives_no_traceback(closed, code, said):
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m pqchain algorithms --family Falcon {closed}', sys.executable],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert ("Falcon-512" in done.stdout) == (code == 0)


LEAVES = [
    words
    for name in cli.targets()
    for words in ([name], *([name, each] for each in cli.app()[name] if each != name))
]
"""Commands and their subcommands."""


def test_every_option_has_help_and_every_example_is_valid(run) -> None:
    for words in LEAVES:
        text = run([*words, "--help"]).out
        _, apps, _ = cli.app().parse_commands(words)
        is_group = apps[-1].default_command is None
        for row in [] if is_group else apps[-1].assemble_argument_collection(parse_docstring=True):
            assert "*" in row.name or (row.name in text and row.parameter.help), (words, row.name)
        for line in re.findall(r"^  (pqchain .*?)(?: {3,}.*)?$", text, re.M):
            if "--measurements" not in line:
                cli.parse(shlex.split(line.partition(" > ")[0].partition(" | ")[0])[1:])


def test_commands_of_other_distributions_are_listed_or_named(monkeypatch, refused, run):
    assert set(console.DISTRIBUTIONS) <= set(cli.targets())
    monkeypatch.setattr(cli, "entry_points", lambda group: ())
    for cached in (cli.targets, cli.app):
        monkeypatch.setattr(cli, cached.__name__, cached.__wrapped__)
    for command, extra in console.DISTRIBUTIONS.items():
        refused([command, "list"], f'pip install "pqchain[{extra}]"')
    assert not set(console.DISTRIBUTIONS) & set(run("--help").out.split())


def test_shell_completes_commands_options_and_choices(run) -> None:
    script = run("--completion bash").out
    for word in ("whatif", "--block-bytes", "loopback"):
        assert word in script
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
    run("--completion csh", 2)


def test_doctor_works_where_pandas_does_not():
    probe = """import sys; sys.modules['pandas'] = None; from pqchain.commands.main import main
sys.exit(main(['doctor', '--json']))"""
    command = [sys.executable, "-c", probe]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    findings = {each["name"]: each for each in json.loads(done.stdout)["findings"]}
    assert findings["published tables"]["state"] == "broken"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_unwritable_help_exits_1_with_one_line(unbuffered):
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w") as full:
        done = process("--help", stdout=full, env=environment)
    assert done.returncode == 1
    assert done.stderr == "pqchain: cannot read or write: No space left on device\n"


def test_usage_error_exits_2_with_closed_stderr():
    with Path("/dev/full").open("w") as full:
        assert process("--nonsense", stderr=full).returncode == 2


def test_terminal_gets_no_cut_words(tmp_path) -> None:
    """Run a command with a terminal of 80 columns as its output."""
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    reader, writer = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "pqchain", "papers"], stdout=writer, env=environment
    ) as started:
        os.close(writer)
        written = b""
        while chunk := _read(reader):
            written += chunk
    os.close(reader)
    assert started.returncode == 0
    assert max(map(len, written.decode().splitlines())) <= 80


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # Linux reports the end of a pseudo-terminal as an error
        return b""
