"""A small part of `make attack`: only permitted outcomes of hostile inputs."""

import random
from collections.abc import Iterator
from subprocess import Popen

import pytest

from tests.attacks import __main__ as program
from tests.attacks import command_lines
from tests.attacks.command_lines import CommandLine
from tests.attacks.commands import can_mount
from tests.attacks.harness import ALLOWED, Attack, Input, Outcome, run
from tests.attacks.registry import ATTACKS

SAMPLE, LONG_SAMPLE = 1, 30
"""Lines of each kind that `make test` and `make test-long` run."""


@pytest.mark.native
@pytest.mark.parametrize(
    ("attack", "inputs"),
    [
        *((attack, attack.small) for attack in ATTACKS if attack.small),
        *(
            pytest.param(attack, LONG_SAMPLE, marks=[pytest.mark.long, pytest.mark.timeout(1800)])
            for attack in command_lines.ATTACKS
        ),
    ],
    ids=lambda part: f"{part.surface}, {part.name}" if isinstance(part, Attack) else f"{part}",
)
def test_hostile_inputs_are_accepted_or_rejected_with_a_reason(attack: Attack, inputs: int) -> None:
    tally = run(attack, inputs)
    if not tally.inputs:
        pytest.skip("impossible here: no mount in a namespace, or no source in the cache")
    assert set(tally.counts) <= set(ALLOWED), "\n".join(tally.defects)


def test_table_has_a_row_for_every_attack_and_no_defects() -> None:
    rows = program._rows(program.TABLE)
    assert list(rows) == [f"{attack.surface}, {attack.name}" for attack in ATTACKS]
    for row in rows.values():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[6] == "0", row


def test_forbidden_outcomes_are_counted_and_reported() -> None:
    def attempt(data: object) -> Outcome:
        if data == 1:
            raise KeyError("lost")
        return Outcome.WRONG if data == 2 else Outcome.FINE

    def make(_: object, count: int):
        return (Input(f"input {number}", number) for number in range(count))

    made_up = Attack("s", "n", 4, 4, lambda _: (make, attempt))
    tally = run(made_up, 4)
    assert (tally.inputs, tally.failed) == (4, 2)
    assert tally.counts[Outcome.FINE] == 2
    assert tally.defects == ["traceback: input 1: KeyError: 'lost'", "wrong answer: input 2: "]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Popen[str]]:
    folder = tmp_path_factory.mktemp("lines")
    if not can_mount(folder):
        pytest.skip("this system allows no mount in a new namespace")
    process = command_lines.start(folder)
    yield process
    process.communicate()
    assert process.returncode == 0


@pytest.mark.native
def test_sample_of_hostile_command_lines_has_no_defects(server: Popen[str]) -> None:
    defects = []
    rng = random.Random(1)
    pools = (command_lines.generate(kind, rng, 20 * SAMPLE) for kind in command_lines.KINDS)
    fast = [[line for line in pool if not line.waits][:SAMPLE] for pool in pools]
    for line in (line for lines in fast for line in lines):
        outcome, detail = command_lines.verdict(line, command_lines.ask(server, line))
        if outcome not in ALLOWED:
            defects.append(f"{outcome.value}: {line.description}: {detail}")
    assert not defects, "\n".join(defects)


@pytest.mark.native
def test_writes_to_system_folders_are_detected(server: Popen[str]) -> None:
    words = "plot sizes --algorithm Falcon-512 --output /etc/a.svg"
    line = CommandLine(tuple(words.split()))
    for _ in range(2):  # on the second run the file is absent again
        result = command_lines.ask(server, line)
        assert (result["code"], result["changed"]) == (0, ["/etc/a.svg"])
        assert command_lines.verdict(line, result)[0] is Outcome.DAMAGE


@pytest.mark.native
@pytest.mark.parametrize("scheme", ["lib/fine.so", "schemes/fine.py:Fine"])
def test_honest_scheme_has_no_defects(server: Popen[str], scheme: str) -> None:
    words = ("bench", "--operation", "sign,verify", "--json", "--scheme", scheme)
    line = CommandLine(words, memory_mb=command_lines.USER_CODE_MB)
    result = command_lines.ask(server, line)
    assert command_lines.verdict(line, result)[0] is Outcome.FINE, result["stderr"]


@pytest.mark.long
def test_lines_reach_every_parameter_and_depend_on_the_seed_only() -> None:
    def lines(seed: int) -> list[str]:
        generated = command_lines.generate("parameters", random.Random(seed), 6000)
        return [line.description for line in generated]

    assert lines(1) == lines(1) != lines(2)
    texts = " ".join(lines(1))
    assert len(set(lines(1))) > 3000
    for command, option, _, _ in command_lines.parameters():
        assert f"pqchain {command} " in texts and f"{option}" in texts


FINE = {
    "code": 0, "timed_out": False, "seconds": 1.0, "processor_seconds": 1.0, "memory_mb": 100,
    "left_running": [], "changed": [], "stdout": "{}", "stderr": "",
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "refused", "expected"),
    [
        ({}, False, Outcome.FINE),
        ({}, True, Outcome.WRONG),
        ({"code": 2, "stderr": "pqchain: no"}, True, Outcome.REFUSED),
        ({"stdout": "NaN"}, False, Outcome.WRONG),
        ({"stdout": ""}, False, Outcome.WRONG),
        ({"code": 1, "stdout": ""}, False, Outcome.WRONG),
        ({"code": 3}, False, Outcome.WRONG),
        ({"code": -11}, False, Outcome.CRASH),
        ({"code": 139}, False, Outcome.CRASH),
        ({"code": -9, "timed_out": True}, False, Outcome.SLOW),
        ({"stderr": "Traceback (most recent call last)"}, False, Outcome.TRACEBACK),
        ({"changed": ["/etc/passwd"]}, False, Outcome.DAMAGE),
        ({"left_running": ["sleep 600"]}, False, Outcome.ORPHAN),
        ({"memory_mb": 900}, False, Outcome.MEMORY),
        ({"code": 1, "stderr": "pqchain: out of memory"}, True, Outcome.MEMORY),
    ],
)
def test_every_defect_is_reported(changes, refused, expected):
    line = CommandLine(("doctor", "--json"), refused=refused)
    assert command_lines.verdict(line, FINE | changes)[0] is expected
