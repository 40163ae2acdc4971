"""The inputs of a study: a frozen plan, refused with all its problems at once.

Knows the inputs, their units and bounds; knows nothing of files, nor how a figure is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple

from pqchain import algorithms
from pqchain.consensus import Network, named
from pqchain.consensus import network as networks
from pqchain.errors import PqchainError, UnknownName, UsageError
from pqchain.works import papers

SIGNERS = ("software", "m4", "m4-engine", "m4-pipelined", "m4-whole")
"""Who signs: the machine of the costs; or, for Falcon, a Cortex-M4 alone, with an engine as the
accelerator paper schedules it, with a pipelined one, or with whole signatures given to that one."""

BASELINE = "ECDSA-secp256k1"

NETWORK_INPUTS = (
    ("law", "", "law of the network"),
    ("rate_bits_per_second", "bit/s", "rate of a link; regions have their own"),
    ("latency_seconds", "s", "time of a message on a link; regions have their own"),
    ("peers", "", "gossip: to how many a node passes a block on"),
    ("world", "", "gossip: whether nodes live in the regions of the world"),
)
"""Parameters of a network that a study file may set: name, unit, meaning."""

WIRES = tuple(name for name, _, _ in NETWORK_INPUTS)


class Problem(NamedTuple):
    """What is wrong with an input."""

    input: str
    message: str


class ImpossiblePlan(UsageError):
    """A plan has problems; the message lists all of them."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(problem.message for problem in self.problems)


@cache
def cost_sources() -> tuple[str, ...]:
    """Return where times of schemes may come from; a frame of measurements can be given instead."""
    return ("measured", *(f"paper:{key}" for key in papers.with_costs()))


def _input(
    section: str, unit: str, about: str, *, least: float = 0.0, most: float = 1e18, **default: Any
) -> Any:
    """Declare an input of a plan: where it stands in the file, its unit, its bounds."""
    known = {"section": section, "unit": unit, "about": about, "least": least, "most": most}
    return field(metadata=known, **default)


