"""The command line: output streams and exit codes."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from pqchain import checks
from pqchain.algorithms import OPERATIONS
from pqchain.bench import operations as bench
from pqchain.chain.encoding import KeyMode
from pqchain.commands import algorithms, consensus, reencode
from pqchain.commands import main as cli
from pqchain.commands.main import main
from pqchain.consensus.model import ENGINES
from pqchain.errors import (
    ChunksLost,
    CryptoFailure,
    DataError,
    InvalidResult,
    MachineMismatch,
    Malformed,
)
from pqchain.falcon import BACKENDS


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a process."""
    return subprocess.run(
        [sys.executable, "-m", "pqchain", *arguments], capture_output=True, text=True, check=False
    )


NESTED = [
    [name, subcommand]
    for name in cli.COMMANDS
    for subcommand in cli.content(name).get("commands", ())
]
"""Commands of commands."""


@pytest.mark.parametrize("arguments", [[], *([name] for name in cli.COMMANDS), *NESTED])
def test_help_has_examples(arguments, capsys):
    assert main([*arguments, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "examples:\n" in shown
    assert "pqchain" in shown
    assert "--json" in shown


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("bench", "2 to 3 minutes for everything"),
        ("chain", "about 2 minutes for all"),
        ("reproduce", "4 to 5 minutes for all works on 2 idle cores"),
    ],
)
def test_help_states_the_duration(command, said, capsys):
    assert main([command, "--help"]) == 0
    assert said in " ".join(capsys.readouterr().out.split())


def test_version_is_printed(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("pqchain ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["bench", "--algorithm", "Falcon-512", "--implementation", "hawk/avx2"],
        ["chain", "--algorithm", "Hawk-512", "--implementation", "liboqs-0.13/avx2"],
        ["chain", "--algorithm", "Falcon-512", "--key-mode", "recovered"],
    ],
)
def test_table_without_successful_rows_exits_1(arguments, capsys):
    assert main(arguments) == 1
    assert "unsupported" in capsys.readouterr().out


def test_pqchain_error_exits_1_with_one_line(monkeypatch, capsys):
    def fail(*given, **named):
        raise CryptoFailure("the key may be damaged")

    monkeypatch.setattr(bench, "measure", fail)
    assert main(["bench"]) == 1
    assert capsys.readouterr().err == "pqchain: the key may be damaged\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DataError("a.csv cannot be read"), 2), (MachineMismatch("two machines"), 2),
        (Malformed("no signature"), 2), (ChunksLost("2 of 6 chunks"), 1),
        (InvalidResult("cannot be stored"), 1), (CryptoFailure("no key"), 1),
        (FileNotFoundError(2, "No such file", "a.csv"), 2),
        (PermissionError(13, "Permission denied", "a.csv"), 2), (OSError(28, "No space left"), 1),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_unreadable_input_exits_2_and_a_failure_1(monkeypatch, capsys, error, code):
    def fail(arguments):
        raise error

    monkeypatch.setattr(algorithms, "run", fail)
    assert main(["algorithms"]) == code
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_messages_have_no_control_characters(tmp_path, capsys):
    name = "\x1b]0;OWNED\x07\x1b[2J\u202e.csv"
    assert main(["plot", "speed", name]) == 2
    assert main(["compare", name, name]) == 2
    assert main(["study", f"{tmp_path}/{name}.toml"]) == 2
    assert main(["algorithms", f"--{name}"]) == 2
    shown = capsys.readouterr()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown.out + shown.err)
    assert shown.err.count("\\u001b]0;OWNED\\u0007") >= 4


@pytest.mark.parametrize("command", ["bench", "chain", "reencode", "consensus"])
def test_unwritable_output_is_rejected_before_the_work(command, measured, blocks, tmp_path, capsys):
    (tmp_path / "a.json").mkdir()
    for name, said in (("none/a.csv", "does not exist"), ("a.csv", "a.json must be a file")):
        assert main([command, "--output", str(tmp_path / name)]) == 2
        captured = capsys.readouterr()
        assert said in captured.err
        assert captured.out == ""
    assert measured == blocks == []
    assert [child.name for child in tmp_path.iterdir()] == ["a.json"]


def test_interruption_exits_130(monkeypatch, capsys):
    def interrupt(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "measure", interrupt)
    assert main(["bench"]) == 130
    assert capsys.readouterr().err == "pqchain: interrupted\n"


