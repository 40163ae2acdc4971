"""What a study is asked: a frozen plan, refused with all its problems at once.

Knows the inputs, their units and bounds; knows nothing of files, nor how a figure comes about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from types import MappingProxyType
from typing import Any

from pqchain import algorithms
from pqchain.consensus import Network, named
from pqchain.consensus.network import NAMES as LAWS
from pqchain.errors import PqchainError, UnknownName, UsageError
from pqchain.works import papers

SIGNERS = ("software", "m4", "m4-engine", "m4-pipelined", "m4-whole")
"""Who signs: the machine of the costs; or, for Falcon, a Cortex-M4 alone, with an engine as the
accelerator paper schedules it, with a pipelined one, or with whole signatures given to that one."""

PUBLIC_KEYS = ("inline", "registered")


@cache
def cost_sources() -> tuple[str, ...]:
    """Return where times of schemes may come from; a frame of measurements can be given instead."""
    return ("measured", *(f"paper:{key}" for key in papers.with_costs()))


def _input(
    section: str, unit: str, about: str, *, least: float = 0.0, most: float = 1e18, **default: Any
) -> Any:
    """Declare an input of a plan: where it stands in the file, its unit, its bounds."""
    return field(
        metadata={"section": section, "unit": unit, "about": about, "least": least, "most": most},
        **default,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A chain and what is asked of it. Times are in seconds, sizes in bytes, rates per second."""

    title: str = _input("", "", "heading of the page", default="A study")
    schemes: tuple[str, ...] = _input("chain", "", "signature schemes to compare")
    baseline: str = _input(
        "chain", "", "scheme that the chain moves from, or nothing", default="ECDSA-secp256k1"
    )
    migration: Mapping[str, float] = _input(
        "chain", "share", "schemes used side by side, with shares that add up to 1",
        default_factory=lambda: MappingProxyType({}),
    )  # fmt: skip
    transactions_per_second: float = _input("chain", "1/s", "load that is wanted", least=1e-9)
    block_bytes: int = _input("chain", "B", "largest block", least=1, most=2**40)
    block_seconds: float = _input(
        "chain", "s", "time from block to block; 0: as soon as the last one is final", most=1e7
    )
    data_bytes: int = _input("chain", "B", "free data in each transaction", most=65_535, default=0)
    public_key: str = _input(
        "chain", "", "inline: in each transaction; registered: in the first", default="inline"
    )
    accounts: int = _input("chain", "", "accounts that must move to a new key", default=0)
    nodes: int = _input("network", "", "nodes", least=1, most=2**22)
    delegates: int = _input("network", "", "nodes that vote; 0: all of them", most=2**22, default=0)
    network: Network = _input("network", "", "law of the network and its parameters")  # noqa: RUF009
    vote_phases: int = _input(
        "network", "", "rounds of votes after a block: 0, 1 or 2", most=2, default=0
    )
    verification_threads: int = _input(
        "network", "", "threads of a node that verify", least=1, most=4096, default=1
    )
    data_chunks: int = _input("storage", "", "k of the erasure code", least=1, most=254, default=7)
    parity_chunks: int = _input(
        "storage", "", "m of the erasure code", least=1, most=254, default=3
    )
    retained_days: float = _input(
        "storage", "d", "how long blocks are kept", least=1e-6, most=1e6, default=365.25
    )
    repair_bits_per_second: float = _input(
        "storage", "bit/s", "rate at which a node gathers chunks", least=1.0, default=100e6
    )
    decode_bytes_per_second: float = _input(
        "storage", "B/s", "rate at which a node decodes", least=1.0, default=589e6
    )
    signer: str = _input(
        "signer",
        "",
        "software, or for Falcon a modelled Cortex-M4 with or without an engine",
        default="software",
    )
    signing_factor: float = _input(
        "signer", "", "how many times faster an accelerator signs", least=1e-6, most=1e6,
        default=1.0,
    )  # fmt: skip
    costs: str = _input("costs", "", "measured, or the work that printed them", default="measured")
    sources: Mapping[str, str] = _input(
        "", "", "where each input comes from", default_factory=lambda: MappingProxyType({})
    )

    def __post_init__(self) -> None:
        """Refuse a plan with problems, naming all of them."""
        if isinstance(self.schemes, list):
            object.__setattr__(self, "schemes", tuple(self.schemes))
        problems = list(wrong_values(self))
        if not problems:
            problems = list(_wrong_together(self))
        if problems:
            raise UsageError("\n".join(problems))
        canonical = tuple(algorithms.get(name).name for name in self.schemes)
        object.__setattr__(self, "schemes", tuple(dict.fromkeys(canonical)))
        if self.baseline:
            object.__setattr__(self, "baseline", algorithms.get(self.baseline).name)
        shares = {algorithms.get(name).name: share for name, share in self.migration.items()}
        object.__setattr__(self, "migration", MappingProxyType(shares))
        object.__setattr__(self, "sources", MappingProxyType(dict(self.sources)))

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
        problems: list[str] = []
        if settings:
            network = changes.get("network", self.network)
            problems = [message for _, message in wrong_network(network, settings)]
            if not problems:
                changes["network"] = rewired(network, settings)
        try:
            changed = replace(self, **changes)
        except UsageError as error:
            problems.append(str(error))
        if problems:
            raise UsageError("\n".join(problems))
        if "sources" in changes:
            return changed
        kept = {
            name: source
            for name, source in self.sources.items()
            if _value(self, name) == _value(changed, name)
        }
        return changed if kept == self.sources else replace(changed, sources=kept)

    def source(self, name: str) -> str:
        """Return where an input comes from."""
        unset = "default" if _value(self, name) == _default(self, name) else "set for this study"
        return self.sources.get(name, unset)


