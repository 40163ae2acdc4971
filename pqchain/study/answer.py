"""What a signature scheme would cost a chain: eight statements, a sentence and a citation."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from pqchain import algorithms, figures, schemes
from pqchain.bench.gas_units import STATEMENTS
from pqchain.bench.presets import PresetName
from pqchain.checks import integer
from pqchain.costs import CostTable
from pqchain.errors import UnknownName, UsageError
from pqchain.figures import Figure, Unit
from pqchain.installation import VERSION
from pqchain.render.table import Column, Table
from pqchain.study import chain, text, validation, wording
from pqchain.study.figures import models
from pqchain.study.inputs import Plan
from pqchain.study.plans import OTHER_NAMES, READY
from pqchain.study.reading import load
from pqchain.study.sampling import DRAWS, Findings, sample, times_of
from pqchain.works import citation

UNCALIBRATED = "uncalibrated: no independent observation of this chain is cited"
"""Fit of a plan that no observation tests."""


class DraftPrice(NamedTuple):
    """The price of a verification that a draft states, and its effect on the chain."""

    gas: float
    source: str
    transaction_gas: float
    capacity_share: float
    """Capacity relative to today's; NaN without a baseline."""
    is_floor: bool
    """Whether the gas is the floor price of the calldata, whatever the verification costs."""


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a scheme would cost a chain, with the key in each transaction and in the account."""

    chain: str
    algorithm: str
    today: Findings
    """The chain as it is, with its baseline's keys where they are today, and with the scheme."""
    inline: Findings
    """With the scheme's key in each transaction, unless the signature gives it."""
    registered: Findings | None
    """With the scheme's key in the account; None where the chain keeps no keys."""
    drafts: tuple[DraftPrice, ...]

    @property
    def warnings(self) -> list[str]:
        """Warnings: broken schemes, a busy machine, a model that differs from observations."""
        # The missing calibration is a statement of the answer, and not a warning in addition.
        return [line for line in text.warnings(self.inline) if line != validation.NOT_CALIBRATED]

    @property
    def is_calibrated(self) -> bool:
        """Whether an independent observation of the chain was compared with the model."""
        return bool(len(validation.tests(self.inline.calibration)))

    @property
    def modes(self) -> dict[str, Findings]:
        """Findings by key mode: "inline", "recovered" or "registered"."""
        first = chain.key_mode(self.inline.plan, self.algorithm)
        by_mode = {first: self.inline}
        # A key in the account saves nothing if the signature gives the key.
        if self.registered is not None and first == "inline":
            by_mode["registered"] = self.registered
        return by_mode

    def share(self, mode: str) -> float:
        """Return the capacity with a key mode relative to today's; NaN without a baseline."""
        baseline = self.today.plan.baseline
        if not baseline:
            return float("nan")
        today = self.today.figures[baseline]["capacity_per_second"].value
        return self._figure(mode, "capacity_per_second").value / today

    @property
    def statements(self) -> dict[str, str]:
        """The eight statements in words, by their subject."""
        return {
            "transaction": self._transaction(),
            "capacity": self._capacity(),
            "limit": self._limit(),
            "latency": self._latency(),
            "storage": self._storage(),
            "gas": self._gas(),
            "model": self._model(),
            "read next": self._reading(),
        }

    @property
    def sentence(self) -> str:
        """Sentences for a paper, with the numbers, their limits, their plan and their times."""
        plan = self.inline.plan
        subject = f"{wording.chain_name(plan)} with {self.algorithm} signatures"
        kept = f" of the capacity that it has with {plan.baseline}"
        sentences = []
        # A sentence for each mode: no figure of one beside the limit of another.
        for mode in self.modes:
            value = self._brief(mode, "capacity_per_second")
            limit = f"limited by the {self._limit_in(mode)}"
            text = f"carry {value} ({limit})"
            if plan.baseline:
                text = f"keep {wording.percent(self.share(mode))}{kept} ({value}, {limit})"
            key = wording.key_mode(mode)
            sentences.append(f"{key[0].upper()}{key[1:]}, {subject} would {text}.")
            subject, kept = "it", ""
        origin = f"Computed by pqchain {VERSION}, plan {self.chain} of {plan.checked}"
        origin += "" if self.is_calibrated else ", uncalibrated"
        origin += f", times {self.inline.costs.source.replace(':', ' on ', 1)}."
        return " ".join([*sentences, origin])

    @property
    def bibtex(self) -> str:
        """The reference of this software in BibTeX."""
        return citation.bibtex(citation.SOFTWARE)

    def table(self) -> Table:
        """Return the eight statements as a table with the columns subject and answer."""
        return Table(
            columns=[Column("subject"), Column("answer")],
            rows=[list(row) for row in self.statements.items()],
            caption=self.title,
        )

    @property
    def title(self) -> str:
        """The question in words."""
        return f"{self.algorithm} on {wording.chain_name(self.inline.plan)}"

    def text(self, width: int = 80) -> str:
        """Return the answer for a terminal: warnings, eight statements, and a sentence to cite."""
        indent = 13
        blocks = [self.title, *(f"! {line}" for line in self.warnings), ""]
        lines = [line for block in blocks for line in _wrapped(block, width, 2) or [""]]
        for subject, statement in self.statements.items():
            lines += _wrapped(f"{subject:<{indent}}{statement}", width, indent)
        return "\n".join([*lines, "", *_wrapped(self.sentence, width, 0)])

    def data(self) -> dict[str, Any]:
        """Return the answer as JSON types."""
        figures = [
            {"key_mode": mode, **row}
            for mode, findings in self.modes.items()
            for row in _records(findings.frame)
            if row["algorithm"] in (self.algorithm, findings.plan.baseline)
        ]
        return {
            "chain": self.chain,
            "algorithm": self.algorithm,
            "title": self.title,
            "status": text.status(self.inline.plan),
            "costs": self.inline.costs.source,
            "warnings": self.warnings,
            "statements": self.statements,
            "capacity_share": {mode: self.share(mode) for mode in self.modes},
            "calibrated": self.is_calibrated,
            "drafts": [draft._asdict() for draft in self.drafts],
            "sentence": self.sentence,
            "bibtex": self.bibtex,
            "calibration": _records(self.inline.calibration),
            "figures": figures,
        }

    def _figure(self, mode: str, name: str) -> Figure:
        return self.modes[mode].figures[self.algorithm][name]

    def _brief(self, mode: str, name: str) -> str:
        return wording.brief(self._figure(mode, name))

    def _limit_in(self, mode: str) -> str:
        return wording.limit(self.modes[mode].limits[self.algorithm])

    def _today(self, name: str) -> str:
        """Return the figure of the chain as it is, as the end of a statement."""
        baseline = self.today.plan.baseline
        if not baseline:
            return ""
        figure = self.today.figures[baseline][name]
        return f"; today {wording.brief(figure) if figure.value == figure.value else 'none'}"

    def _by_mode(self, name: str) -> str:
        """Return a figure in each key mode, or why it does not exist."""
        values = {mode: self._figure(mode, name).value for mode in self.modes}
        # NaN differs from itself.
        return ", ".join(
            f"{self._brief(mode, name) if value == value else self._missing(mode)} "
            f"{wording.key_mode(mode)}"
            for mode, value in values.items()
        )

    def _missing(self, mode: str) -> str:
        capacity = self._figure(mode, "capacity_per_second").value
        # More digits than elsewhere: a load of 27.46 exceeds 27.455, which is "27.5" in three.
        above = f"the load is not below the capacity of {capacity:.5g} tx/s"
        return f"none ({above if capacity else 'no transaction fits'})"

    def _transaction(self) -> str:
        size = f"{self._by_mode('transaction_bytes')}{self._today('transaction_bytes')}."
        verification = self.inline.figures[self.algorithm]["verification_ratio"]
        # No ratio without a baseline, or where no transaction fits.
        if verification.value != verification.value:
            return size
        # An interval around 1 shows no difference.
        if verification.low < 1 < verification.high:
            return f"{size} No difference in verification time ({verification.text()})."
        return f"{size} A verification takes {verification.text()} the time of today's."

    def _capacity(self) -> str:
        parts = []
        for mode in self.modes:
            value = self._brief(mode, "capacity_per_second")
            if not self._figure(mode, "capacity_per_second").value:
                value = "no transaction fits"
            elif self.today.plan.baseline:
                value += f" ({wording.percent(self.share(mode))} of today's)"
            parts.append(f"{value} {wording.key_mode(mode)}")
        alone = "" if self.today.plan.moves_register else " The chain keeps no keys in accounts."
        return f"{', '.join(parts)}{self._today('capacity_per_second')}.{alone}"

    def _limit(self) -> str:
        baseline = self.today.plan.baseline
        today = wording.limit(self.today.limits[baseline]) if baseline else ""
        names = {mode: self._limit_in(mode) for mode in self.modes}
        if len({*names.values(), today or next(iter(names.values()))}) == 1:
            return f"The {next(iter(names.values()))}{', as today' if today else ''}."
        if len(set(names.values())) == 1:
            return f"The {next(iter(names.values()))}; today the {today}."
        parts = [f"the {name} {wording.key_mode(mode)}" for mode, name in names.items()]
        listed = f"{', '.join(parts)}{f'; today the {today}' if today else ''}."
        return f"{listed[0].upper()}{listed[1:]}"

    def _latency(self) -> str:
        load = f"{self.inline.plan.transactions_per_second:g} tx/s"
        return f"At {load}: {self._by_mode('latency_seconds')}{self._today('latency_seconds')}."

    def _storage(self) -> str:
        by_mode = self._by_mode("growth_bytes_per_year")
        return f"In a year {by_mode}{self._today('growth_bytes_per_year')}."

    def _gas(self) -> str:
        if not self.inline.plan.block_gas:
            return "The plan of this chain has no gas or compute units."
        used = self._figure(next(iter(self.modes)), "transaction_gas").value
        row = models(self.inline.plan, self.inline.costs)[self.algorithm]
        parts = [f"{_gas_text(used, row.use.is_floor)} a transaction, verification priced by"]
        parts[0] += " measured time"
        parts += [
            f"{_gas_text(draft.transaction_gas, draft.is_floor)} at the {_gas_text(draft.gas)} of "
            + draft.source
            + (f" (keeps {wording.percent(share)})" if (share := draft.capacity_share) >= 0 else "")
            for draft in self.drafts
        ]
        return f"{'; '.join(parts)}."

    def _model(self) -> str:
        fit = text.fit(self.inline.calibration) or f"{UNCALIBRATED}."
        return f"{fit} {text.status(self.inline.plan)}"

    def _reading(self) -> str:
        name = self.chain
        command = f"pqchain study {name} --set algorithms={self.algorithm} --page {name}.html"
        return f"`{command}`: all figures, sensitivity, sources. docs/chains.md: limitations."


