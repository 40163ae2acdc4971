"""Declarations of a study's inputs, and checks of their values.

Every check returns problems instead of raising, because a user who edits a file wants all problems
at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pqchain import schemes
from pqchain.consensus import Network, named
from pqchain.errors import PqchainError, UsageError, short_repr
from pqchain.study.provers import PROVERS
from pqchain.works import papers

if TYPE_CHECKING:
    from pqchain.study.inputs import Plan

SIGNERS: Mapping[str, str] = {
    "software": "",
    "m4": "M4 software, pqm4's cycles",
    "m4-engine": "M4 + engine, no overlap, latencies 14 and 9",
    "m4-pipelined": "M4 + engine, pipelined",
    "m4-whole": "M4 + engine, pipelined, whole attempt",
}
"""Signing devices: "software" is the machine of the costs; the others are rows of the accelerator
paper's Table 3 as rebuilt by `pqchain.falcon.model`, for Falcon only."""

BLS, BLS_SCHEME = "bls", "BLS12-381"
"""The aggregation that is measured here, and its scheme in the registry."""

CORES = 16
"""Number of prover cores, unless the prover's source has another."""

AGGREGATIONS = ("plain", BLS, *PROVERS)

NETWORK = {
    "law": "law",
    "rate_bits_per_second": "rate_bits_per_second",
    "link_latency_seconds": "latency_seconds",
    "peers": "peers",
    "world": "world",
    "region_table": "region_table",
}
"""Inputs that are parameters of the network, and their names there."""


_OF_VOTES = {"votes_in_block": False, "vote_aggregation": "plain", "vote_signature_bytes": 0.0}
"""Inputs that have an effect only on votes that are counted, and their defaults."""

REQUIRED: Any = object()
"""The default of an input that every plan must set."""


@dataclass(frozen=True, slots=True)
class Input:
    """Declaration of an input of a study: its meaning, unit, bounds and types."""

    table: str
    """The table of a study file that holds it; "" for the top of the file."""
    about: str
    unit: str = ""
    """"" for the unit that the name states."""
    least: float = 0.0
    most: float = 1e18
    choices: tuple[str, ...] = ()
    types: tuple[type, ...] = ()
    """Types that a value may have, from the annotation; none if it is checked elsewhere."""
    default: Any = REQUIRED

    @property
    def meaning(self) -> str:
        """Meaning of the input, with its unit."""
        return f"{self.about}{', in ' + self.unit if self.unit else ''}"


class Problem(NamedTuple):
    """A problem with the value of an input."""

    input: str
    message: str


class ImpossiblePlan(UsageError):
    """Error of a plan with invalid inputs; the message lists all problems."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(problem.message for problem in self.problems)


class Observation(NamedTuple):
    """A value measured on an existing chain, for comparison with the model."""

    quantity: str
    """Name of a figure."""
    algorithm: str
    """The scheme of the figure; "" for the baseline."""
    value: float
    source: str
    date: str
    settings: Mapping[str, Any]
    """Inputs that had other values at the time."""
    dependence: str
    """What the observation shares with the inputs, so that it tests nothing; "" if independent."""
    engine: str = ""
    """Consensus engine that was run, with its version; "" for an observation of a chain."""


@cache
def cost_sources() -> tuple[str, ...]:
    """Return the possible sources of costs: "measured", and the works with published times."""
    return ("measured", *(f"paper:{key}" for key in papers.with_costs()))


_WORDS = {
    int: "a whole number", float: "a number", str: "a text", bool: "true or false",
    date: "a date such as 2026-11-23",
}  # fmt: skip


def wrong_values(inputs: Mapping[str, Input], values: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems with the values of inputs; `values` may lack some inputs."""
    for name in [name for name in inputs if name in values]:
        value, row = values[name], inputs[name]
        choices = cost_sources() if name == "costs" else row.choices
        # None is an input of the network that its law decides; `network_of` checks it.
        if value is None and row.default is None:
            continue
        # bool is a subclass of int, but true is not a number of nodes; a datetime is not a date.
        is_subclass = (isinstance(value, bool) and bool not in row.types) or isinstance(
            value, datetime
        )
        if row.types and (is_subclass or not isinstance(value, row.types)):
            expected = f"{_WORDS[row.types[0]]} ({row.meaning})"
        elif choices and value not in choices:
            expected = f"one of {', '.join(choices)}"
        elif isinstance(value, (int, float)) and not row.least <= value <= row.most:
            expected = f"{row.least:g} to {row.most:g} ({row.meaning})"
        else:
            continue
        yield Problem(name, f"{name} must be {expected}; got {short_repr(value)}")
    yield from _wrong_schemes(values)
    yield from network_of(values)[1]


