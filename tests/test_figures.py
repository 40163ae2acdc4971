"""Numbers, their units and their formats."""

import math

import pytest

from pqchain import figures
from pqchain.figures import MISSING, NARROW_SPACE, Figure, Kind, Unit


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (4.62e-5, "s", "46.2 µs"),
        (0.001, "s", "1.00 ms"),
        (9.996e-4, "s", "1.00 ms"),  # rounds up to the next prefix
        (0.00099949, "s", "999 µs"),
        (12.44, "s", "12.4 s"),
        (119.0, "s", "119 s"),
        (120.0, "s", "2.00 min"),
        (210 * 86_400, "s", "210 d"),
        (5.23e-7, "s", "523 ns"),
        (2e-12, "s", "0.00200 ns"),
        (0.0, "s", "0 s"),
        (17_088, "B", "17 088 B"),
        (666.412, "B", "666.41 B"),
        (1.63e12, "B", "1.63 TB"),
        (589e6, "B/s", "589 MB/s"),
        (1500, "bit/s", "1.50 kbit/s"),
        (73.12, "tx/s", "73.1 tx/s"),
        (3.2e8, "gas", "0.320 Ggas"),
        (0.431, "×", "×0.431"),
        (0.9876, "share", "98.8 %"),
        (12.34, "%", "+12.3 %"),
        (-0.01, "%", "0.0 %"),
        (261_120, "", "261 120"),
        (1030, "", "1030"),
        (0.00412, "", "0.00412"),
        (-2.5, "", "-2.50"),
        (9.996, "", "10.0"),
    ],
)
def test_value_has_three_digits_and_a_fitting_prefix(value: float, unit: str, text: str) -> None:
    assert Unit(unit).text(value) == text.replace(" ", NARROW_SPACE)


@pytest.mark.parametrize(
    ("value", "name", "unit", "text"),
    [
        (4.5e-5, "sign_seconds", "s", "45 µs"),
        (0.097644, "generate_keypair_seconds", "s", "97.644 ms"),
        (600.0, "latency_seconds", "s", "600 s"),
        (1_885_400, "public_key_bytes", "B", "1 885 400 B"),
        (0.4907, "throughput_per_second", "1/s", "0.4907 tx/s"),
        (12289, "modulus", "", "12 289"),
        (8.61, "lookup_tables_percent", "%", "8.61 %"),
    ],
)
def test_published_value_keeps_its_digits(value: float, name: str, unit: str, text: str) -> None:
    assert Unit.of(name, unit).text(value, exact=True) == text.replace(" ", NARROW_SPACE)


def test_factors_below_1_are_fractions_where_they_can_be() -> None:
    assert [figures.factor(value) for value in (1 / 16, 0.3, 1, 2.5)] == [
        "×1/16",
        "×0.3",
        "×1",
        "×2.5",
    ]


@pytest.mark.parametrize("unit", ["", "s", "B", "tx/s", "×", "%", "share", "gas"])
def test_missing_value_is_a_dash(unit: str) -> None:
    assert {Unit(unit).text(math.nan), Unit(unit).text(math.inf, exact=True)} == {MISSING}


@pytest.mark.parametrize(
    ("name", "unit", "title"),
    [
        ("latency_seconds", "s", "latency"),
        ("latency_seconds_half_width", "s", "latency half width"),
        ("received_bits_per_second", "bit/s", "received"),
        ("decode_bytes_per_second", "B/s", "decode"),
        ("growth_bytes_per_year", "B", "growth per year"),
        ("throughput_per_second", "tx/s", "throughput"),
        ("transactions_per_block", "", "transactions per block"),
        ("ratio", "×", "ratio"),
        ("seconds", "s", "time"),
        ("generate_keypair", "", "generate key pair"),
    ],
)
def test_name_determines_unit_and_title(name: str, unit: str, title: str) -> None:
    assert (Unit.of(name), figures.title(name)) == (unit, title)


def test_interval_is_shown_where_its_ends_differ() -> None:
    point = Figure.point(73.1, "tx/s", Kind.MODELLED, "")
    assert point.text() == f"73.1{NARROW_SPACE}tx/s"
    assert point.within(73.1, 73.08, 73.12).text() == point.text()
    text = point.within(73.1, 71.0, 75.2).text().replace(NARROW_SPACE, " ")
    assert text == "73.1 tx/s (71.0 to 75.2 tx/s)"
    mixed = Figure(1.2, 0.9e-3, 1.5, Unit("s"), Kind.MEASURED, "")
    assert mixed.text().replace(NARROW_SPACE, " ") == "1.20 s (900 µs to 1.50 s)"
