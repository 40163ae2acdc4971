"""Model of the migration of accounts to new keys, and of the growth of the chain, by day.

A share of each block is reserved for moves, transactions that replace the key of an account.
Requests to move follow a logistic adoption curve, and wait while blocks are full. The phases of
BIP-361 speed up the requests, and end the migration. Transactions of moved accounts have the
length of the new scheme, and transactions that do not fit in the rest of a block are refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from pqchain.errors import UsageError
from pqchain.results import Contract

DAY_SECONDS = 86_400.0

MIGRATION = Contract.of(
    "study-migration",
    ("float64", "day moved_share waiting_share carried_per_second wanted_per_second"),
    ("float64", "growth_bytes_per_day"),
    ("str", "phase"),
)

PRESSED_DAYS = 365.25
"""Days from phase A until all have requested a move: an assumption, not part of BIP-361."""

STEEPNESS = 8.0
"""Steepness of the logistic curve: 4 times its slope at half time, per adoption_days."""

NEARLY_ALL = 0.9995
"""Share of the accounts at which a migration ends; a logistic curve has no end."""

MOST_DAYS = 36_525
"""A century, after which the series stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """Parameters of a migration: accounts, capacity for moves, and rate of requests."""

    accounts: float
    moves_per_block: float
    """Number of moves in a block that contains only moves."""
    blocks_per_day: float
    share: float = 1.0
    """Share of each block for moves."""
    adoption_days: float = 0.0
    """Days until half of the accounts have asked to move; 0: all at once."""
    phase_a_days: float = math.inf
    """Day after which payments to legacy keys are refused, so that users must move (BIP-361)."""
    phase_b_days: float = math.inf
    """Day after which legacy keys are disabled (BIP-361)."""
    old_bytes: float = 0.0
    new_bytes: float = 0.0
    """Bytes of a transaction before and after its sender moved."""
    move_bytes: float = 0.0
    transactions_per_second: float = 0.0
    """The load without moves."""
    old_per_day: float = 0.0
    new_per_day: float = 0.0
    """Transactions in a day of full blocks, before and after their senders moved."""

    def __post_init__(self) -> None:
        for name in ("accounts", "moves_per_block", "blocks_per_day"):
            if not (value := getattr(self, name)) > 0:
                raise UsageError(f"{name} must be above 0; got {value}")
        if not 0 < self.share <= 1:
            raise UsageError(f"share must be above 0 and at most 1; got {self.share}")
        if self.phase_b_days < self.phase_a_days:
            raise UsageError(
                f"phase_b_days must be at least phase_a_days, {self.phase_a_days:g}; got "
                f"{self.phase_b_days:g}"
            )

    @property
    def moves_per_day(self) -> float:
        """Number of accounts that can move in a day."""
        return self.share * self.moves_per_block * self.blocks_per_day

    @property
    def least_days(self) -> float:
        """Duration of the migration in days if all accounts request it at once.

        >>> bitcoin = Migration(accounts=186.7e6, moves_per_block=17_020, blocks_per_day=144)
        >>> round(bitcoin.least_days, 2)  # arXiv 2410.16965 prints 76.16
        76.18
        """
        return self.accounts / self.moves_per_day

    def asked_share(self, day: float) -> float:
        """Return the share of the accounts that have requested to move by this day."""
        if not self.adoption_days:
            return 1.0
        if day <= self.phase_a_days:
            return self._adopted(day)
        # Users who send or receive must move: the rest asks within PRESSED_DAYS.
        # The maximum, because some would have asked earlier without the pressure of phase A.
        left = max(0.0, 1.0 - (day - self.phase_a_days) / PRESSED_DAYS)
        return max(self._adopted(day), 1.0 - (1.0 - self._adopted(self.phase_a_days)) * left)

    def _adopted(self, day: float) -> float:
        # Shifted to start at 0: a logistic curve is never 0.
        start = _logistic(-STEEPNESS)
        return (_logistic(STEEPNESS * (day / self.adoption_days - 1.0)) - start) / (1 - start)


def _logistic(at: float) -> float:
    return 1.0 / (1.0 + math.exp(-at))


def series(migration: Migration, *, days: float | None = None) -> pd.DataFrame:
    """Return a migration by day until nearly all have moved, phase B starts, or `days` are over.

    Columns: day, moved_share, waiting_share (requested, but not moved yet),
    carried_per_second and wanted_per_second (transactions without moves), growth_bytes_per_day (of
    the chain), phase ("open"; "A": no payments to legacy keys; "B": legacy keys are disabled).
    """
    rows = []
    moved, day = 0.0, 0
    last = MOST_DAYS if days is None else days
    # Day by day and not in closed form: requests, room and phases interact.
    while day < last:
        day += 1
        is_pressed, is_over = day > migration.phase_a_days, day > migration.phase_b_days
        phase = "B" if is_over else "A" if is_pressed else "open"
        asked = migration.asked_share(day) * migration.accounts
        # A move is a transaction of the legacy key, which phase B disables.
        moving = 0.0 if phase == "B" else min(migration.moves_per_day, max(0.0, asked - moved))
        moved += moving
        rows.append([day, *_day(migration, moved, moving, asked), phase])
        if phase == "B" or moved >= migration.accounts * NEARLY_ALL:
            break
    return MIGRATION.frame(rows)


def _day(migration: Migration, moved: float, moving: float, asked: float) -> list[float]:
    """Return the columns of `series` for a day, from moved_share to growth_bytes_per_day."""
    share = moved / migration.accounts
    used = moving / (migration.moves_per_block * migration.blocks_per_day)
    # A transaction takes 1 / (transactions of a full block) of a block, old ones less than new.
    wanted = migration.transactions_per_second
    room = math.inf
    if migration.old_per_day and migration.new_per_day:
        block_share = (1 - share) / migration.old_per_day + share / migration.new_per_day
        room = (1 - used) / block_share / DAY_SECONDS
    carried = min(wanted, room)
    size = (1 - share) * migration.old_bytes + share * migration.new_bytes
    growth = carried * DAY_SECONDS * size + moving * migration.move_bytes
    return [share, max(0.0, asked - moved) / migration.accounts, carried, wanted, growth]
