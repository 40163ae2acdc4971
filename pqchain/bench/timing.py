"""Helpers of the benchmarks: clock, statistics, lists of names, CPU affinity, progress bar."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from pqchain.errors import UsageError

T = TypeVar("T")


def timed(call: Callable[..., T], *arguments: Any) -> tuple[float, T]:
    """Return the duration of a call in seconds, and its result."""
    start = time.perf_counter_ns()
    result = call(*arguments)
    return (time.perf_counter_ns() - start) * 1e-9, result


def repeated(call: Callable[[], object], max_samples: int, limit_seconds: float) -> Iterator[float]:
    """Yield durations of repeated calls in seconds, until `max_samples` or the time limit."""
    spent = 0.0
    for _ in range(max_samples):
        seconds, _ = timed(call)
        yield seconds
        # Only the calls count, not what the caller does between them.
        spent += seconds
        if spent > limit_seconds:
            return


def median_and_mad(samples: Any) -> tuple[float, float]:
    """Return the median and the median absolute deviation (MAD), unscaled."""
    values = np.asarray(samples, dtype=float)
    median = float(np.median(values))
    return median, float(np.median(np.abs(values - median)))


def name_list(value: Iterable[str] | str | None, kind: str) -> list[str] | None:
    """Return `value` as a list of names, or None for None. Raises UsageError for an empty list."""
    if value is None:
        return None
    if not isinstance(value, Iterable):
        raise UsageError(f"{kind} must be a name or a list of names; got {value!r}")
    names = [value] if isinstance(value, str) else list(value)
    if not names:
        raise UsageError(f"at least one {kind} must be named; got none. Use None for all.")
    return names


def with_bar(items: Sequence[T], name: Callable[[T], str], *, unit: str, show: bool) -> Iterator[T]:
    """Yield the items; if `show` is set, show their names in a progress bar on stderr."""
    if not show:
        yield from items
        return
    from tqdm.auto import tqdm  # imported here: few calls show a bar

    bar = tqdm(items, unit=unit)
    for item in bar:
        bar.set_description(name(item))
        yield item


@contextmanager
def one_processor() -> Iterator[int | None]:
    """Pin the process to one processor, whose number is yielded; yield None if pinning fails."""
    try:
        allowed = os.sched_getaffinity(0)
        # Interrupts are usually served by the first processors.
        processor = max(allowed)
        os.sched_setaffinity(0, {processor})
    except (AttributeError, OSError):  # macOS has no sched_setaffinity; or it is not permitted
        yield None
        return
    try:
        yield processor
    finally:
        os.sched_setaffinity(0, allowed)
