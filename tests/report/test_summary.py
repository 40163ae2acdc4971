"""The summary's warning of a busy machine."""

from pqchain.report import summary as overview


def test_busy_machine_is_reported_above_a_load_bound():
    assert "load of 3.5" in overview.busy({"load_average": 3.5, "cpu_count": 4})
    assert overview.busy({"load_average": 0.5, "cpu_count": 4}) == ""
    assert "load of 1.2" in overview.busy({"load_average": 1.2, "cpu_count": 2})
    assert overview.busy({"load_average": 1.0, "cpu_count": 2}) == ""  # the run itself
    assert overview.busy({}) == ""
