"""Ends of child processes. `test_user_code` tests that nothing that they started goes on."""

import sys

import pytest

from pqchain.crypto.child import Child


@pytest.mark.parametrize("more", ["", "print(2)"])
def test_output_after_the_answer_is_noticed(more):
    script = f"import sys\nprint(1, flush=True)\nsys.stdin.read()\n{more}"
    child = Child([sys.executable, "-c", script])
    assert child.ask(b"", 30.0) == b"1\n"
    assert child.end(10.0) == 0
    assert child.wrote_more == bool(more)
