"""Mutation tests of the netlist: each mutant changes one expression, and a bench must fail.

`python -m hls_kernels.rtl.mutants <folder>` puts all mutants into one build and selects one at run
time, so that each bench is built once. Exit code 1 if a mutant survives, or if a bench fails
without a mutant.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tqdm import tqdm

HLS = Path(__file__).parents[1]
CORE = HLS / "rtl" / "core"

STEPS, SAMPLER, SIGN, PROTOCOL, RESETS = "steps", "sampler", "sign", "protocol", "resets"
UNITS = ("fp_add", "fp_multiply", "fp_divide", "fp_convert", "norm")

MUTANTS: dict[str, list[tuple[str, str]]] = {
    "fp_add": [
        ("|distance2[10:6]", "|distance2[10:7]"),
        ("|wide[7:0]", "|wide[6:0]"),
        ("fine[0] | off3 | (|off_fine)", "fine[0] | (|off_fine)"),
        ("|some ? sign5 : minus5", "sign5"),
        ("sum7[3] & (sum7[4] | (|sum7[2:0]))", "sum7[3]"),
        ("a[62:0] < b[62:0]", "a[62:52] < b[62:52]"),
        ("zero7 | exponent7[11] | ~|exponent7", "zero7 | exponent7[11]"),
    ],
    "fp_multiply": [
        ("|below | (|product[8:0]) | (above_two & product[9])", "(|product[8:0])"),
        ("kept[0] & (kept[1] | sticky)", "kept[0]"),
        ("~|a[62:52] | ~|b[62:52]", "~|a[62:52]"),
        ("(first ? 64'b0 : product)", "product"),
        ("zero6 | exponent6[11] | (exponent6 == '0 & ~above_two)", "zero6 | exponent6[11]"),
    ],
    "fp_divide": [
        ("root_in ? 6'd54 : 6'd28", "root_in ? 6'd52 : 6'd28"),
        ("(whole & digits[0]) | (|rest)", "1'b0"),
        ("x[52] ? mantissa : mantissa << 1", "mantissa"),
    ],
    "fp_convert": [
        ("off2 | (|(value2[6:0] & ~(7'h7f << shift2)))", "off2"),
        ("halvings[6] ? 6'd63 : halvings[5:0]", "halvings[5:0]"),
        ("fine[0] & ~even2", "fine[0]"),
    ],
    "norm": [
        ("48'd70265242", "48'd70265241"),
        ("48'd34034726", "48'd34034727"),
        ("value[50:17] != {34{value[17]}}", "1'b0"),
    ],
    "issue": [
        ("next_turn < iterations", "next_turn <= iterations"),
        ("v.ld_stage == 0 ? {above2, pair2, turn2} : load_past", "load_past"),
        ("turn2[3:0] - {1'b0, v.st_stage}", "turn2[3:0]"),
        ("v.add_b - 5'd1", "v.add_b"),
        ("how[6] ? whole3 >> 2 : '0", "how[6] ? whole3 >> 1 : '0"),
        ("root3 + load_then[31:22]", "root3"),
    ],
    "datapath": [
        ("random < converted_top", "random <= converted_top"),
        ("is_1024 & ~|w.ld_arg[7:3]", "1'b0"),
        ("store_value[63] ^ w.st_negate", "store_value[63]"),
        ("{{46{accept_candidate[5]}}, accept_candidate}", "{46'b0, accept_candidate}"),
        ("~open4 & random < least4", "random < least4"),
        (
            "open4 | (random >= least4 & {1'b0, random} <= most4)",
            "(random >= least4 & {1'b0, random} <= most4)",
        ),
        ("open2 | ~|scale", "open2"),
        ("(product3 + POWER_SLACK[POWER_BITS+SCALE_BITS:0])", "product3"),
        ("exact ? exact_draw : w.ld_arg[2:0]", "w.ld_arg[2:0]"),
        ("exact ? exact_draw : LANE_DRAW[3*bounding[2][2:0] +: 3]", "exact_draw"),
        ("write_l | wipe", "write_l"),
        ("write_m | wipe", "write_m"),
        ("write_a | wipe", "write_a"),
        ("wipe1 ? ~spared[b] : store1 & store_to1[14:10] == b", "store1 & store_to1[14:10] == b"),
    ],
    "sequencer": [
        ("second | second_only ? DRAWS[2:0] : FIRST", "DRAWS[2:0]"),
        ("second | (second_only & judge_draw >= FIRST)", "second | second_only"),
        ("exact & second", "1'b0"),
        ("state == COMPARE | exact", "1'b1"),
        ("heard == against & byte_at != 3'd7", "heard == against"),
        ("tries == MOST_TRIES", "tries == 10'd998"),
        ("left_child ? 4'd14 : 4'd10", "4'd10"),
        ("draws_ready & ~consume", "draws_ready"),
    ],
    "draws": [
        ("position[8:0] >= LAST_START", "position[8:0] > LAST_START"),
        ("sign[0] ? {1'b0, base} + 6'd1 : -{1'b0, base}", "{1'b0, base}"),
        ("more_first ? behind[judge_at] : committed", "behind[judge_at]"),
        ("{1'b0, was != committed[9]} << was", "2'b00"),
        ("word_write | wipe", "word_write"),
        ("state == PUSH | wipe", "state == PUSH"),
    ],
    "chacha": [
        ("{mixed[19:0], mixed[31:20]}", "{mixed[18:0], mixed[31:19]}"),
        ("counter + 64'd1", "counter + 64'd2"),
        ("{diagonal, 1'b0}", "{1'b0, diagonal}"),
        ("setup | step == 3'd4 | wipe", "setup | step == 3'd4"),
        ("(seed_write & seed_at[3:2] == 2'd0) | wipe", "seed_write & seed_at[3:2] == 2'd0"),
    ],
    "mover": [
        ("4'd15 - (state == ASK ? araddr[5:2] : awaddr[5:2])", "4'd15"),
        ("rresp != '0 | rlast != (beats_left == '0)", "rresp != '0"),
        ("words_left == '0 | bresp != '0 | abort", "words_left == '0 | abort"),
        ("second_turn & wipe_at == 10'd7", "wipe_at == 10'd1022"),
        ("state == DRAIN | state == IDLE | state == WIPE", "state == DRAIN"),
        ("{{8{word[7]}}, word[7:0]}", "{8'b0, word[7:0]}"),
        ("short_enough ? {read[15:0], low} : 32'b0", "{read[15:0], low}"),
        ("wipe ? {5'b0, wipe_at} : to1", "to1"),
        ("{1'b1, 64'b0}", "{1'b0, 64'b0}"),
    ],
    "control": [
        ("(old & ~where) | (now & where)", "now"),
        ("wdata[0] & wstrb[0] & ~busy", "wdata[0] & wstrb[0]"),
        ("interrupt_on & |pending", "|pending"),
        ("wdata[0] & wstrb[0] & busy", "wdata[0] & wstrb[0]"),
    ],
    "falcon_sign": [
        ("go | waiting", "go"),
        ("state == WALK & abort & mover_idle", "1'b0"),
        ("state == WALK & abort & mover_idle", "state == WALK & abort"),
    ],
}
"""Original and mutated expressions, by module."""

BENCHES = {
    "issue": (STEPS, SAMPLER), "datapath": (STEPS, SAMPLER, SIGN, PROTOCOL),
    "sequencer": (SAMPLER, SIGN, PROTOCOL, RESETS), "draws": (SAMPLER, SIGN, PROTOCOL),
    "chacha": (SIGN, PROTOCOL), "mover": (PROTOCOL, RESETS), "control": (PROTOCOL, RESETS),
    "falcon_sign": (PROTOCOL, RESETS),
}  # fmt: skip
"""Benches that can detect mutants of a module, the fastest first; units have separate benches."""


def mutated(module: str, first: int) -> str:
    """Return a module with all its mutants, numbered from `first`.

    Raises ValueError if an expression does not occur exactly once.
    """
    text = (CORE / f"{module}.sv").read_text(encoding="utf-8")
    for number, (old, new) in enumerate(MUTANTS[module], first):
        if text.count(old) != 1:
            raise ValueError(f"{old!r} must occur once in {module}.sv; got {text.count(old)}")
        text = text.replace(old, f"(mutant == {number} ? ({new}) : ({old}))")
    ports, end, rest = text.partition("\n);\n")
    declared = (
        'import "DPI-C" function int falcon_mutant();\n'
        "    int mutant;\n    initial mutant = falcon_mutant();\n"
    )
    return ports + end + "    " + declared + rest


def write(folder: Path) -> list[tuple[int, str, str]]:
    """Write the engine with all mutants; return number, module and original expression of each."""
    core = folder / "core"
    core.mkdir(parents=True, exist_ok=True)
    listed = []
    for path in sorted(CORE.glob("*.sv")):
        module, first = path.stem, len(listed) + 1
        text = mutated(module, first) if module in MUTANTS else path.read_text(encoding="utf-8")
        (core / path.name).write_text(text, encoding="utf-8")
        for number, (old, _) in enumerate(MUTANTS.get(module, []), first):
            listed.append((number, module, old))
    (folder / "mutant.cpp").write_text(
        "#include <cstdlib>\n"
        'extern "C" int falcon_mutant() {\n'
        '    const char *const which = std::getenv("MUTANT");\n'
        "    return which ? std::atoi(which) : 0;\n}\n"
    )
    return listed


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the command of each bench."""
    vectors = HLS / "csim" / "vectors"
    recorded = [str(vectors / f"sign_{degree}.bin") for degree in (512, 1024)]
    rtl = folder / "rtl"
    benches = {
        STEPS: [rtl / "steps", "2"],
        SAMPLER: [rtl / "sampler", "4000", vectors / "samplerz_512.txt"],
        SIGN: [rtl / "sign", "1", *recorded],
        PROTOCOL: [rtl / "protocol", *recorded, "quick"],
        RESETS: [rtl / "resets", "12", *recorded],
    }
    cases = {"fp_divide": "20000"}
    for unit in UNITS:
        benches[unit] = [rtl / "units" / unit, cases.get(unit, "1000000")]
    return {name: [str(part) for part in command] for name, command in benches.items()}