def unused_parameters(network: Network) -> set[str]:
    """Return the inputs in NETWORK that are not parameters of this kind of network."""
    return {name for name in NETWORK if name != "law" and NETWORK[name] not in network.parameters}


def network_of(values: Mapping[str, Any]) -> tuple[Network, list[Problem]]:
    """Return the network that the inputs describe, and the problems with these inputs."""
    default = named("mesh")
    if "law" not in values:
        return default, []
    try:
        network = named(values["law"])
    except PqchainError as error:
        return default, [Problem("law", str(error))]
    problems = []
    settings = {name: values.get(name) for name in NETWORK if name != "law"}
    settings = {name: value for name, value in settings.items() if value is not None}
    # One after the other, so that every wrong parameter is reported and not only the first.
    for name, value in settings.items():
        try:
            changes: Any = {NETWORK[name]: value}
            network = replace(network, **changes)
        except PqchainError as error:
            # The error names the parameter of the network, not the input of the plan.
            problems.append(Problem(name, str(error).replace("latency_seconds", name, 1)))
    wrong = {problem.input for problem in problems}
    kind = f"{network.law} with world" if network.world else network.law
    # An input that the law ignores is an error: its author expects an effect.
    for name in sorted(unused_parameters(network) & set(settings) - wrong):
        message = f"{name} is not an input of {kind}; leave it out"
        problems.append(Problem(name, message))
    return network, problems


def _wrong_schemes(values: Mapping[str, Any]) -> Iterator[Problem]:
    names, baseline = values.get("algorithms", ()), values.get("baseline")
    if "algorithms" in values and not (names and isinstance(names, tuple)):
        expected = 'a list of names, such as ["Falcon-512"]'
        yield Problem("algorithms", f"algorithms must be {expected}; got {short_repr(names)}")
        names = ()
    migration = values.get("migration")
    migration = migration if isinstance(migration, Mapping) else {}
    prices = values.get("gas_prices")
    prices = prices if isinstance(prices, Mapping) else {}
    names_of = {
        "algorithms": names,
        "baseline": (baseline,) if baseline and isinstance(baseline, str) else (),
        "migration": migration,
        "gas_prices": prices,
    }
    own_schemes = values.get("own_schemes", ())
    for field, name in ((field, name) for field, listed in names_of.items() for name in listed):
        try:
            if schemes.get(name, own_schemes).kind != "signature":
                yield Problem(field, f"{field} must name signature schemes; got {short_repr(name)}")
        except PqchainError as error:
            yield Problem(field, f"{field}: {error}")
    for name, price in prices.items():
        is_number = isinstance(price, (int, float)) and not isinstance(price, bool)
        if not is_number or not 0 <= price <= 1e18:
            message = f"gas_prices of {name} must be 0 to 1e+18 gas; got {short_repr(price)}"
            yield Problem("gas_prices", message)
    shares = list(migration.values())
    if any(isinstance(s, bool) or not isinstance(s, (int, float)) or s < 0 for s in shares):
        message = f"shares of migration must be numbers of at least 0; got {short_repr(shares)}"
        yield Problem("migration", message)
    # Decimal shares such as 0.1 do not add up to exactly 1 in binary.
    elif shares and abs(sum(shares) - 1) > 1e-9:
        yield Problem("migration", f"shares of migration must add up to 1; got {sum(shares):g}")