def _wrapped(line: str, width: int, indent: int) -> list[str]:
    return textwrap.wrap(
        line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    # JSON has no NaN.
    plain = frame.astype(object).where(frame.notna(), None)
    return [{str(key): value for key, value in row.items()} for row in plain.to_dict("records")]


def _gas_text(value: float, is_floor: bool = False) -> str:
    text = Unit("gas").text(value) if value >= 1e8 else f"{figures.integer(value)} gas"
    return text + " (the calldata floor binds)" * is_floor


def whatif(
    chain: str,
    algorithm: str,
    *,
    measurements: pd.DataFrame | None = None,
    draws: int = DRAWS,
    preset: PresetName | None = None,
    progress: bool = False,
) -> Answer:
    """Return what a signature scheme would cost a chain.

    `chain` is a ready study or the path of a TOML file; `algorithm` is a scheme of the registry,
    or one that `pqchain.register` added. Measures the scheme and the chain's present one unless
    `measurements` has their times. Raises UnknownName, which lists all chains, and UsageError.
    """
    name = chain_of(chain)
    plan = load(name)
    wanted = algorithms.get(algorithm).name
    if plan.costs != "measured" and measurements is None:
        raise UsageError(
            f"the chain must have measured times for {wanted}; got {name}, whose times are "
            f"printed ones ({plan.costs}). Run `pqchain study {name}`."
        )
    integer("draws", draws, least=1, most=10_000)
    given = schemes.costs_of(wanted)
    own = () if given is None else (given,)
    plan = plan.with_(algorithms=(wanted,), migration={}, own_schemes=plan.own_schemes + own)
    times, warnings = times_of(plan, measurements, preset=preset, progress=progress)

    def findings(of: Plan) -> Findings:
        return sample(of, times, draws=draws, warnings=warnings)

    today = findings(plan)
    inline = today if plan.key_mode != "registered" else findings(plan.with_(key_mode="inline"))
    registered = None
    if plan.key_mode == "registered":
        registered = today
    # Outputs of Bitcoin have hashes of keys, so that no account keeps one.
    elif plan.moves_register:
        registered = findings(plan.with_(key_mode="registered"))
    return Answer(name, wanted, today, inline, registered, _drafts(inline, today, wanted))


def chain_of(name: str) -> str:
    """Return the name of a ready study, or the path of a TOML file. Raises UnknownName."""
    if str(name).endswith(".toml"):
        return str(name)
    folded = str(name).casefold()
    known = OTHER_NAMES.get(folded, folded)
    if known not in READY:
        raise UnknownName("chain", name, READY, f"the chains {', '.join(READY)}.")
    return known


def _drafts(findings: Findings, today: Findings, algorithm: str) -> tuple[DraftPrice, ...]:
    plan, costs = findings.plan, findings.costs
    return tuple(
        _draft(plan, costs, today, row)
        for row in STATEMENTS
        if plan.block_gas and row["unit"] == plan.gas_unit and row["algorithm"] == algorithm
    )


def _draft(plan: Plan, costs: CostTable, today: Findings, row: Mapping[str, Any]) -> DraftPrice:
    priced = models(plan.with_(gas_prices={row["algorithm"]: row["gas"]}), costs)[row["algorithm"]]
    share = float("nan")
    if plan.baseline:
        before = today.figures[plan.baseline]["capacity_per_second"].value
        share = priced["capacity_per_second"] / before
    gas = priced["transaction_gas"]
    return DraftPrice(float(row["gas"]), row["source"], gas, share, priced.use.is_floor)
