"""Plan of a study: the tables of a study file, checked together.

Every wrong value is reported at once, because a user who edits a file wants all of them.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from typing import Annotated, Any, NamedTuple

from pqchain import checks, consensus, schemes
from pqchain.algorithms import Algorithm
from pqchain.bench import gas_units
from pqchain.checks import Declaration, Doc, declared
from pqchain.costs import Costs
from pqchain.errors import PqchainError, UnknownName, UsageError, short_repr
from pqchain.figures import Unit
from pqchain.study import provers
from pqchain.study.inputs import (
    PARAMETERS,
    ChainInputs,
    LimitInputs,
    NetworkInputs,
    Observation,
    StorageInputs,
    TransactionInputs,
    VoteInputs,
    law_defaults,
    wrong_combinations,
)
from pqchain.works import papers


class Problem(NamedTuple):
    """A problem with an input of a plan."""

    path: tuple[str, ...]
    """Table and key; the key alone at the top of a file."""
    message: str


class ImpossiblePlan(UsageError):
    """Error of a plan with invalid inputs; the message lists all problems."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(problem.message for problem in self.problems)


@declared
class Plan:
    """Inputs of a study in the tables of a study file; `Plan.of` makes one.

    Every input has a name of its own, so that `with_`, `value` and `source` need no table.
    """

    title: Annotated[str, Doc("heading of the page")] = "A study"
    costs: Annotated[str, Doc("measured, or the work that printed them")] = "measured"
    chain: ChainInputs
    transaction: TransactionInputs = TransactionInputs()
    limits: LimitInputs = LimitInputs()
    votes: VoteInputs = VoteInputs()
    network: NetworkInputs
    storage: StorageInputs = StorageInputs()
    sources: Mapping[str, str] = field(default_factory=dict)
    """Source of each input, by its name."""
    observed: tuple[Observation, ...] = ()
    own_schemes: tuple[Costs, ...] = ()
    """Schemes that are not in the registry: tables [[scheme]] of a file."""

    @classmethod
    def of(cls, tables: Mapping[str, Any]) -> Plan:
        """Return the plan of the tables of a study file.

        Schemes have the names of the registry, and the network has the defaults of its law. Raises
        ImpossiblePlan, which lists all problems.
        """
        # Also of a group, so that a plan can be made from the groups of another.
        rest = {name: value for name, value in tables.items() if name not in TABLES}
        named = {name: _keys(name, tables.get(name, {})) for name in TABLES}
        problems = [
            Problem((name,), f"{name} must be a table; got {short_repr(tables[name])}")
            for name, keys in named.items()
            if keys is None
        ]
        groups = {name: keys or {} for name, keys in named.items()}
        defined, wrong = _rows(rest.pop("scheme", ()), schemes.from_table, "scheme")
        if isinstance(own_schemes := rest.get("own_schemes", ()), tuple):
            defined = rest["own_schemes"] = (*own_schemes, *defined)
        rest["observed"], more = _rows(rest.get("observed", ()), _observation, "observed")
        problems += [*wrong, *more, *_resolve(groups, defined)]
        network = groups["network"]
        defaults = law_defaults(network.get("law"), network.get("world"))
        given = {name: value for name, value in network.items() if value is not None}
        groups["network"] = {**defaults, **given}
        # An input that the law ignores is an error: its author expects an effect.
        for name in PARAMETERS if network.get("law") in consensus.network.NAMES else ():
            if name in given and name not in defaults:
                kind = f"{network['law']} with world" if network.get("world") else network["law"]
                message = f"{name} is not an input of {kind}; leave it out"
                problems.append(Problem(("network", name), message))
        for name, keys in groups.items():
            problems += _wrong(TABLES[name], keys, name)
        problems += _wrong(cls, {**groups, **rest}, "")
        for name in rest.get("sources") or {}:
            if name not in INPUTS:
                message = f"sources must name inputs; {_unknown('sources', name)}"
                problems.append(Problem(("sources", name), message))
        if not problems:
            made = {name: TABLES[name](**keys) for name, keys in groups.items()}
            plan = cls(**rest, **made)
            problems = [_problem(*row) for row in wrong_combinations(plan)]
        if problems:
            raise ImpossiblePlan(problems)
        return plan

    @property
    def tables(self) -> dict[str, Any]:
        """The inputs as `of` takes them: a dictionary for each table."""
        groups = {name: _keys(name, getattr(self, name)) for name in TABLES}
        names = ("title", "costs", "sources", "observed", "own_schemes")
        return {name: getattr(self, name) for name in names} | groups

    def value(self, name: str) -> Any:
        """Return the value of an input."""
        table = INPUTS[name].table
        return getattr(getattr(self, table) if table else self, name)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all schemes whose costs are needed, the baseline first."""
        chain = self.chain
        first = (chain.baseline,) if chain.baseline else ()
        return tuple(dict.fromkeys((*first, *chain.algorithms)))

    @property
    def only_observed(self) -> list[str]:
        """Names of the schemes that are needed only to compare the model with observations."""
        names = dict.fromkeys(row.algorithm for row in self.observed if row.algorithm)
        return [name for name in names if name not in self.names]

    def algorithm(self, name: str) -> Algorithm:
        """Return a scheme of the registry or of `own_schemes`. Raises UnknownAlgorithm."""
        return schemes.get(name, self.own_schemes)

    @property
    def bundled(self) -> str:
        """The scheme whose signatures in a block become one proof; "" if none."""
        prover = provers.prover_of(self.transaction.transaction_aggregation)
        return prover.algorithm if prover else ""

    @property
    def post_quantum(self) -> tuple[str, ...]:
        """Names of the post-quantum schemes among the compared ones."""
        names = self.chain.algorithms
        return tuple(name for name in names if self.algorithm(name).family_facts.post_quantum)

    @property
    def unused(self) -> frozenset[str]:
        """Names of the inputs that have no effect for this kind of network."""
        is_serial = self.network.law == "paper-serial"
        idle = {"vote_phases", "verification_threads"} if is_serial else set()
        # With a link for each pair, only votes that each node signs take longer with more nodes.
        if self.network.law == "mesh" and self.votes.vote_aggregation != "plain":
            idle.add("nodes")
        return frozenset(idle | {name for name in PARAMETERS if self.value(name) is None})

    def with_(self, **changes: Any) -> Plan:
        """Return a copy with some inputs changed; a changed input loses its source.

        A new `law` or `world` resets other network inputs. Raises UnknownName, ImpossiblePlan.
        """
        tables, network = self.tables, self.network
        # A rate or latency of the old law means nothing under another one, and regions of the world
        # bring their own.
        reset: Collection[str] = ()
        if changes.get("law", network.law) != network.law:
            reset = PARAMETERS
        elif changes.get("world", network.world) != network.world:
            reset = ("rate_bits_per_second", "link_latency_seconds")
        for name, value in {**dict.fromkeys(reset), **changes}.items():
            check_name(name)
            table = INPUTS[name].table if name in INPUTS else ""
            (tables[table] if table else tables)[name] = value
        changed = Plan.of(tables)
        if "sources" in changes:
            return changed
        # A source applies to one value only.
        same = [name for name in self.sources if self.value(name) == changed.value(name)]
        return replace(changed, sources={name: self.sources[name] for name in same})

    def default(self, name: str) -> Any:
        """Return the default of an input; that of a network parameter depends on `law`."""
        if name in PARAMETERS:
            return getattr(consensus.named(self.network.law), PARAMETERS[name])
        return INPUTS[name].field.default

    def source(self, name: str) -> str:
        """Return the source of an input's value."""
        is_default = self.value(name) == self.default(name)
        return self.sources.get(name, "default" if is_default else "set for this study")


