"""The t-test on cycles: its sensitivity, and the recorded cycles."""

from __future__ import annotations

import math

import pytest

from hls_kernels.rtl import leaks
from pqchain.falcon import rtl
from tests.falcon.rtl import need_netlist


def made(shift: int, rest: int = 300_000, count: int = 2000) -> list[leaks.Attempt]:
    """Return attempts of two keys whose sampler differs by a number of cycles."""
    return [
        leaks.Attempt(
            key=number % 2,
            cycles=rest + 100_000 + 37 * (number * 7919 % 101) + shift * (number % 2),
            sampler=100_000 + 37 * (number * 7919 % 101) + shift * (number % 2),
            rounds=700,
        )
        for number in range(count)
    ]


def test_welch_t_equals_its_closed_form() -> None:
    # means 2 and 4, variances 1 and 4, three values each
    assert leaks.welch([1, 2, 3], [2, 4, 6]) == pytest.approx(-2 / math.sqrt(5 / 3))
    assert leaks.welch([5, 5], [5, 5]) == 0
    assert leaks.welch([6, 6], [5, 5]) == math.inf


def test_key_dependent_timing_is_detected() -> None:
    same, other = leaks.judge(made(0), 512), leaks.judge(made(400), 512)
    assert not leaks.leaks(same)
    assert leaks.leaks(other)
    assert other["t"] < -leaks.THRESHOLD
    assert other["least_difference"] < 400


def test_one_cycle_outside_the_sampler_is_detected() -> None:
    attempts = made(0)
    assert leaks.leaks(leaks.judge([*attempts, *made(0, rest=300_001, count=2)], 512))


@pytest.mark.native
@pytest.mark.timeout(600)
def test_netlist_signatures_of_two_keys_show_no_leak() -> None:
    attempts = leaks.attempts(need_netlist()[0], 512, chunk=0, count=6)
    assert [each.key for each in attempts] == [0, 1, 0, 1, 0, 1]
    assert len({each.rest for each in attempts}) == 1
    assert len({each.sampler for each in attempts}) > 1, "rejections differ"


@pytest.mark.parametrize("degree", [512, 1024])
@pytest.mark.parametrize("configuration", [rtl.STANDARD, rtl.COMPACT, rtl.FAST, rtl.NEW_KEY])
def test_hundred_keys_take_equal_time_outside_the_sampler(configuration: str, degree: int) -> None:
    """Each known answer has another key: every other phase has constant cycles."""
    frame = rtl.cycles().query(f"configuration == {configuration!r} and degree == {degree}")
    assert (frame["attempts"] >= 100).all()
    frame = frame.set_index("phase").drop(["sampler", "random bits", "total"])
    assert (frame["least"] == frame["greatest"]).all()


def test_recorded_cycles_show_no_leak() -> None:
    """Checks the record of `make -C hls_kernels leaks`."""
    found = rtl.timing_leakage().to_dict("records")
    assert [(row["configuration"], row["degree"]) for row in found] == [
        (configuration, degree)
        for configuration in (rtl.COMPACT, rtl.FAST)
        for degree in (512, 1024)
    ]
    for recorded in found:
        assert recorded["attempts"] >= 10_000
        assert not leaks.leaks(recorded)