_chain, _network, _storage, _signer = (
    partial(_input, section) for section in ("chain", "network", "storage", "signer")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A chain and its load. Times are in seconds, sizes in bytes, rates per second."""

    title: str = _input("", "", "heading of the page", default="A study")
    schemes: tuple[str, ...] = _chain("", "signature schemes to compare")
    baseline: str = _chain("", "scheme that the chain moves from, or nothing", default=BASELINE)
    migration: Mapping[str, float] = _chain(
        "share", "schemes used side by side, with shares that add up to 1", default_factory=dict
    )
    transactions_per_second: float = _chain("tx/s", "target load", least=1e-9)
    block_bytes: int = _chain("B", "largest block", least=1, most=2**40)
    block_seconds: float = _chain(
        "s", "time from block to block; 0: as soon as the last one is final", most=1e7
    )
    data_bytes: int = _chain("B", "free data in each transaction", most=65_535, default=0)
    public_key: str = _chain(
        "", "inline: in each transaction; registered: in the first", default="inline"
    )
    accounts: int = _chain("", "accounts that must move to a new key", default=0)
    nodes: int = _network("", "nodes", least=1, most=2**22)
    delegates: int = _network("", "nodes that vote; 0: all of them", most=2**22, default=0)
    network: Network = _network("", "law of the network and its parameters")  # noqa: RUF009
    vote_phases: int = _network("", "rounds of votes after a block: 0, 1 or 2", most=2, default=0)
    verification_threads: int = _network(
        "", "threads of a node that verify", least=1, most=4096, default=1
    )
    data_chunks: int = _storage("", "k of the erasure code", least=1, most=254, default=7)
    parity_chunks: int = _storage("", "m of the erasure code", least=1, most=254, default=3)
    retained_days: float = _storage(
        "d", "how long blocks are kept", least=1e-6, most=1e6, default=365.25
    )
    repair_bits_per_second: float = _storage(
        "bit/s", "rate at which a node gathers chunks", least=1.0, default=100e6
    )
    decode_bytes_per_second: float = _storage(
        "B/s", "rate at which a node decodes", least=1.0, default=589e6
    )
    signer: str = _signer(
        "", "software, or for Falcon a modelled Cortex-M4 with or without an engine",
        default="software",
    )  # fmt: skip
    signing_factor: float = _signer(
        "", "how many times faster an accelerator signs", least=1e-6, most=1e6, default=1.0
    )
    costs: str = _input("costs", "", "measured, or the work that printed them", default="measured")
    sources: Mapping[str, str] = _input("", "", "where each input comes from", default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a plan with problems, naming all of them; write schemes canonically."""
        if isinstance(self.schemes, list):
            object.__setattr__(self, "schemes", tuple(self.schemes))
        problems = list(wrong_values(self)) or _wrong_together(self)
        if problems:
            raise ImpossiblePlan(problems)
        shares = {_canonical(name): share for name, share in self.migration.items()}
        canonical = {
            "schemes": tuple(dict.fromkeys(map(_canonical, self.schemes))),
            "baseline": self.baseline and _canonical(self.baseline),
            "migration": MappingProxyType(shares),
            "sources": MappingProxyType(dict(self.sources)),
        }
        for name, value in canonical.items():
            object.__setattr__(self, name, value)

    @property
    def names(self) -> tuple[str, ...]:
        """Every scheme whose costs are needed, the baseline first."""
        first = (self.baseline,) if self.baseline else ()
        return tuple(dict.fromkeys((*first, *self.schemes, *self.migration)))

    def with_(self, **changes: Any) -> Plan:
        """Return a copy with other inputs, those of the network among them.

        What is changed loses the source that it had. Raises UnknownName for an unknown input, and
        UsageError with every other problem.
        """
        for name in changes:
            check_name(name)
        settings = {name: changes.pop(name) for name in WIRES if name in changes}
        network = changes.get("network", self.network)
        problems = list(wrong_network(network, settings)) if settings else []
        if settings and not problems:
            changes["network"] = rewired(network, settings)
        try:
            changed = replace(self, **changes)
        except ImpossiblePlan as error:
            problems += error.problems
        if problems:
            raise ImpossiblePlan(problems)
        if "sources" in changes:
            return changed
        same = [name for name in self.sources if _value(self, name) == _value(changed, name)]
        return replace(changed, sources={name: self.sources[name] for name in same})

    def source(self, name: str) -> str:
        """Return where an input comes from."""
        unset = "default" if _value(self, name) == _default(self, name) else "set for this study"
        return self.sources.get(name, unset)


def _canonical(name: str) -> str:
    return algorithms.get(name).name


def inputs(plan: Plan) -> list[tuple[str, Any, str, str, str]]:
    """Return name, value, unit, meaning and source of every input that is a number or a name.

    What has no effect on the network of the plan is left out.
    """
    rows: list[tuple[str, Any, str, str, str]] = []
    idle = without_effect(plan.network)
    for each in fields(plan):
        value = getattr(plan, each.name)
        if each.name in ("title", "sources"):
            continue
        if isinstance(value, Network):
            rows += [
                (name, getattr(value, name), unit, meaning, plan.source(name))
                for name, unit, meaning in NETWORK_INPUTS
                if name not in idle
            ]
            continue
        if each.name in idle and plan.source(each.name) == "default":
            continue
        if isinstance(value, Mapping):
            value = ", ".join(f"{name} {share:g}" for name, share in value.items()) or "none"
        elif isinstance(value, tuple):
            value = ", ".join(value)
        value = "none" if value == "" else value
        unit, about = each.metadata["unit"], each.metadata["about"]
        rows.append((each.name, value, unit, about, plan.source(each.name)))
    return rows


def described() -> list[tuple[str, str, str, str, str]]:
    """Return table, name, unit, meaning and default of every input that a study file may have."""
    rows = []
    for each in fields(Plan):
        section, unit, about = (each.metadata[name] for name in ("section", "unit", "about"))
        if each.name == "network":
            (law, _, meaning), *others = NETWORK_INPUTS
            rows.append((section, law, "", f"{meaning}: {', '.join(networks.NAMES)}", "needed"))
            rows += [(section, *parameter, "the law's") for parameter in others]
        elif each.name == "sources":
            rows.append(("sources", "INPUT", "", about, "none"))
        elif each.name == "migration":
            rows.append(("chain.migration", "SCHEME", unit, about, "none"))
        else:
            default = "needed" if each.default is MISSING else str(each.default)
            rows.append((section, each.name, unit, about, default))
    return rows


def check_name(name: str) -> None:
    """Raise UnknownName unless there is such an input."""
    known = {each.name for each in fields(Plan)} | set(WIRES)
    if name not in known:
        raise UnknownName("input of a study", name, known, "`pqchain study --inputs`.")


def _value(plan: Plan, name: str) -> Any:
    """Return an input, also one of the network."""
    return getattr(plan.network if name in WIRES else plan, name, None)


def _default(plan: Plan, name: str) -> Any:
    """Return what an input is if nobody sets it; MISSING if somebody has to."""
    if name in WIRES:
        return MISSING if name == "law" else getattr(named(plan.network.law), name)
    for each in fields(plan):
        if each.name == name:
            return each.default if each.default_factory is MISSING else each.default_factory()
    return MISSING


def meaning(each: Any) -> str:
    """Return what an input is, with its unit."""
    unit = each.metadata["unit"]
    return f"{each.metadata['about']}{', in ' + unit if unit else ''}"


_EXPECTED: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
    "str": (str, "a text"),
}
"""By the type of a field: what its value must be, and that in words."""


