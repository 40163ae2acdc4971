"""Sizes of Pay-to-Merkle-Root inputs, compared with the published vectors of BIP-360."""

import hashlib
import json
from pathlib import Path

import pytest

from pqchain.algorithms import get
from pqchain.chain import p2mr
from pqchain.errors import UsageError
from pqchain.study import load
from pqchain.study.figures import models
from tests.study.plans import ALL_COSTS

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "p2mr.json").read_text("utf-8"))


def tagged(tag, data):
    prefix = hashlib.sha256(tag.encode()).digest()
    return hashlib.sha256(prefix + prefix + data).digest()


def leaves(tree, depth=0):
    """Yield script, leaf version and depth of every leaf of a tree."""
    if isinstance(tree[0], str):
        yield bytes.fromhex(tree[0]), tree[1], depth
    else:
        for branch in tree:
            yield from leaves(branch, depth + 1)


def compact_size(count):
    return bytes([count]) if count < 253 else b"\xfd" + count.to_bytes(2, "little")


def witness(signature_bytes, script, control_block):
    items = (bytes(signature_bytes), script, control_block)
    return bytes([len(items)]) + b"".join(compact_size(len(item)) + item for item in items)


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["id"])
def test_published_vectors_have_these_sizes(vector):
    root = bytes.fromhex(vector["root"])
    listed = list(leaves(vector["tree"]))
    assert len(listed) == len(vector["control_blocks"])
    for (script, version, depth), block in zip(listed, vector["control_blocks"], strict=True):
        control_block = bytes.fromhex(block)
        assert len(control_block) == p2mr.control_block_bytes(depth)
        # The control block proves that the script is in the tree of this root.
        assert control_block[0] == version | 1
        node = tagged("TapLeaf", bytes([version]) + compact_size(len(script)) + script)
        for start in range(1, len(control_block), 32):
            node = tagged("TapBranch", b"".join(sorted((node, control_block[start : start + 32]))))
        assert node == root
        # Scripts of one key and one opcode are those of the model.
        if script[0] == 32 and len(script) == 34:
            assert len(script) == p2mr.script_bytes(32)
            for name in ("Schnorr-secp256k1", "SPHINCS+-SHA2-128s-simple"):
                row = get(name)
                sizes = (row.public_key_bytes, row.signature_bytes)
                expected = len(witness(row.signature_bytes, script, control_block))
                assert p2mr.framing_bytes(name, *sizes, depth) + sum(sizes) == expected


def test_witnesses_have_the_length_of_bip_360():
    for depth, more in ((0, 0), (1, 0), (2, 0), (128, 2)):
        framing = p2mr.framing_bytes("Schnorr-secp256k1", 33, 64, depth)
        assert framing + 33 + 64 == 103 + 32 * depth + more
    for name in ("ML-DSA-44", "Falcon-512", "Falcon-1024"):
        row = get(name)
        key, signature = row.public_key_bytes, row.signature_bytes
        # OP_PUSHDATA2 has three bytes, a length of 253 or more has three.
        script = b"\x4d" + key.to_bytes(2, "little") + bytes(key) + b"\xac"
        expected = len(witness(signature, script, bytes(33)))
        assert p2mr.framing_bytes(name, key, signature, 1) + key + signature == expected


def test_plan_of_bip_360_has_these_witnesses():
    plan = load("bitcoin-p2mr")
    schnorr = models(plan, ALL_COSTS)["Schnorr-secp256k1"]
    # 135 bytes at depth 1, and the share of marker and flag.
    weight = 4 * plan.transaction.envelope_bytes + plan.transaction.signatures * (135 + 1)
    assert schnorr["transaction_weight"] == pytest.approx(weight)
    deeper = models(plan.with_(merkle_depth=3), ALL_COSTS)["Schnorr-secp256k1"]
    assert deeper["transaction_weight"] - weight == pytest.approx(plan.transaction.signatures * 64)


def test_rule_needs_the_key_in_the_transaction():
    plan = load("bitcoin-p2mr")
    for change in ({"key_mode": "registered"}, {"envelope_bytes": 0, "signatures": 1.0}):
        with pytest.raises(UsageError, match='witness_rule must be "fixed" unless'):
            plan.with_(**change)
    with pytest.raises(UsageError, match='merkle_depth must be 0 unless witness_rule is "p2mr"'):
        plan.with_(witness_rule="fixed")