def inputs(plan: Plan) -> list[tuple[str, Any, str, str, str]]:
    """Return name, value, unit, meaning and source of every input that is a number or a name.

    What the network of the plan has not is left out.
    """
    rows: list[tuple[str, Any, str, str, str]] = []
    unheard = _unheard(plan.network)
    for each in fields(plan):
        about = each.metadata
        value = getattr(plan, each.name)
        if each.name in ("title", "sources"):
            continue
        if isinstance(value, Network):
            rows += [
                (name, getattr(value, name), unit, meaning, plan.source(name))
                for name, unit, meaning in NETWORK_INPUTS
                if name not in unheard
            ]
            continue
        if each.name in unheard and plan.source(each.name) == "default":
            continue
        if isinstance(value, Mapping):
            value = ", ".join(f"{name} {share:g}" for name, share in value.items()) or "none"
        elif isinstance(value, tuple):
            value = ", ".join(value)
        value = "none" if value == "" else value
        rows.append((each.name, value, about["unit"], about["about"], plan.source(each.name)))
    return rows


NETWORK_INPUTS = (
    ("law", "", "law of the network"),
    ("rate_bits_per_second", "bit/s", "rate of a link; regions have their own"),
    ("latency_seconds", "s", "time of a message on a link; regions have their own"),
    ("peers", "", "gossip: to how many a node passes a block on"),
    ("world", "", "gossip: whether nodes live in the regions of the world"),
)
"""Parameters of a network that a study file may set: name, unit, meaning."""

WIRES = tuple(name for name, _, _ in NETWORK_INPUTS)


def described() -> list[tuple[str, str, str, str, str]]:
    """Return table, name, unit, meaning and default of every input that a study file may have."""
    rows = []
    for each in fields(Plan):
        section = each.metadata["section"]
        if each.name == "network":
            rows += [
                (section, name, unit, f"{meaning}: {', '.join(LAWS)}" if name == "law" else meaning,
                 "needed" if name == "law" else "the law's")
                for name, unit, meaning in NETWORK_INPUTS
            ]  # fmt: skip
        elif each.name == "sources":
            rows.append(("sources", "INPUT", "", each.metadata["about"], "none"))
        elif each.name == "migration":
            rows.append(("chain.migration", "SCHEME", "share", each.metadata["about"], "none"))
        else:
            default = "needed" if each.default is MISSING else str(each.default)
            rows.append(
                (section, each.name, each.metadata["unit"], each.metadata["about"], default)
            )
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
    each = next((each for each in fields(plan) if each.name == name), None)
    if each is None:
        return MISSING
    return each.default if each.default_factory is MISSING else each.default_factory()


def _unheard(network: Network) -> frozenset[str]:
    """Return the inputs that a network has not: they would change nothing."""
    modelled = {"vote_phases", "verification_threads"} if network.law == "paper-serial" else set()
    return frozenset(modelled | (set(WIRES) - {"law"} - network.parameters))


def wrong_network(
    network: Network | None, settings: Mapping[str, Any]
) -> Iterable[tuple[str, str]]:
    """Yield name and message of everything that cannot be set on a network, or on a new one."""
    try:
        plain = rewired(network, {"law": settings["law"]}) if "law" in settings else network
    except PqchainError as error:
        yield "law", str(error)
        return
    assert plain is not None
    fine = {}
    for name, value in settings.items():
        if name == "law":
            continue
        if name == "world" and not isinstance(value, bool):
            yield name, f"world is {value!r}; expected true or false"
            continue
        try:
            replace(plain, **{name: value})
        except PqchainError as error:
            yield name, str(error)
        else:
            fine[name] = value
    unheard = _unheard(replace(plain, **fine))
    for name in fine:
        if name in unheard:
            kind = f"{plain.law} with world" if plain.law == "gossip" else plain.law
            yield name, f"{name} is set, but {kind} has no such input; leave it out"