@pytest.mark.parametrize(
    "arguments",
    [["algorithms"], ["papers", "round3"], ["doctor"], ["algorithms", "--implementations"]],
)
def test_stdout_of_a_process_is_clean_json(arguments):
    done = run(*arguments, "--json")
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
    done = subprocess.run(
        [sys.executable, "-m", "pqchain", "algorithms", "--all", "--json"],
        stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
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


def test_help_loads_nothing_heavy():
    probe = (
        "import sys; from pqchain.commands.main import main; code = main(['--help']); "
        "heavy = {'numpy', 'pandas', 'matplotlib', 'oqs', 'tqdm'} & set(sys.modules); "
        "sys.exit(f'{code} {heavy}' if code or heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_memory_error_is_one_line(monkeypatch, capsys):
    def run(arguments):
        raise MemoryError("Unable to allocate 9 TiB")

    monkeypatch.setattr(algorithms, "run", run)
    assert main(["algorithms"]) == 1
    assert "out of memory (Unable to allocate 9 TiB); ask for less" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "message"), [([], "COMMAND"), (["--jsn"], "COMMAND")])
def test_missing_command_is_rejected(arguments, message, refused):
    refused(arguments, message)


@pytest.mark.parametrize("arguments", [["bnech"], ["bnech", "--help"], ["--", "bnech"]])
def test_unknown_command_suggests_near_names(arguments, refused):
    refused(arguments, "unknown command 'bnech'; did you mean 'bench'?")


@pytest.mark.parametrize("step", [1, -1])
def test_commands_import_only_their_module(step):
    # In both orders, so that a command that imports another one precedes it in one of them.
    probe = (
        "import sys; from pqchain.commands.main import COMMANDS, parser\n"
        f"names = list(COMMANDS)[::{step}]\n"
        "for number, name in enumerate(names, 1):\n"
        "    parser(name)\n"
        "    modules = [each for each in sys.modules if each.startswith('pqchain.commands.')]\n"
        "    loaded = {each.rpartition('.')[2] for each in modules} & set(COMMANDS)\n"
        "    if loaded != set(names[:number]): sys.exit(f'{name}: {loaded}')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


LIGHT = ["algorithms", "papers", "bench", "chain", "reencode", "reproduce", "doctor", "falcon"]


@pytest.mark.parametrize("name", [*LIGHT, "study", "conform"])
def test_help_of_a_command_loads_no_frames_and_no_plots(name):
    probe = (
        f"import sys; from pqchain.commands.main import main; code = main([{name!r}, '--help']); "
        "heavy = {'pandas', 'matplotlib', 'oqs', 'tqdm', 'numba'} & set(sys.modules); "
        "sys.exit(f'{code} {heavy}' if code or heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def described(command):
    """Return the options of a command with their settings."""
    content = cli.content(command)
    groups = [content.get("options", {}), *content.get("groups", {}).values()]
    return {flags: about for options in groups for flags, about in options.items()}


@pytest.mark.parametrize(("module", "number"), [(reencode, 13), (consensus, 17)])
def test_help_shows_the_defaults_and_bounds_of_the_dataclass(module, number, capsys):
    command = module.__name__.rpartition(".")[2]
    assert main([command, "--help-all"]) == 0
    shown = capsys.readouterr().out
    mirrors = {option: about for option, about in described(command).items() if "field" in about}
    assert len(mirrors) == number
    for option, said in mirrors.items():
        owner, _, name = said["field"].partition(".")
        each = checks.declarations(getattr(module, owner))[name]
        about = " ".join(re.split(r"\n +--", shown.partition(f"\n  {option} ")[2])[0].split())
        default = each.default if said.get("show_default", True) else None
        if isinstance(default, float):
            assert f"default: {default:g}" in about
        elif default is not None and default is not False:
            assert f"default: {default}" in about
        assert each.bounds in about


def test_options_list_the_choices_of_the_code():
    assert described("consensus")["--engine"]["choices"] == list(ENGINES)
    assert described("chain")["--key-mode"]["choices"] == list(get_args(KeyMode))
    assert ", ".join(OPERATIONS) in described("bench")["--operation"]["help"]
    commands = cli.content("falcon")["commands"]
    for command in ("sign", "profile"):
        assert all(
            backend in commands[command]["options"]["--backend"]["help"] for backend in BACKENDS
        )


def test_doctor_works_where_pandas_does_not():
    probe = (
        "import sys; sys.modules['pandas'] = None; from pqchain.commands.main import main; "
        "sys.exit(main(['doctor', '--json']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    findings = {each["name"]: each for each in json.loads(done.stdout)["findings"]}
    assert findings["published tables"]["state"] == "broken"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_unwritable_help_exits_1_with_one_line(unbuffered):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pqchain", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "pqchain: cannot read or write: No space left on device\n"


def test_usage_error_exits_2_with_closed_stderr():
    with Path("/dev/full").open("w") as full:
        words = [sys.executable, "-m", "pqchain", "--nonsense"]
        assert subprocess.run(words, stderr=full, check=False).returncode == 2
