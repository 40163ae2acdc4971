"""What a signature scheme would cost a chain: eight statements, a sentence and a citation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from pqchain import algorithms, figures, schemes
from pqchain.bench import gas_units
from pqchain.bench.presets import PresetName
from pqchain.checks import integer
from pqchain.errors import UsageError
from pqchain.figures import Figure, Unit
from pqchain.installation import VERSION
from pqchain.render import terminal
from pqchain.render.table import Column, Table
from pqchain.study import chain as limits
from pqchain.study import text, validation
from pqchain.study.figures import models
from pqchain.study.files import load
from pqchain.study.plans import ready_name
from pqchain.study.sampling import DRAWS, MOST_DRAWS, Findings, run, times
from pqchain.works import citation


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
    modes: dict[str, Findings]
    """Findings by key mode: first "inline", or "recovered" where the signature gives the key;
    then "registered", with the key in the account, if the chain keeps keys and this saves bytes."""
    drafts: tuple[DraftPrice, ...]

    @property
    def inline(self) -> Findings:
        """Findings with the scheme's key in each transaction, unless the signature gives it."""
        return next(iter(self.modes.values()))

    @property
    def warnings(self) -> list[str]:
        """Warnings: broken schemes, a busy machine, a model that differs from observations."""
        # The missing calibration is a statement of the answer, and not a warning in addition.
        return [line for line in text.warnings(self.inline) if line != validation.NOT_CALIBRATED]

    @property
    def is_calibrated(self) -> bool:
        """Whether an independent observation tests the model's throughput of the chain."""
        return validation.verdict(self.inline.calibration, "throughput") != "none"

    def share(self, mode: str) -> float:
        """Return the capacity with a key mode relative to today's; NaN without a baseline."""
        return self._figure(mode, "capacity_per_second").value / _capacity_today(self.today)

    def share_over_mix(self, mode: str) -> tuple[float, ...]:
        """Return the least and largest share over the observed mix of transactions; () if none."""
        new, today = self.modes[mode], self.today
        kept = validation.kept_over_mix(new.plan, today.plan, new.costs, new.calibration)
        return kept.get(self.algorithm, ())

    @property
    def statements(self) -> dict[str, str]:
        """The eight statements in words, by their subject."""
        plan = self.inline.plan
        target = f"{plan.chain.transactions_per_second:g} tx/s"
        page = f"pqchain study {self.chain} --set algorithms={self.algorithm} --page {self.chain}"
        fit = [
            text.fit(self.inline.calibration),
            validation.NOT_CALIBRATED * (not self.is_calibrated),
        ]
        return {
            "transaction": self._transaction(),
            "capacity": self._capacity(),
            "limit": self._limit(),
            "latency": f"At {target}: {self._by_mode('latency_seconds')}.",
            "storage": f"In a year {self._by_mode('growth_bytes_per_year')}.",
            "gas": self._gas(),
            "model": " ".join(filter(None, [*fit, text.status(plan)])),
            "read next": f"`{page}.html`: all figures, sources. docs/chains.md: limitations.",
        }

    @property
    def sentence(self) -> str:
        """Sentences for a paper, with the numbers, their limits, their plan and their times."""
        plan = self.inline.plan
        subject = f"{text.chain_name(plan)} with {self.algorithm} signatures"
        kept = f" of the capacity that it has with {plan.chain.baseline}"
        sentences = []
        # A sentence for each mode: no figure of one beside the limit of another.
        for mode in self.modes:
            value = text.brief(self._figure(mode, "capacity_per_second"))
            limit = f"limited by the {self._limit_in(mode)}"
            result = f"carry {value} ({limit})"
            if plan.chain.baseline:
                value = f"{self._over_mix(mode)}{value}"
                result = f"keep {text.percent(self.share(mode))}{kept} ({value}, {limit})"
            sentences.append(f"{_capital(text.KEY_MODES[mode])}, {subject} would {result}.")
            subject, kept = "it", ""
        origin = f"Computed by pqchain {VERSION}, plan {self.chain} of {plan.chain.checked}"
        origin += "" if self.is_calibrated else ", uncalibrated"
        origin += f", times {self.inline.costs.source.replace(':', ' on ', 1)}."
        return " ".join([*sentences, origin])

    @property
    def bibtex(self) -> str:
        """The reference of this software in BibTeX."""
        return citation.bibtex(citation.SOFTWARE)

    @property
    def title(self) -> str:
        """The question in text."""
        return f"{self.algorithm} on {text.chain_name(self.inline.plan)}"

    def table(self) -> Table:
        """Return the eight statements as a table with the columns subject and answer."""
        columns = [Column("subject"), Column("answer")]
        rows = [list(row) for row in self.statements.items()]
        return Table(columns=columns, rows=rows, caption=self.title)

    def text(self, width: int = 80) -> str:
        """Return the answer for a terminal: warnings, eight statements, and a sentence to cite."""
        lines = [self.title, *(f"! {line}" for line in self.warnings), ""]
        lines += [f"{name:<13}{statement}" for name, statement in self.statements.items()]
        known = self.inline.times
        lines += ["", *([f"Times: {known.origin}."] if known.date else []), self.sentence]
        return terminal.wrapped("\n".join(lines), width)

    def data(self) -> dict[str, Any]:
        """Return the answer as JSON types."""
        return {
            "chain": self.chain,
            "algorithm": self.algorithm,
            "title": self.title,
            "status": text.status(self.inline.plan),
            "costs": self.inline.costs.source,
            "times": self.inline.times.origin,
            "warnings": self.warnings,
            "statements": self.statements,
            "capacity_share": {mode: self.share(mode) for mode in self.modes},
            "capacity_share_over_mix": {mode: self.share_over_mix(mode) for mode in self.modes},
            "calibrated": self.is_calibrated,
            "drafts": [draft._asdict() for draft in self.drafts],
            "sentence": self.sentence,
            "bibtex": self.bibtex,
            "calibration": _records(self.inline.calibration),
            "figures": [
                {"key_mode": mode, **row}
                for mode, findings in self.modes.items()
                for row in _records(findings.frame)
                if row["algorithm"] in (self.algorithm, findings.plan.chain.baseline)
            ],
        }

    def _figure(self, mode: str, name: str) -> Figure:
        return self.modes[mode].figures[self.algorithm][name]

    def _limit_in(self, mode: str) -> str:
        return text.limit_name(self.modes[mode].limits[self.algorithm])

    def _by_mode(self, name: str, show: Callable[[str], str] | None = None) -> str:
        """Return a figure in each key mode, as `show` writes it, and that of today."""
        show = show or (lambda mode: self._brief_or_reason(mode, name))
        parts = ", ".join(f"{show(mode)} {text.KEY_MODES[mode]}" for mode in self.modes)
        baseline = self.today.plan.chain.baseline
        if not baseline:
            return parts
        today = self.today.figures[baseline][name]
        # NaN differs from itself.
        return f"{parts}; today {text.brief(today) if today.value == today.value else 'none'}"

    def _brief_or_reason(self, mode: str, name: str) -> str:
        figure = self._figure(mode, name)
        if figure.value == figure.value:
            return text.brief(figure)
        capacity = self._figure(mode, "capacity_per_second").value
        # More digits than elsewhere: a load of 27.46 exceeds 27.455, which is "27.5" in three.
        above = f"the capacity is {capacity:.5g} tx/s"
        return f"none ({above if capacity else 'no transaction fits'})"

    def _transaction(self) -> str:
        size = f"{self._by_mode('transaction_bytes')}."
        ratio = self.inline.figures[self.algorithm]["verification_ratio"].value
        # No ratio without a baseline, or where no transaction fits.
        if ratio != ratio:
            return size
        return f"{size} {_capital(text.verification(self.inline, self.algorithm))}."

    def _capacity(self) -> str:
        def kept(mode: str) -> str:
            figure = self._figure(mode, "capacity_per_second")
            if not figure.value:
                return "no transaction fits"
            share = f"; {self._over_mix(mode)}".removesuffix("; ")
            share = f" ({text.percent(self.share(mode))} of today's{share})"
            return text.brief(figure) + share * bool(self.today.plan.chain.baseline)

        registers = self.today.plan.chain.moves_register
        alone = "" if registers else " The chain keeps no keys in accounts."
        return f"{self._by_mode('capacity_per_second', kept)}.{alone}"

    def _over_mix(self, mode: str) -> str:
        """Return the range of the share of today's capacity as text; "" without observed mix."""
        ends = text.span(self.share_over_mix(mode))
        about = " over the observed mix" * (mode == next(iter(self.modes)))
        return f"{ends}{about}; " if ends else ""

    def _limit(self) -> str:
        baseline = self.today.plan.chain.baseline
        today = text.limit_name(self.today.limits[baseline]) if baseline else ""
        names = {mode: self._limit_in(mode) for mode in self.modes}
        first, *others = dict.fromkeys(names.values())
        if not others:
            end = ", as today" if today == first else f"; today the {today}" if today else ""
            return f"The {first}{end}."
        parts = [f"the {name} {text.KEY_MODES[mode]}" for mode, name in names.items()]
        return _capital(f"{', '.join(parts)}{f'; today the {today}' if today else ''}.")

    def _gas(self) -> str:
        if not self.inline.plan.limits.block_gas:
            return "The plan of this chain has no gas or compute units."
        used = self._figure(next(iter(self.modes)), "transaction_gas").value
        row = models(self.inline.plan, self.inline.costs)[self.algorithm]
        price = ", verification priced by measured time"
        if row.use.is_floor:
            price = " (the calldata floor binds: verification_gas changes nothing)"
        parts = [f"{_gas_text(used)} a transaction{price}"]
        for draft in self.drafts:
            is_same = row.use.is_floor and draft.is_floor
            price = "the same" if is_same else _gas_text(draft.transaction_gas)
            price += f" at the {_gas_text(draft.gas)} of {draft.source}"
            if draft.capacity_share >= 0 and not is_same:
                price += f" (keeps {text.percent(draft.capacity_share)})"
            parts.append(price)
        return f"{'; '.join(parts)}."


