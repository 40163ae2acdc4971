"""Replays of a re-encoding as tables."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pqchain.render import numbers
from pqchain.render.table import Column, Table


def contrast_table(compared: pd.DataFrame, **more: Any) -> Table:
    """Show single against multiplexed streams, a frame of `replay.contrast`."""
    return Table.of(
        compared.assign(
            interval=[
                f"{row['low_percent']:.2f} to {row['high_percent']:.2f} %"
                for row in compared.to_dict("records")
            ]
        ),
        [
            Column("mode"),
            Column("transport"),
            Column("pairs", numeric=True, key="repeats"),
            Column("single", numeric=True, show=numbers.seconds, key="single_seconds"),
            Column("multiplexed", numeric=True, show=numbers.seconds, key="multiplexed_seconds"),
            Column("saved", numeric=True, show="{:.2f} %".format, key="saving_percent"),
            Column("95 % interval", numeric=True, key="interval"),
        ],
        remark="verdict",
        **more,
    )
