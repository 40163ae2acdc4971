"""Help of at most 60 lines in 80 columns, the rarer options behind --help-all, completion."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from pqchain.commands import main as cli
from pqchain.commands import options
from pqchain.study import ready_names

LEAVES = [
    words
    for name in cli.COMMANDS
    for words in ([name], *([name, each] for each in cli.content(name).get("commands", ())))
]


def printed(words: list[str], capsys, monkeypatch) -> str:
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main(words) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("words", [[], *LEAVES], ids=" ".join)
def test_help_fits_in_eighty_columns_and_sixty_lines(words, capsys, monkeypatch) -> None:
    lines = printed([*words, "--help"], capsys, monkeypatch).splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 80
    if any("--help-all" in line for line in lines):
        whole = printed([*words, "--help-all"], capsys, monkeypatch).splitlines()
        assert max(map(len, whole)) <= 80
        assert len(whole) > len(lines)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_all_shows_every_option(name, capsys, monkeypatch) -> None:
    content = cli.content(name)
    declared = [content.get("options", {}), *content.get("groups", {}).values()]
    rare = {flags for table in declared for flags, row in table.items() if row.get("rare")}
    text = printed([name, "--help"], capsys, monkeypatch)
    assert ("--help-all" in text) == bool(rare or "more" in content)
    if rare:
        whole = printed([name, "--help-all"], capsys, monkeypatch)
        for flags in rare:
            option = flags.split()[-1]
            # Examples may use them.
            assert f"\n  {option} " in whole and f"\n  {option} " not in text


def test_rare_options_work_without_help_all(capsys) -> None:
    words = ["consensus", "--exponents", "2", "--delegates", "3", "--json"]
    assert cli.main(words) == 0
    assert '"delegates": 3' in capsys.readouterr().out


def test_long_example_is_a_command_for_the_shell() -> None:
    line = '  pqchain study ethereum --scheme "Mine, two,public_key=1000"      measure it'
    lines = options._example(line, 40)
    assert lines[-1] == "      (measure it)"
    joined = " ".join("".join(lines[:-1]).replace("\\", " ").split())
    assert joined == 'pqchain study ethereum --scheme "Mine, two,public_key=1000"'
    assert max(map(len, lines)) <= 40


def completions(line: str) -> list[str]:
    """Return what a shell is told about a command line, as argcomplete's bash function asks."""
    asked = {
        "_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9",
        "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_SHELL": "bash",
    }  # fmt: skip
    command = ["bash", "-c", 'exec "$0" -m pqchain 8>&1 9>/dev/null', sys.executable]
    done = subprocess.run(
        command, env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    return [word.strip() for word in done.stdout.split("\n")]


def test_shell_completes_commands_options_and_names() -> None:
    assert "whatif" in completions("pqchain wh")
    assert set(completions("pqchain whatif ethereum-")) == {
        name for name in ready_names() if name.startswith("ethereum-")
    }
    assert "Falcon-512" in completions("pqchain whatif ethereum falcon")
    assert completions("pqchain bench --algorithm Ed25519,ml-dsa-6") == ["Ed25519,ML-DSA-65"]
    assert "--json" in completions("pqchain study --js")
    assert "pqdpol" in completions("pqchain cite pq")
    assert "tornado" in completions("pqchain plot tor")


@pytest.mark.parametrize("plain", [True, False])
def test_terminal_gets_colours_and_no_cut_words_unless_refused(plain, tmp_path) -> None:
    """Run a command with a terminal of 80 columns as its output."""
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"} | (
        {"NO_COLOR": "1"} if plain else {}
    )
    environment.pop("CI", None)
    if not plain:
        environment.pop("NO_COLOR", None)
    reader, writer = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "pqchain", "papers"], stdout=writer, env=environment
    ) as process:
        os.close(writer)
        written = b""
        while chunk := _read(reader):
            written += chunk
    os.close(reader)
    text = written.decode()
    assert process.returncode == 0
    assert ("\x1b[1m" in text) == (not plain)
    if plain:
        assert max(map(len, text.splitlines())) <= 80


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # Linux reports the end of a pseudo-terminal as an error
        return b""
