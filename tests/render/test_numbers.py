"""How numbers are shown."""

import math

import pytest

from pqchain.render import numbers

SPACE = numbers.NARROW_SPACE


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4.62e-5, "46.2 µs"),
        (0.001, "1.00 ms"),
        (9.996e-4, "1.00 ms"),
        (0.00099949, "999 µs"),
        (12.44, "12.4 s"),
        (1234.0, "1230 s"),
        (5.23e-7, "523 ns"),
        (2e-12, "0.00200 ns"),
        (0.0, "0 s"),
        (math.nan, numbers.MISSING),
    ],
)
def test_seconds_take_the_prefix_that_fits(value: float, text: str) -> None:
    """A value that rounds up to the next prefix is shown with that one."""
    assert numbers.seconds(value) == text.replace(" ", SPACE)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (46.2, "46.2"),
        (9.996, "10.0"),
        (0.00412, "0.00412"),
        (1030, "1030"),
        (0, "0"),
        (-2.5, "-2.50"),
    ],
)
def test_significant_digits_are_kept_without_an_exponent(value: float, text: str) -> None:
    """Trailing zeros that are known are shown."""
    assert numbers.significant(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(2420, "2420"), (17088, "17 088"), (261120, "261 120"), (-12345, "-12 345")]
)
def test_whole_numbers_are_grouped_from_five_digits(value: float, text: str) -> None:
    """Four digits stay together, as in the SI brochure."""
    assert numbers.integer(value) == text.replace(" ", SPACE)


@pytest.mark.parametrize(
    ("value", "name", "unit", "text"),
    [
        (4.5e-5, "sign_seconds", "s", "45 µs"),
        (0.097644, "generate_keypair_seconds", "s", "97.644 ms"),
        (600.0, "latency_seconds", "s", "600 s"),
        (261120, "public_key_bytes", "B", "261 120 B"),
        (0.4907, "throughput_per_second", "1/s", "0.4907 tx/s"),
        (12289, "modulus", "", "12 289"),
        (8.61, "lookup_tables_percent", "%", "8.61 %"),
    ],
)
def test_published_values_keep_their_digits(value: float, name: str, unit: str, text: str) -> None:
    """No digit is invented and none is lost."""
    assert numbers.quantity(value, name, unit) == text.replace(" ", SPACE)


def test_missing_values_are_shown_as_a_dash() -> None:
    """Every way to show a number knows what to do without one."""
    shown = {show(math.nan) for show in (numbers.integer, numbers.byte_count, numbers.ratio)}
    assert shown == {numbers.MISSING}