def wrong_values(plan: Any) -> Iterable[Problem]:
    """Yield what is wrong with single inputs; one that is None is left out."""
    choices = {"costs": cost_sources(), "signer": SIGNERS, "public_key": ("inline", "registered")}
    for each in fields(Plan):
        name, value = each.name, getattr(plan, each.name)
        least, most = each.metadata["least"], each.metadata["most"]
        types, expected = _EXPECTED.get(str(each.type), (object, ""))
        if value is None:
            continue
        if not isinstance(value, types) or (isinstance(value, bool) and expected):
            message = f"{name} is {value!r}; expected {expected} ({meaning(each)})"
        elif name in choices and value not in choices[name]:
            message = f"{name} is {value!r}; expected one of {', '.join(choices[name])}"
        elif isinstance(value, (int, float)) and not least <= value <= most:
            message = f"{name} is {value:g}; expected {least:g} to {most:g} ({meaning(each)})"
        else:
            continue
        yield Problem(name, message)
    yield from _wrong_schemes(plan)


def _wrong_schemes(plan: Any) -> Iterable[Problem]:
    schemes, migration = plan.schemes, plan.migration
    if schemes is not None and (not isinstance(schemes, tuple) or not schemes):
        message = f'schemes is {schemes!r}; expected a list of names, such as ["Falcon-512"]'
        yield Problem("schemes", message)
        schemes = ()
    baseline = (plan.baseline,) if isinstance(plan.baseline, str) and plan.baseline else ()
    migration = migration if isinstance(migration, Mapping) else {}
    named = {"schemes": schemes or (), "baseline": baseline, "migration": migration}
    for what, name in ((what, name) for what, names in named.items() for name in names):
        try:
            if algorithms.get(name).kind != "signature":
                message = f"{what} names {name!r}, which signs nothing; give a signature scheme"
                yield Problem(what, message)
        except PqchainError as error:
            yield Problem(what, f"{what}: {error}")
    shares = list(migration.values())
    if any(isinstance(s, bool) or not isinstance(s, (int, float)) or s < 0 for s in shares):
        message = f"migration has the shares {shares}; expected numbers of at least 0"
        yield Problem("migration", message)
    elif shares and abs(sum(shares) - 1) > 1e-9:
        message = f"migration has shares that add up to {sum(shares):g}; expected 1"
        yield Problem("migration", message)


def _wrong_together(plan: Plan) -> list[Problem]:
    data, parity, nodes, signer = plan.data_chunks, plan.parity_chunks, plan.nodes, plan.signer
    is_modelled = signer != "software"
    has_falcon = any(algorithms.get(name).family == "Falcon" for name in plan.names)
    rules = (
        (plan.delegates > nodes, "delegates",
         f"delegates is {plan.delegates}, more than the {nodes} nodes; give fewer, or 0 for all"),
        (data + parity > 255, "data_chunks",
         f"data_chunks is {data} and parity_chunks {parity}; a code over GF(256) has at most 255 "
         "chunks together"),
        (data + parity > nodes, "data_chunks",
         f"data_chunks and parity_chunks are {data + parity} chunks for {nodes} nodes; give a "
         "smaller code, so that each chunk has a node of its own"),
        (plan.vote_phases > 0 and plan.network.law == "paper-serial", "vote_phases",
         "vote_phases is above 0, which paper-serial has not; give 0 or another law"),
        (is_modelled and not has_falcon, "signer",
         f'signer is {signer!r}, but no scheme is Falcon; give signer = "software"'),
        (is_modelled and plan.signing_factor != 1.0, "signing_factor",
         f"signing_factor is {plan.signing_factor:g} beside the signer {signer}; give one of them"),
    )  # fmt: skip
    return [Problem(name, message) for is_wrong, name, message in rules if is_wrong]


def without_effect(network: Network) -> frozenset[str]:
    """Return the inputs that a network does not have."""
    modelled = {"vote_phases", "verification_threads"} if network.law == "paper-serial" else set()
    return frozenset(modelled | (set(WIRES) - {"law"} - network.parameters))


def wrong_network(network: Network | None, settings: Mapping[str, Any]) -> Iterable[Problem]:
    """Yield what cannot be set on a network, or on a new one."""
    try:
        plain = rewired(network, {"law": settings["law"]}) if "law" in settings else network
    except PqchainError as error:
        yield Problem("law", str(error))
        return
    assert plain is not None
    possible = {}
    for name, value in settings.items():
        if name == "law":
            continue
        if name == "world" and not isinstance(value, bool):
            yield Problem(name, f"world is {value!r}; expected true or false")
            continue
        try:
            replace(plain, **{name: value})
        except PqchainError as error:
            yield Problem(name, str(error))
        else:
            possible[name] = value
    idle = without_effect(replace(plain, **possible))
    kind = f"{plain.law} with world" if plain.law == "gossip" else plain.law
    for name in filter(idle.__contains__, possible):
        yield Problem(name, f"{name} is set, but {kind} has no such input; leave it out")


def rewired(network: Network | None, settings: Mapping[str, Any]) -> Network:
    """Return a network with other parameters; another law comes with its own defaults."""
    law = settings.get("law", "" if network is None else network.law)
    rest = {name: value for name, value in settings.items() if name != "law"}
    if network is None or law != network.law:
        return named(law, **rest)
    return replace(network, **rest)
