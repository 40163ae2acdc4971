"""The summary: its warning of a busy machine, and its counts."""

from types import SimpleNamespace

import pandas as pd

from pqchain.figures import Kind
from pqchain.report import summary as overview


def test_busy_machine_is_reported_above_a_load_bound():
    assert "load of 3.5" in overview.busy({"load_average": 3.5, "cpu_count": 4})
    assert overview.busy({"load_average": 0.5, "cpu_count": 4}) == ""
    assert "load of 1.2" in overview.busy({"load_average": 1.2, "cpu_count": 2})
    assert overview.busy({"load_average": 1.0, "cpu_count": 2}) == ""  # the run itself
    assert overview.busy({}) == ""


def test_settings_taken_from_the_paper_are_not_counted_as_results():
    kinds = [Kind.RUN, Kind.REGISTRY, Kind.TAKEN, Kind.TAKEN, Kind.TAKEN, "none"]
    run = SimpleNamespace(works=[], sizes=(), printed=pd.DataFrame({"kind": kinds}))
    (text,) = overview._counted(run)
    assert "2 are compared" in text and "3 are settings" in text and "1 have no" in text
