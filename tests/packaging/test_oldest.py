"""The commands of the board pages that `make test-oldest` runs, without its environment."""

import re

import pytest

from tests.packaging import oldest

COMMANDS = [
    command for page in oldest.PAGES for command in oldest.commands(page.read_text("utf-8"))
]


def test_commands_are_read_from_the_pages() -> None:
    page = """
    1. Text with `pqchain doctor` and `a word`.

       ```console
       $ pqchain plot sizes
       an output
       $ make
       ```

    ```text
    python3 -c "
    print(1)"
    ls
    ```

    ```python
    ignored
    ```
    """
    assert oldest.commands(re.sub("^    ", "", page, flags=re.MULTILINE)) == [
        ("pqchain doctor", ""), ("pqchain plot sizes", "an output\n"), ("make", ""),
        ('python3 -c "\nprint(1)"', ""), ("ls", ""),
    ]  # fmt: skip


def test_pages_sign_measure_and_plot() -> None:
    runs = [command for command, _ in COMMANDS if not oldest.reason(command)]
    assert len(runs) >= 7
    for needed in ("backend='overlay'|'overlay', bitstream", "measure.py falcon_sign.bit",
                   "^pqchain falcon doctor$", "^pqchain plot", "^grep"):  # fmt: skip
        assert any(re.search(needed, command) for command in runs), needed


@pytest.mark.parametrize("rule", oldest.NOT_RUN)
def test_rules_for_commands_that_are_not_run_match_one(rule: str) -> None:
    assert any(re.match(rule, command) for command, _ in COMMANDS)


@pytest.mark.parametrize("test", oldest.LEFT_OUT)
def test_unit_tests_that_are_left_out_exist(test: str) -> None:
    file, _, name = test.partition("[")[0].partition("::")
    assert f"def {name}(" in (oldest.ROOT / "tests" / file).read_text(encoding="utf-8")