def _capacity_today(today: Findings) -> float:
    """Return the capacity with the baseline; NaN without one."""
    figures_today = today.figures.get(today.plan.chain.baseline)
    return figures_today["capacity_per_second"].value if figures_today else float("nan")


def _capital(line: str) -> str:
    return f"{line[0].upper()}{line[1:]}"


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    # JSON has no NaN.
    plain = frame.astype(object).where(frame.notna(), None)
    return [{str(key): value for key, value in row.items()} for row in plain.to_dict("records")]


def _gas_text(value: float) -> str:
    return Unit("gas").text(value) if value >= 1e8 else f"{figures.integer(value)} gas"


def whatif(
    chain: str,
    algorithm: str,
    *,
    measurements: pd.DataFrame | None = None,
    draws: int = DRAWS,
    preset: PresetName | None = None,
    fresh: bool = False,
    progress: bool = False,
) -> Answer:
    """Return what a signature scheme would cost a chain.

    `chain` is a ready study or the path of a TOML file; `algorithm` is a scheme of the registry,
    or one that `pqchain.register` added. Measures the scheme and the chain's present one unless
    `measurements` has their times or, unless `fresh`, they are kept; see `study.times`. Raises
    UnknownName, which lists all chains, and UsageError.
    """
    name = chain_of(chain)
    plan = load(name)
    wanted = algorithms.get(algorithm).name
    if plan.costs != "measured" and measurements is None:
        raise UsageError(
            f"the chain must have measured times for {wanted}; got {name}, whose times are "
            f"printed ones ({plan.costs}). Run `pqchain study {name}`."
        )
    integer("draws", draws, least=1, most=MOST_DRAWS)
    given = schemes.costs_of(wanted)
    own = () if given is None else (given,)
    plan = plan.with_(algorithms=(wanted,), own_schemes=plan.own_schemes + own)
    known = times(plan, measurements, preset=preset, fresh=fresh, progress=progress)

    def findings(mode: str) -> Findings:
        return run(plan.with_(key_mode=mode), known, draws=draws)

    today = findings(plan.chain.key_mode)
    is_registered = plan.chain.key_mode == "registered"
    inline = findings("inline") if is_registered else today
    modes = {limits.key_mode(inline.plan, wanted): inline}
    # A key in the account saves nothing if the signature gives the key, and outputs of Bitcoin
    # have hashes of keys, so that no account keeps one.
    if "inline" in modes and (is_registered or plan.chain.moves_register):
        modes["registered"] = today if is_registered else findings("registered")
    return Answer(name, wanted, today, modes, _drafts(inline, today, wanted))


def chain_of(name: str) -> str:
    """Return the name of a ready study, or the path of a TOML file. Raises UnknownName."""
    return str(name) if str(name).endswith(".toml") else ready_name(name, "chain")


def _drafts(findings: Findings, today: Findings, algorithm: str) -> tuple[DraftPrice, ...]:
    """Return the prices that drafts state for a scheme in the unit of the chain."""
    plan = findings.plan
    drafts = []
    for row in gas_units.statements():
        stated = (row["unit"], row["algorithm"])
        if not plan.limits.block_gas or stated != (plan.limits.gas_unit, algorithm):
            continue
        priced = models(plan.with_(gas_prices={algorithm: row["gas"]}), findings.costs)[algorithm]
        share = priced["capacity_per_second"] / _capacity_today(today)
        gas = priced["transaction_gas"]
        drafts.append(DraftPrice(float(row["gas"]), row["source"], gas, share, priced.use.is_floor))
    return tuple(drafts)