def detects(command: list[str], mutant: int) -> bool:
    """Run a bench on a mutant; return whether it fails. Raises TimeoutExpired."""
    environment = os.environ | {"MUTANT": str(mutant)}
    run = subprocess.run(command, env=environment, capture_output=True, timeout=1800, check=False)
    return run.returncode != 0


def main(folder: Path) -> bool:
    """Build, run every mutant on its benches; return whether all were detected."""
    listed = write(folder)
    benches = commands(folder)
    make = ["make", "--silent", "-C", str(HLS), f"BUILD={folder}", f"RTL_SOURCE={folder / 'core'}"]
    make += [f"RTL_EXTRA={folder / 'mutant.cpp'}", f"PYTHON={sys.executable}"]
    subprocess.run([*make, *(command[0] for command in benches.values())], check=True)
    for name, command in benches.items():
        if detects(command, 0):
            sys.exit(f"the bench {name} fails without a mutant")

    def detected_by(mutant: tuple[int, str, str]) -> str | None:
        number, module, _ = mutant
        names = BENCHES.get(module, (module, STEPS))
        return next((bench for bench in names if detects(benches[bench], number)), None)

    survivors = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = tqdm(pool.map(detected_by, listed), "mutants", len(listed), disable=None)
        for (number, module, old), bench in zip(listed, results, strict=True):
            survivors += bench is None
            verdict = f"detected by {bench}" if bench else "SURVIVES"
            sys.stdout.write(f"{number:3} {module:12} {verdict:20} {old}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(listed)} mutants, {survivors} survive\n")
    return not survivors


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(not main(Path(sys.argv[1]).resolve()))
