"""The driver's side of kept keys."""

from __future__ import annotations

import pytest

from pqchain.falcon import kernel
from pqchain.falcon.kept_key import FORGET, KEEP, KEPT, USE, KeptKey

ONE, OTHER = bytes(2048) + b"one", b"\1" * 2048 + b"other"


class Register:
    """The register `key` of an engine with memory for a key, or without it."""

    def __init__(self, *, has_memory: bool = True) -> None:
        self.has_memory, self.kept = has_memory, False
        self.written: list[int] = []

    def read(self) -> int:
        return KEPT * self.kept

    def write(self, value: int) -> None:
        self.written.append(value)
        self.kept = self.kept and value != FORGET

    def attempt(self, key: KeptKey, request: bytes, status: int | None = kernel.SIGNED) -> int:
        omitted = key.prepare(request, 9)
        self.kept = self.has_memory and status in (kernel.SIGNED, kernel.RETRY)
        key.finish(status)
        return omitted


def test_key_is_omitted_only_while_the_engine_keeps_it() -> None:
    register = Register()
    key = KeptKey(register.read, register.write)
    assert register.written == [FORGET], "a key of an earlier program"
    assert [register.attempt(key, request) for request in (ONE, ONE, OTHER, OTHER, ONE)] == [
        0, 2048, 0, 2048, 0
    ]  # fmt: skip
    assert register.written[1:] == [KEEP, USE, KEEP, USE, KEEP]
    register.kept = False  # a reset
    assert register.attempt(key, ONE) == 0
    key.forget()
    assert not register.kept
    assert register.attempt(key, ONE) == 0


@pytest.mark.parametrize("status", [kernel.REFUSED, kernel.BUS_FAILED, kernel.ABORTED, None])
def test_failure_forgets_the_key(status: int | None) -> None:
    register = Register()
    key = KeptKey(register.read, register.write)
    register.attempt(key, ONE)
    register.attempt(key, ONE, status)
    assert register.written[-1] == FORGET
    assert register.attempt(key, ONE) == 0


def test_engine_without_memory_gets_the_key_each_time() -> None:
    register = Register(has_memory=False)
    key = KeptKey(register.read, register.write)
    assert [register.attempt(key, ONE) for _ in range(3)] == [0, 0, 0]