class Input(NamedTuple):
    """An input of a plan: the table that holds it, and its declaration."""

    table: str
    """"" for the top of the file."""
    field: Declaration

    @property
    def unit(self) -> str:
        """Unit of the input, which its name states, or that of the values of a table."""
        name = self.field.name
        return "gas" if name == "gas_prices" else str(Unit.of(name))

    @property
    def meaning(self) -> str:
        """Meaning of the input, with its unit."""
        return f"{self.field.help}{', in ' + self.unit if self.unit else ''}"

    @property
    def choices(self) -> tuple[Any, ...]:
        """Names that the input may have; () for numbers and free texts."""
        read = _CHOICES.get(self.field.name)
        return self.field.choices if read is None else tuple(read())


@cache
def cost_sources() -> tuple[str, ...]:
    """Return the possible sources of costs: "measured", and the works with published times."""
    return ("measured", *(f"paper:{key}" for key in papers.with_costs()))


# Choices that data files define; read when they are needed.
_CHOICES: dict[str, Callable[[], Collection[str]]] = {
    "costs": cost_sources,
    "transaction_aggregation": lambda: ("plain", *provers.names()),
    "vote_aggregation": lambda: ("plain", provers.BLS, *provers.names()),
    "gas_unit": lambda: ("", *gas_units.units()),
}

TABLES: Mapping[str, Any] = {
    name: row.type for name, row in checks.declarations(Plan).items() if not row.help
    and name not in ("sources", "observed", "own_schemes")
}  # fmt: skip
"""Tables of a study file, and the classes of their inputs."""

INPUTS: Mapping[str, Input] = {
    name: Input(table, row)
    for table, kind in {"": Plan, **TABLES}.items()
    for name, row in checks.declarations(kind).items()
    if row.help
}
"""Every input, in the order of `pqchain study --inputs`."""


