"""The inputs of a study: a frozen plan, refused with all its problems at once.

Knows which inputs fit each other; knows nothing of files, nor how a figure is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pqchain import schemes
from pqchain.algorithms import Algorithm
from pqchain.chain import encoding
from pqchain.consensus import Network, named
from pqchain.consensus import network as networks
from pqchain.costs import Costs
from pqchain.errors import PqchainError, UnknownName, shown
from pqchain.study.observed import Observation
from pqchain.study.provers import PROVERS
from pqchain.study.quantities import INPUTS
from pqchain.study.wiring import WIRES, ImpossiblePlan, Problem, rewired, without_effect
from pqchain.works import papers

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from pqchain.study.changes import PlanChanges

SIGNERS: Mapping[str, str] = {
    "software": "",
    "m4": "M4 software, pqm4's cycles",
    "m4-engine": "M4 + engine, no overlap, latencies 14 and 9",
    "m4-pipelined": "M4 + engine, pipelined",
    "m4-whole": "M4 + engine, pipelined, whole attempt",
}
"""Who signs: the machine of the costs; or, for Falcon, a row of the accelerator paper's rebuilt
Table 3: a Cortex-M4 alone, with an engine that does one operation at a time, with a pipelined one,
or with whole signatures given to that one."""

BLS, BLS_SCHEME = "bls", "BLS12-381"
"""An aggregation that is measured here, and the scheme of the registry that it needs."""

CORES = 16
"""Of whoever aggregates by a prover, or as many as the prover's source had."""