def wrong_combinations(plan: Plan) -> list[Problem]:
    """Return the problems with inputs whose values are valid alone, but not together."""
    data, parity, nodes, signer = plan.data_chunks, plan.parity_chunks, plan.nodes, plan.signer
    is_modelled = signer != "software"
    has_falcon = any(plan.algorithm(name).family == "Falcon" for name in plan.names)
    until, has_certificates = plan.valid_until, plan.certificates != "none"
    network, _ = network_of({name: getattr(plan, name) for name in NETWORK})
    rules = (
        (bool(plan.sources) and plan.checked is None, "checked",
         "checked must be the date on which the sources were read, because the plan cites sources; "
         "got none. Add it, such as checked = 2026-11-23."),
        (until is not None and plan.checked is None, "valid_until",
         f"valid_until must be left out without checked, the date of the sources; got {until}."),
        (plan.delegates > nodes, "delegates",
         f"delegates must be at most nodes, {nodes}; got {plan.delegates}. 0 means all nodes."),
        (data + parity > 255, "data_chunks",
         "data_chunks and parity_chunks must be at most 255 together, the limit of GF(256); got "
         f"{data} and {parity}."),
        (data + parity > nodes, "data_chunks",
         f"data_chunks and parity_chunks must be at most {nodes} together, so that each node has "
         f"one chunk; got {data + parity}."),
        (plan.vote_phases > 0 and plan.law == "paper-serial", "vote_phases",
         f"vote_phases must be 0 with paper-serial, which has no votes; got {plan.vote_phases}."),
        *((getattr(plan, name) != unused and (has_certificates or not plan.votes_per_block), name,
           f"{name} must be {unused!r} unless votes_per_block is above 0 and certificates is "
           f'"none", because it has no effect; got {getattr(plan, name)!r}. Leave it out, or give '
           'votes_per_block and certificates = "none".') for name, unused in _OF_VOTES.items()),
        (has_certificates and plan.votes_per_block > 0, "votes_per_block",
         f"votes_per_block must be 0 with certificates = {plan.certificates!r}, which have the "
         f"votes of a quorum; got {plan.votes_per_block:g}. Leave it out, or give certificates = "
         '"none".'),
        (plan.certificates != "none" and not plan.vote_phases, "certificates",
         f'certificates must be "none" without vote_phases; got {plan.certificates!r}.'),
        ((plan.certificates == "broadcast" or plan.pipelined) and plan.law != "uplink", "law",
         'law must be "uplink" with certificates = "broadcast" or pipelined; got '
         f"{plan.law!r}."),
        (plan.pipelined and (plan.vote_phases != 2 or plan.certificates == "next-block"),
         "pipelined", 'pipelined must be false unless vote_phases is 2 and certificates is "none" '
         'or "broadcast"; got true.'),
        (network.is_regional and (plan.hop_wait_seconds > 0 or plan.extra_hops > 0),
         "hop_wait_seconds", "hop_wait_seconds and extra_hops must be 0 with regions, which have "
         f"no single latency; got {plan.hop_wait_seconds:g} and {plan.extra_hops}."),
        (0 < plan.phase_b_days < plan.phase_a_days, "phase_b_days",
         f"phase_b_days must be at least phase_a_days, {plan.phase_a_days:g}; got "
         f"{plan.phase_b_days:g}."),
        (plan.signatures > 1 and not plan.envelope_bytes, "signatures",
         "signatures must be 1 with pqchain's encoding, which has one; got "
         f"{plan.signatures:g}. Give envelope_bytes."),
        (bool(plan.block_weight) and plan.witness_discount > plan.block_weight, "block_weight",
         f"block_weight must be at least the weight of a byte, {plan.witness_discount:g}; got "
         f"{plan.block_weight:g}."),
        (plan.verification_gas > 0 and not plan.baseline, "verification_gas",
         "verification_gas must be 0 without a baseline, whose time prices a verification; got "
         f"{plan.verification_gas:g}."),
        (bool(plan.gas_prices) and not plan.block_gas, "gas_prices",
         "gas_prices must be left out without block_gas, the limit that they count towards; got "
         f"prices of {', '.join(plan.gas_prices)}."),
        (plan.witness_rule == "p2mr" and not (plan.envelope_bytes and plan.key_mode == "inline"),
         "witness_rule",
         'witness_rule must be "fixed" unless key_mode is inline and envelope_bytes is given, '
         f"because P2MR reveals the key in a script; got {plan.witness_rule!r}."),
        (plan.merkle_depth > 0 and plan.witness_rule != "p2mr", "merkle_depth",
         f'merkle_depth must be 0 unless witness_rule is "p2mr"; got {plan.merkle_depth}.'),
        (plan.voting_gas > 0 and not plan.votes_in_block, "voting_gas",
         f"voting_gas must be 0 unless votes_in_block is true; got {plan.voting_gas:g}."),
        (plan.upload_copies > 0 and not plan.block_seconds, "upload_copies",
         "upload_copies must be 0 where block_seconds is 0, because blocks wait for "
         f"finality; got {plan.upload_copies}."),
        (plan.upload_copies > 0 and "rate_bits_per_second" not in network.parameters
         and not network.is_regional, "upload_copies",
         f"upload_copies must be 0 with {network.law}, which has no links; got "
         f"{plan.upload_copies}."),
        (plan.final_blocks > 0 and not plan.block_seconds, "final_blocks",
         "final_blocks must be 0 where block_seconds is 0, because blocks wait for finality; got "
         f"{plan.final_blocks:g}."),
        (plan.most_votes > 0 and not plan.votes_per_block, "most_votes",
         f"most_votes must be 0 where votes_per_block is 0; got {plan.most_votes:g}."),
        (is_modelled and not has_falcon, "signer",
         f'signer must be "software" without a Falcon scheme; got {signer!r}.'),
        (is_modelled and plan.signing_factor != 1.0, "signing_factor",
         f"signing_factor must be 1 with the signer {signer}; got {plan.signing_factor:g}."),
    )  # fmt: skip
    return [Problem(name, message) for is_wrong, name, message in rules if is_wrong]
