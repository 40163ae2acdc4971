"""Commands of distributions beside pqchain: listed if installed, otherwise with the remedy."""

from __future__ import annotations

import pytest

from pqchain.commands import distributions
from pqchain.commands.main import main


def test_installed_commands_are_listed(capsys):
    assert set(distributions.commands()) == set(distributions.COMMANDS)
    assert main(["--help"]) == 0
    words = capsys.readouterr().out.split()
    assert set(distributions.COMMANDS) <= set(words)


@pytest.mark.parametrize(("command", "extra"), distributions.COMMANDS.items())
def test_missing_command_names_its_distribution(command, extra, monkeypatch, refused, capsys):
    monkeypatch.setattr(distributions, "entry_points", lambda group: ())
    refused([command, "list"], f'pip install "pqchain[{extra}]"')
    assert main(["--help"]) == 0
    assert command not in capsys.readouterr().out.split()