@cache
def cost_sources() -> tuple[str, ...]:
    """Return where times of schemes may come from; a frame of measurements can be given instead."""
    return ("measured", *(f"paper:{key}" for key in papers.with_costs()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A chain and its load. Times are in seconds, sizes in bytes, rates per second.

    `INPUTS` holds what each input means, its unit and its bounds.
    """

    title: str = "A study"
    schemes: tuple[str, ...]
    baseline: str = "ECDSA-secp256k1"
    migration: Mapping[str, float] = field(default_factory=dict)
    transactions_per_second: float
    block_bytes: int
    block_seconds: float
    data_bytes: int = 0
    public_key: str = "inline"
    transaction_aggregation: str = "plain"
    accounts: int = 0
    moves_register: bool = True
    moving_share: float = 0.25
    adoption_days: float = 730.5
    phase_a_days: float = 0.0
    phase_b_days: float = 0.0
    envelope_bytes: int = 0
    framing_bytes: int = 0
    signatures: float = 1.0
    witness_discount: float = 1.0
    block_weight: float = 0.0
    block_gas: float = 0.0
    sustained_share: float = 1.0
    intrinsic_gas: float = 0.0
    execution_gas: float = 0.0
    calldata_gas: float = 0.0
    floor_gas: float = 0.0
    verification_gas: float = 0.0
    packet_bytes: int = 0
    votes_per_block: float = 0.0
    vote_bytes: float = 0.0
    vote_signature_bytes: float = 0.0
    vote_aggregation: str = "plain"
    vote_aggregates: float = 1.0
    votes_in_block: bool = False
    most_votes: float = 0.0
    vote_deadline_seconds: float = 0.0
    final_blocks: float = 0.0
    nodes: int
    delegates: int = 0
    network: Network
    vote_phases: int = 0
    verification_threads: int = 1
    data_chunks: int = 7
    parity_chunks: int = 3
    retained_days: float = 365.25
    repair_bits_per_second: float = 100e6
    decode_bytes_per_second: float = 589e6
    signer: str = "software"
    signing_factor: float = 1.0
    costs: str = "measured"
    own_schemes: tuple[Costs, ...] = ()
    """Schemes that the registry does not know."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Where each input comes from."""
    observed: tuple[Observation, ...] = ()
    """What the chain of today shows."""

    def __post_init__(self) -> None:
        """Refuse a plan with problems, naming all of them; write schemes canonically."""
        if isinstance(self.schemes, list):
            object.__setattr__(self, "schemes", tuple(self.schemes))
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        problems = list(wrong_values(values)) or _wrong_together(self)
        if problems:
            raise ImpossiblePlan(problems)
        shares = {self.scheme(name).name: share for name, share in self.migration.items()}
        canonical = {
            "schemes": tuple(dict.fromkeys(self.scheme(name).name for name in self.schemes)),
            "baseline": self.baseline and self.scheme(self.baseline).name,
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

    def scheme(self, name: str) -> Algorithm:
        """Return a scheme of the registry or of the user's own. Raises UnknownAlgorithm."""
        return schemes.named(name, self.own_schemes)

    @property
    def bundled(self) -> str:
        """The scheme whose signatures in a block are one aggregate or proof; "" for none.

        It need not be of the plan: others are as they were.
        """
        return _aggregated(self.transaction_aggregation)

    def with_(self, **changed_inputs: Unpack[PlanChanges]) -> Plan:
        """Return a copy with other inputs, those of the network among them.

        What is changed loses the source that it had. Raises UnknownName for an unknown input, and
        UsageError with every other problem.
        """
        changes: dict[str, Any] = {**changed_inputs}
        for name in changes:
            check_name(name)
        settings = {name: changes.pop(name) for name in WIRES if name in changes}
        problems: list[Problem] = []
        try:
            changes["network"] = rewired(changes.get("network", self.network), settings)
        except ImpossiblePlan as error:
            problems += error.problems
        try:
            changed = replace(self, **changes)
        except ImpossiblePlan as error:
            problems += error.problems
        if problems:
            raise ImpossiblePlan(problems)
        if "sources" in changes:
            return changed
        same = [name for name in self.sources if value_of(self, name) == value_of(changed, name)]
        return replace(changed, sources={name: self.sources[name] for name in same})

    def source(self, name: str) -> str:
        """Return where an input comes from."""
        default = DEFAULTS.get(name, MISSING)
        if name in WIRES and name != "law":
            default = getattr(named(self.network.law), name)
        unset = "default" if value_of(self, name) == default else "set for this study"
        return self.sources.get(name, unset)


DEFAULTS: dict[str, Any] = {each.name: each.default for each in fields(Plan)}
DEFAULTS |= {"migration": {}, "sources": {}, "observed": (), "own_schemes": ()}
"""What the inputs of a plan are if nobody sets them; MISSING if somebody has to."""


def inputs(plan: Plan) -> list[tuple[str, Any, str, str, str]]:
    """Return name, value, unit, meaning and source of every input that is a number or a name.

    What has no effect on the network of the plan is left out.
    """
    rows: list[tuple[str, Any, str, str, str]] = []
    idle = without_effect(plan.network)
    for name, row in INPUTS.items():
        value, source = value_of(plan, name), plan.source(name)
        if name == "title" or (name in idle and (name in WIRES or source == "default")):
            continue
        if isinstance(value, Mapping):
            value = [f"{scheme} {share:g}" for scheme, share in value.items()]
        if isinstance(value, (tuple, list)):
            value = ", ".join(value)
        rows.append((name, "none" if value == "" else value, row.unit, row.about, source))
    return rows


def described() -> list[tuple[str, str, str, str, str]]:
    """Return table, name, unit, meaning and default of every input that a study file may have."""
    rows = []
    for name, row in INPUTS.items():
        key, about, default = name, row.about, DEFAULTS.get(name, "the law's")
        if name == "law":
            about, default = f"{about}: {', '.join(networks.NAMES)}", MISSING
        elif name == "migration":
            key, default = "SCHEME", "none"
        rows.append(
            (row.table, key, row.unit, about, "needed" if default is MISSING else str(default))
        )
    rows += [("[scheme]", *each, "none") for each in schemes.TABLE]
    return [*rows, ("sources", "INPUT", "", "where each input comes from", "none")]


def check_name(name: str) -> None:
    """Raise UnknownName unless there is such an input."""
    known = {*DEFAULTS, *WIRES}
    if name not in known:
        raise UnknownName("input of a study", name, known, "`pqchain study --inputs`.")


def value_of(plan: Plan, name: str) -> Any:
    """Return an input, also one of the network."""
    return getattr(plan.network if name in WIRES else plan, name, None)


_EXPECTED: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
    "str": (str, "a text"),
    "bool": (bool, "true or false"),
}
"""By the type of a field: what its value must be, and that in words."""


def wrong_values(values: Mapping[str, Any]) -> Iterable[Problem]:
    """Yield what is wrong with single inputs, of which some may be missing."""
    choices = {
        "costs": cost_sources(),
        "signer": SIGNERS,
        "public_key": encoding.KEY_MODES,
        "vote_aggregation": ("plain", BLS, *PROVERS),
        "transaction_aggregation": ("plain", BLS, *PROVERS),
    }
    for name in [name for name in INPUTS if name in values]:
        value, row = values[name], INPUTS[name]
        types, expected = _EXPECTED.get(Plan.__annotations__[name], (object, ""))
        is_flag = isinstance(value, bool) and types is not bool
        if not isinstance(value, types) or (is_flag and expected):
            message = f"{name} is {shown(value)}; expected {expected} ({row.meaning})"
        elif name in choices and value not in choices[name]:
            message = f"{name} is {shown(value)}; expected one of {', '.join(choices[name])}"
        elif isinstance(value, (int, float)) and not row.least <= value <= row.most:
            bounds = f"{row.least:g} to {row.most:g}"
            message = f"{name} is {shown(value)}; expected {bounds} ({row.meaning})"
        else:
            continue
        yield Problem(name, message)
    yield from _wrong_schemes(values)


def _wrong_schemes(values: Mapping[str, Any]) -> Iterable[Problem]:
    names, baseline = values.get("schemes", ()), values.get("baseline")
    migration = values.get("migration")
    if "schemes" in values and not (names and isinstance(names, tuple)):
        message = f'schemes is {names!r}; expected a list of names, such as ["Falcon-512"]'
        yield Problem("schemes", message)
        names = ()
    migration = migration if isinstance(migration, Mapping) else {}
    given = {
        "schemes": names,
        "baseline": (baseline,) if baseline and isinstance(baseline, str) else (),
        "migration": migration,
    }
    mine = values.get("own_schemes", ())
    for what, name in ((what, name) for what, several in given.items() for name in several):
        try:
            if schemes.named(name, mine).kind != "signature":
                message = f"{what} names {name!r}, which signs nothing; give a signature scheme"
                yield Problem(what, message)
        except PqchainError as error:
            yield Problem(what, f"{what}: {error}")
    shares = list(migration.values())
    if any(isinstance(s, bool) or not isinstance(s, (int, float)) or s < 0 for s in shares):
        message = f"migration has the shares {shown(shares)}; expected numbers of at least 0"
        yield Problem("migration", message)
    elif shares and abs(sum(shares) - 1) > 1e-9:
        message = f"migration has shares that add up to {sum(shares):g}; expected 1"
        yield Problem("migration", message)


def _wrong_together(plan: Plan) -> list[Problem]:
    data, parity, nodes, signer = plan.data_chunks, plan.parity_chunks, plan.nodes, plan.signer
    is_modelled = signer != "software"
    has_falcon = any(plan.scheme(name).family == "Falcon" for name in plan.names)
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
        (0 < plan.phase_b_days < plan.phase_a_days, "phase_b_days",
         f"phase_b_days is {plan.phase_b_days:g}, before phase_a_days, {plan.phase_a_days:g}; "
         "phase B follows phase A"),
        (plan.signatures > 1 and not plan.envelope_bytes, "signatures",
         f"signatures is {plan.signatures:g}, but our encoding is of one; give envelope_bytes"),
        (bool(plan.block_weight) and plan.witness_discount > plan.block_weight, "block_weight",
         f"block_weight is {plan.block_weight:g}, less than one byte weighs; give more"),
        (plan.verification_gas > 0 and not plan.baseline, "verification_gas",
         "verification_gas prices a verification by that of the baseline, and there is none; give "
         "a baseline, or 0"),
        (plan.final_blocks > 0 and not plan.block_seconds, "final_blocks",
         f"final_blocks is {plan.final_blocks:g}, but blocks wait for each other; give "
         "block_seconds above 0, or final_blocks 0"),
        (plan.most_votes > 0 and not plan.votes_per_block, "most_votes",
         f"most_votes is {plan.most_votes:g}, but votes_per_block is 0; give both"),
        (is_modelled and not has_falcon, "signer",
         f'signer is {signer!r}, but no scheme is Falcon; give signer = "software"'),
        (is_modelled and plan.signing_factor != 1.0, "signing_factor",
         f"signing_factor is {plan.signing_factor:g} beside the signer {signer}; give one of them"),
    )  # fmt: skip
    return [Problem(name, message) for is_wrong, name, message in rules if is_wrong]


def _aggregated(how: str) -> str:
    """Return the scheme whose signatures an aggregation takes; "" if it is none."""
    if how in ("plain", BLS):
        return BLS_SCHEME if how == BLS else ""
    return PROVERS[how].algorithm or PROVERS[how].scheme