def check_name(name: str) -> None:
    """Raise UnknownName unless `Plan.with_` accepts such an input."""
    known = (*INPUTS, "own_schemes", "sources", "observed")
    if name not in known:
        raise UnknownName("input of a study", name, known, "`pqchain study --inputs`.")


def _keys(table: str, value: Any) -> dict[str, Any] | None:
    """Return the inputs of a table by name; None if it is not a table."""
    if isinstance(value, TABLES[table]):
        return {name: getattr(value, name) for name in checks.declarations(TABLES[table])}
    return dict(value) if isinstance(value, Mapping) else None


def _problem(name: str, message: str) -> Problem:
    table = INPUTS[name].table if name in INPUTS else ""
    return Problem((table, name) if table else (name,), message)


def _rows(
    rows: Any, read: Callable[[Any], Any], name: str
) -> tuple[tuple[Any, ...], list[Problem]]:
    """Return the rows of a repeated table as `read` makes them, and the problems of others."""
    made, problems = [], []
    for row in rows if isinstance(rows, (list, tuple)) else [rows]:
        if not isinstance(row, (Mapping, Observation)):
            problems.append(Problem((name,), f"[[{name}]] must be a table; got {short_repr(row)}"))
            continue
        try:
            made.append(read(row))
        except PqchainError as error:
            problems.append(Problem((name,), f"[[{name}]]: {error}"))
    return tuple(made), problems


def _observation(row: Any) -> Observation:
    if isinstance(row, Observation):
        return row
    made = Observation(**row)
    for name in (*made.settings, *made.derived.split()):
        check_name(name)
    return replace(made, algorithm=made.algorithm and schemes.get(made.algorithm, ()).name)


def _resolve(groups: dict[str, dict[str, Any]], own_schemes: Sequence[Costs]) -> Iterator[Problem]:
    """Replace the names of schemes by those of the registry; yield the problems with others."""
    for table, name in (
        ("chain", "algorithms"), ("chain", "baseline"), ("chain", "implementations"),
        ("limits", "gas_prices"),
    ):  # fmt: skip
        value = groups[table].get(name)
        entries = value if isinstance(value, (list, tuple, Mapping)) else [value] if value else []
        official: dict[str, str] = {}
        for entry in filter(lambda entry: isinstance(entry, str), entries):
            try:
                scheme = schemes.get(entry, own_schemes)
            except PqchainError as error:
                yield Problem((table, name), f"{name}: {error}")
                continue
            official[entry] = scheme.name
            if scheme.kind != "signature":
                message = f"{name} must name signature schemes; got {short_repr(entry)}"
                yield Problem((table, name), message)
        if name == "algorithms" and isinstance(value, (list, tuple)) and not value:
            yield Problem((table, name), f"{name} must have at least one scheme; got none")
        if isinstance(value, Mapping):
            groups[table][name] = {official.get(key, key): row for key, row in value.items()}
        elif isinstance(value, (list, tuple)) and len(official) == len({*map(str, value)}):
            groups[table][name] = tuple(dict.fromkeys(official.values()))
        elif isinstance(value, str):
            groups[table][name] = official.get(value, value)


def _wrong(kind: Any, values: Mapping[str, Any], table: str) -> Iterator[Problem]:
    """Yield the problems with the values of a table; `kind` is its class."""
    known = checks.declarations(kind)
    place = (table,) if table else ()
    for name, error in checks.wrong_values(kind, values).items():
        if not table and name in TABLES:
            continue  # a dictionary until all tables are right
        if name not in known:
            yield Problem((*place, name), _unknown(table, name))
        else:
            about = f" ({INPUTS[name].meaning})" if name in INPUTS else ""
            yield Problem((*place, name), f"{str(error).removesuffix('.')}{about}")
    for name in [name for name in known if name in _CHOICES and name in values]:
        if values[name] not in (choices := INPUTS[name].choices):
            listed = ", ".join(filter(None, choices))
            message = f"{name} must be one of {listed}; got {short_repr(values[name])}"
            yield Problem((*place, name), message)


def _unknown(table: str, key: str) -> str:
    if not table:
        known = [f"[{name}]" for name in (*TABLES, "sources")]
        near = difflib.get_close_matches(f"[{key}]", known, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]}?" if near else f"expected {', '.join(known)}"
        return f"unknown table or input {key}; {hint}"
    if key in INPUTS:
        return f"{key} belongs in [{INPUTS[key].table}], not in [{table}]"
    # An author knows the table of an input better than its name.
    in_table = [name for name, row in INPUTS.items() if row.table == table]
    near = difflib.get_close_matches(key, in_table, n=2, cutoff=0.5)
    near = near or difflib.get_close_matches(key, INPUTS, n=2, cutoff=0.5)
    named = [f"{name} ({INPUTS[name].unit})" if INPUTS[name].unit else name for name in near]
    return f"unknown input {key!r}; " + (
        f"did you mean {' or '.join(named)}?" if near else "see `pqchain study --inputs`"
    )