def rewired(network: Network | None, settings: Mapping[str, Any]) -> Network:
    """Return a network with other parameters; another law comes with its own defaults."""
    law = settings.get("law", "" if network is None else network.law)
    rest = {name: value for name, value in settings.items() if name != "law"}
    if network is None or law != network.law:
        return named(law, **rest)
    return replace(network, **rest)


def asked(each: Any) -> str:
    """Say what an input is."""
    unit = each.metadata["unit"]
    return f"{each.metadata['about']}{', in ' + unit if unit else ''}"


def wrong_values(plan: Any) -> Iterable[str]:
    """Yield what is wrong with single inputs; each message begins with the input's name."""
    for each in fields(Plan):
        value, about = getattr(plan, each.name), each.metadata
        if value is None:
            continue
        if each.name in (
            "block_bytes",
            "data_bytes",
            "accounts",
            "nodes",
            "delegates",
            "vote_phases",
            "verification_threads",
            "data_chunks",
            "parity_chunks",
        ):
            if isinstance(value, bool) or not isinstance(value, int):
                yield f"{each.name} is {value!r}; expected a whole number ({asked(each)})"
                continue
        elif each.type in ("float",):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                yield f"{each.name} is {value!r}; expected a number ({asked(each)})"
                continue
        elif each.type == "str" and not isinstance(value, str):
            yield f"{each.name} is {value!r}; expected a text ({asked(each)})"
            continue
        if isinstance(value, (int, float)) and not about["least"] <= value <= about["most"]:
            yield (
                f"{each.name} is {value:g}; expected {about['least']:g} to {about['most']:g} "
                f"({asked(each)})"
            )
    for name, known in (
        ("costs", cost_sources()), ("signer", SIGNERS), ("public_key", PUBLIC_KEYS),
    ):  # fmt: skip
        value = getattr(plan, name)
        if isinstance(value, str) and value not in known:
            yield f"{name} is {value!r}; expected one of {', '.join(known)}"
    yield from _wrong_names(plan)


def _wrong_names(plan: Any) -> Iterable[str]:
    """Yield what is wrong with the schemes."""
    schemes = plan.schemes
    if schemes is not None and (not isinstance(schemes, tuple) or not schemes):
        yield f'schemes is {schemes!r}; expected a list of names, such as ["Falcon-512"]'
        schemes = ()
    baseline = (plan.baseline,) if isinstance(plan.baseline, str) and plan.baseline else ()
    migration = plan.migration if isinstance(plan.migration, Mapping) else {}
    for what, names in (
        ("schemes", schemes or ()), ("baseline", baseline), ("migration", tuple(migration)),
    ):  # fmt: skip
        for name in names:
            try:
                if algorithms.get(name).kind != "signature":
                    yield f"{what} names {name!r}, which signs nothing; give a signature scheme"
            except PqchainError as error:
                yield f"{what}: {error}"
    shares = list(migration.values())
    if any(isinstance(s, bool) or not isinstance(s, (int, float)) or s < 0 for s in shares):
        yield f"migration has the shares {shares}; expected numbers of at least 0"
    elif shares and abs(sum(shares) - 1) > 1e-9:
        yield f"migration has shares that add up to {sum(shares):g}; expected 1"


def _wrong_together(plan: Plan) -> Iterable[str]:
    """Yield combinations that cannot be."""
    if plan.delegates > plan.nodes:
        yield (
            f"delegates is {plan.delegates}, more than the {plan.nodes} nodes; give fewer, or 0 "
            "for all"
        )
    if plan.data_chunks + plan.parity_chunks > 255:
        yield (
            f"data_chunks is {plan.data_chunks} and parity_chunks {plan.parity_chunks}; a code "
            "over GF(256) has at most 255 chunks together"
        )
    if plan.data_chunks + plan.parity_chunks > plan.nodes:
        yield (
            f"data_chunks and parity_chunks are {plan.data_chunks + plan.parity_chunks} chunks for "
            f"{plan.nodes} nodes; give a smaller code, so that each chunk has a node of its own"
        )
    if plan.vote_phases and plan.network.law == "paper-serial":
        yield "vote_phases is above 0, which paper-serial has not; give 0 or another law"
    if plan.signer != "software" and not any(n.startswith("Falcon-") for n in plan.names):
        yield f'signer is {plan.signer!r}, but no scheme is Falcon; give signer = "software"'
    if plan.signer != "software" and plan.signing_factor != 1.0:
        yield (
            f"signing_factor is {plan.signing_factor:g} beside the signer {plan.signer}; give one "
            "of them"
        )
