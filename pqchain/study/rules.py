"""Inputs of a study whose values are valid alone, but not together."""

from __future__ import annotations

from typing import Any

_OF_VOTES = {"votes_in_block": False, "vote_aggregation": "plain", "vote_signature_bytes": 0.0}
"""Inputs that have an effect only on votes that are counted, and their defaults."""


def wrong_combinations(plan: Any) -> list[tuple[str, str]]:
    """Return an input and a message for each wrong combination of a `Plan`."""
    chain, transaction, limits, votes = plan.chain, plan.transaction, plan.limits, plan.votes
    network, storage, signing = plan.network, plan.storage, plan.signing
    families = {plan.algorithm(name).family for name in plan.names}
    is_regional = network.model.is_regional
    chunks = (storage.data_chunks, storage.parity_chunks)
    until, has_certificates = chain.valid_until, network.certificates != "none"
    is_modelled, shares = signing.signer != "software", sum(chain.migration.values())
    rules = (
        (bool(plan.sources) and chain.checked is None, "checked",
         "checked must be the date on which the sources were read, because the plan cites sources; "
         "got none. Add it, such as checked = 2026-11-23."),
        (until is not None and chain.checked is None, "valid_until",
         f"valid_until must be left out without checked, the date of the sources; got {until}."),
        # Decimal shares such as 0.1 do not add up to exactly 1 in binary.
        (bool(chain.migration) and abs(shares - 1) > 1e-9, "migration",
         f"shares of migration must add up to 1; got {shares:g}"),
        (network.delegates > network.nodes, "delegates",
         f"delegates must be at most nodes, {network.nodes}; got {network.delegates}. 0 means all "
         "nodes."),
        (sum(chunks) > 255, "data_chunks",
         "data_chunks and parity_chunks must be at most 255 together, the limit of GF(256); got "
         f"{chunks[0]} and {chunks[1]}."),
        (sum(chunks) > network.nodes, "data_chunks",
         f"data_chunks and parity_chunks must be at most {network.nodes} together, so that each "
         f"node has one chunk; got {sum(chunks)}."),
        (network.vote_phases > 0 and network.law == "paper-serial", "vote_phases",
         "vote_phases must be 0 with paper-serial, which has no votes; got "
         f"{network.vote_phases}."),
        *((getattr(votes, name) != unused and (has_certificates or not votes.votes_per_block), name,
           f"{name} must be {unused!r} unless votes_per_block is above 0 and certificates is "
           f'"none", because it has no effect; got {getattr(votes, name)!r}. Leave it out, or give '
           'votes_per_block and certificates = "none".') for name, unused in _OF_VOTES.items()),
        (has_certificates and votes.votes_per_block > 0, "votes_per_block",
         f"votes_per_block must be 0 with certificates = {network.certificates!r}, which have the "
         f"votes of a quorum; got {votes.votes_per_block:g}. Leave it out, or give certificates = "
         '"none".'),
        (has_certificates and not network.vote_phases, "certificates",
         f'certificates must be "none" without vote_phases; got {network.certificates!r}.'),
        ((network.certificates == "broadcast" or network.pipelined) and network.law != "uplink",
         "law", 'law must be "uplink" with certificates = "broadcast" or pipelined; got '
         f"{network.law!r}."),
        (network.pipelined and (network.vote_phases != 2 or network.certificates == "next-block"),
         "pipelined", 'pipelined must be false unless vote_phases is 2 and certificates is "none" '
         'or "broadcast"; got true.'),
        (is_regional and (network.hop_wait_seconds > 0 or network.extra_hops > 0),
         "hop_wait_seconds", "hop_wait_seconds and extra_hops must be 0 with regions, which have "
         f"no single latency; got {network.hop_wait_seconds:g} and {network.extra_hops}."),
        (0 < chain.phase_b_days < chain.phase_a_days, "phase_b_days",
         f"phase_b_days must be at least phase_a_days, {chain.phase_a_days:g}; got "
         f"{chain.phase_b_days:g}."),
        (transaction.signatures > 1 and not transaction.envelope_bytes, "signatures",
         "signatures must be 1 with pqchain's encoding, which has one; got "
         f"{transaction.signatures:g}. Give envelope_bytes."),
        (bool(limits.block_weight) and limits.witness_discount > limits.block_weight,
         "block_weight",
         f"block_weight must be at least the weight of a byte, {limits.witness_discount:g}; got "
         f"{limits.block_weight:g}."),
        (limits.verification_gas > 0 and not chain.baseline, "verification_gas",
         "verification_gas must be 0 without a baseline, whose time prices a verification; got "
         f"{limits.verification_gas:g}."),
        (bool(limits.gas_prices) and not limits.block_gas, "gas_prices",
         "gas_prices must be left out without block_gas, the limit that they count towards; got "
         f"prices of {', '.join(limits.gas_prices)}."),
        (transaction.witness_rule == "p2mr"
         and not (transaction.envelope_bytes and chain.key_mode == "inline"), "witness_rule",
         'witness_rule must be "fixed" unless key_mode is inline and envelope_bytes is given, '
         f"because P2MR reveals the key in a script; got {transaction.witness_rule!r}."),
        (transaction.merkle_depth > 0 and transaction.witness_rule != "p2mr", "merkle_depth",
         'merkle_depth must be 0 unless witness_rule is "p2mr"; got '
         f"{transaction.merkle_depth}."),
        (votes.voting_gas > 0 and not votes.votes_in_block, "voting_gas",
         f"voting_gas must be 0 unless votes_in_block is true; got {votes.voting_gas:g}."),
        (network.upload_copies > 0 and not chain.block_seconds, "upload_copies",
         "upload_copies must be 0 where block_seconds is 0, because blocks wait for "
         f"finality; got {network.upload_copies}."),
        (network.upload_copies > 0 and network.rate_bits_per_second is None and not is_regional,
         "upload_copies", f"upload_copies must be 0 with {network.law}, which has no links; got "
         f"{network.upload_copies}."),
        (votes.final_blocks > 0 and not chain.block_seconds, "final_blocks",
         "final_blocks must be 0 where block_seconds is 0, because blocks wait for finality; got "
         f"{votes.final_blocks:g}."),
        (votes.most_votes > 0 and not votes.votes_per_block, "most_votes",
         f"most_votes must be 0 where votes_per_block is 0; got {votes.most_votes:g}."),
        (is_modelled and "Falcon" not in families, "signer",
         f'signer must be "software" without a Falcon scheme; got {signing.signer!r}.'),
        (is_modelled and signing.signing_factor != 1.0, "signing_factor",
         f"signing_factor must be 1 with the signer {signing.signer}; got "
         f"{signing.signing_factor:g}."),
    )  # fmt: skip
    return [(name, message) for is_wrong, name, message in rules if is_wrong]
