"""Write the initial memory contents: microcode, kernels, constants, tables, program.

Options configure the engine: with memory for the tree of a key, it keeps the expanded key between
signatures; without degree 1024 it needs half the memory.
"""

from __future__ import annotations

import argparse
import math
import re
import struct
import sys
from pathlib import Path

from hls_kernels.rtl import registers
from hls_kernels.rtl.assembler import kernels, program

HLS = Path(__file__).parents[2]

MICROWORD = (
    ("ld_on", 1), ("ld_stage", 3), ("ld_to", 5), ("ld_kind", 2), ("ld_arg", 8),
    ("mul_on", 1), ("mul_stage", 3), ("mul_to", 5), ("mul_kind", 3),
    ("mul_a_bank", 2), ("mul_a", 5), ("mul_b_bank", 2), ("mul_b", 5),
    ("add_on", 1), ("add_stage", 3), ("add_to", 5), ("add_subtract", 1), ("add_halve", 1),
    ("add_a_bank", 2), ("add_a", 5), ("add_b_bank", 2), ("add_b", 5),
    ("st_on", 1), ("st_stage", 3), ("st_bank", 2), ("st_from", 5), ("st_negate", 1),
    ("st_place", 8),
)  # fmt: skip
"""Fields of a microword from the top bit."""

KERNEL = (("first", 10), ("last", 10), ("stop", 10), ("more_stages", 3), ("count", 2))
"""Fields of a kernel: first and last word, the word that ends it, stages minus one, iterations."""

COUNTS = ("one", "quarter", "half", "all")

Fields = tuple[tuple[str, int], ...]


def pack(fields: Fields, values: dict[str, int]) -> int:
    """Return the fields as one integer. Raises ValueError if a value does not fit."""
    word = 0
    for name, width in fields:
        value = values.get(name, 0)
        if not 0 <= value < 1 << width:
            raise ValueError(f"{name} must fit into {width} bits; got {value}")
        word = word << width | value
    return word


def width(fields: Fields) -> int:
    """Return the width of a packed word."""
    return sum(bits for _, bits in fields)


def _bits(x: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", x))[0])


class Tables:
    """Arrays and constants of a C++ header, by name."""

    def __init__(self, path: Path) -> None:
        self._text = path.read_text(encoding="utf-8")

    def array(self, name: str) -> list[str]:
        """Return the numbers of an array as text."""
        body = re.search(rf"\b{name}\[[^=]*=\s*\{{(.*?)\}};", self._text, re.S)
        if body is None:
            raise KeyError(name)
        return re.findall(r"0x[0-9a-fA-F]+|-?\d+\.?\d*(?:e-?\d+)?", body.group(1))

    def reals(self, name: str) -> list[float]:
        """Return an array of doubles."""
        return [float(x) for x in self.array(name)]

    def real(self, name: str) -> float:
        """Return one double."""
        match = re.search(rf"\b{name}\s*=\s*([-0-9.e]+);", self._text)
        if match is None:
            raise KeyError(name)
        return float(match.group(1))


def constants(logn: int) -> list[int]:
    """Return the read-only memory: roots, then 256 words of constants and tables."""
    tables, sampler = Tables(HLS / "src" / "tables.h"), Tables(HLS / "src" / "sampler.h")
    roots = [_bits(x) for x in tables.reals("roots")][: 1 << logn]
    tail = [0] * 256
    for top, n in enumerate((512, 1024)):
        values = {
            kernels.ONE_HALF: 0.5, kernels.MAGIC: 1.5 * 2.0**52,
            kernels.INVERSE_Q: tables.real("inverse_q"),
            kernels.MINUS_INVERSE_Q: -tables.real("inverse_q"),
            kernels.INVERSE_128_LOG_2: tables.real("inverse_log_2") / 128,
            kernels.SIGMA_MIN: tables.reals("sigma_min")[top],
            kernels.INVERSE_SIGMA: tables.reals("inverse_sigma")[top],
            kernels.SCALE: 2.0 / n,
        }  # fmt: skip
        for index, value in values.items():
            tail[8 * top + index] = _bits(value)
    for index, text in enumerate(sampler.array("coefficients")):
        tail[kernels.COEFFICIENTS + index] = int(text, 0)
    for z in range(19):
        square = float(z * z) * tables.real("inverse_2_sigma0_squared")
        tail[kernels.SQUARES + z] = _bits(square)
    for z in range(-32, 32):
        tail[kernels.CANDIDATES + z % 64] = _bits(float(z))
    for s in range(128):
        tail[kernels.LOGS + s] = _bits(float(s) * tables.real("log_2"))
    return roots + tail


def half_gaussian() -> list[int]:
    """Return the table of the base sampler: 18 entries of 72 bits, two in a word."""
    tables = Tables(HLS / "src" / "tables.h")
    pairs = zip(tables.array("base_high"), tables.array("base_low"), strict=True)
    entries = [int(high, 0) << 64 | int(low, 0) for high, low in pairs]
    return [second << 72 | first for first, second in zip(entries[::2], entries[1::2], strict=True)]


POWER_BITS, SCALE_BITS = 13, 12


def powers() -> tuple[list[int], int]:
    """Return lower bounds of 2^-y for y in [f/256, (f+1)/256), and the slack of their products.

    The first byte of a threshold is that of 2^-y times the acceptance scale. The product of a bound
    with the scale, cut off after SCALE_BITS, is below it, and at most the slack below it. Both have
    a margin of 10^-6 for the rounding errors of x, which are below 10^-12.
    """
    margin = 1e-6
    bounds, slack = [], 0
    for index in range(256):
        high, low = (2.0 ** (POWER_BITS - f / 256) for f in (index, index + 1))
        below, above = math.floor(low * (1 - margin)), math.ceil(high * (1 + margin))
        bounds.append(below)
        slack = max(slack, *(above * (scale + 1) - below * scale for scale in (0, 2**SCALE_BITS)))
    return bounds, slack


def header(built: list[kernels.Kernel], at: program.Layout, microwords: int, logn: int) -> str:
    """Return the SystemVerilog header of constants and types."""
    numbers = {f"KERNEL_{kernel.name.upper()}": index for index, kernel in enumerate(built)}
    numbers |= {f"OP_{name.upper()}": index for index, name in enumerate(program.OPCODES)}
    numbers |= {
        "MICROWORD_BITS": width(MICROWORD), "MICROWORDS": microwords,
        "KERNEL_BITS": width(KERNEL), "INSTRUCTION_BITS": width(program.FIELDS),
        "MAX_LOGN": logn, "LANES": len(kernels.LANES), "DRAWS": kernels.DRAWS,
        "FIRST_DRAWS": sum(sample == 0 for sample, _ in kernels.LANES),
        "EXACT_LANE": kernels.EXACT_LANE, "POWER_BITS": POWER_BITS, "SCALE_BITS": SCALE_BITS,
        "POWER_SLACK": powers()[1], "SCALE_REGISTER": kernels.SCALE_REGISTER,
        "FIRST_FRACTION": kernels.FIRST_FRACTION, "POLYNOMIALS": at.polynomials,
        "PLACE_T0": at.t0, "PLACE_T1": at.t1, "PLACE_FRAMES": at.frames, "PLACE_GRAM": at.gram,
        "PLACE_TOP_G00": at.top_g00, "PLACE_TREE": at.tree, "LEVEL_Z": at.z,
        "KEEPS_KEY": int(at.tree > 0), "CONDITION_KEY_KEPT": program.KEY_KEPT,
        "PART_TARGET": program.TARGET, "PART_INTEGERS": program.TARGET_AS_INTEGERS,
    }  # fmt: skip
    text = ["// Made by hls_kernels/rtl/assembler; do not edit."]
    text += [f"localparam int {name} = {value};" for name, value in numbers.items()]
    text += [
        f"localparam logic [4:0] NODE_{name.upper()} = {program.FIRST_REGISTER + index};"
        for index, name in enumerate(program.REGISTERS)
    ]
    text.append(registers.systemverilog().rstrip("\n"))
    lanes = "".join(f"{draw:03b}" for _, draw in reversed(kernels.LANES))
    text.append(
        f"localparam logic [{3 * len(kernels.LANES) - 1}:0] LANE_DRAW = {len(lanes)}'b{lanes};"
    )
    for name, fields in (
        ("microword", MICROWORD),
        ("kernel", KERNEL),
        ("instruction", program.FIELDS),
    ):
        text.append("typedef struct packed {")
        text += [f"    logic [{bits - 1}:0] {field};" for field, bits in fields]
        text.append(f"}} {name}_t;")
    return "\n".join(text) + "\n"


def write(folder: Path, logn: int = 10, *, fast: bool = False) -> str:
    """Write every file; return a summary."""
    folder.mkdir(parents=True, exist_ok=True)
    at = program.FAST if fast else program.COMPACT
    built = kernels.all_kernels(tree=fast)
    microcode: list[int] = []
    entries, listing = [], []
    for kernel in built:
        first = len(microcode)
        microcode += [pack(MICROWORD, row) for row in kernel.microwords()]
        fields = {
            "first": first, "last": len(microcode) - 1,
            "stop": first + (kernel.length - 1) % kernel.interval,
            "more_stages": kernel.stages - 1, "count": COUNTS.index(kernel.count),
        }  # fmt: skip
        entries.append(pack(KERNEL, fields))
        listing.append(
            f"{kernel.name:18} {kernel.count:8} at {first:4} interval {kernel.interval:4} "
            f"stages {kernel.stages} length {kernel.length:4} operations {len(kernel.operations)}"
        )
    used, microcode_depth = len(microcode), 1 << (len(microcode) - 1).bit_length()
    instructions = program.assemble(program.program(at), [kernel.name for kernel in built])
    images = {
        "microcode": (microcode, microcode_depth, width(MICROWORD)),
        "kernels": (entries, 32, width(KERNEL)),
        "program": (instructions, 64, width(program.FIELDS)),
        "half_gaussian": (half_gaussian(), 16, 144),
        "powers": (powers()[0], 256, POWER_BITS),
        "constants": (constants(logn), 0, 64),
    }
    for name, (image, depth, bits) in images.items():
        if depth and len(image) > depth:
            raise ValueError(f"{name} must have at most {depth} words; got {len(image)}")
        image = image + [0] * (depth - len(image))
        digits = -(-bits // 4)
        (folder / f"{name}.hex").write_text("".join(f"{word:0{digits}x}\n" for word in image))
    (folder / "falcon_program.svh").write_text(header(built, at, microcode_depth, logn))
    names = ", ".join(f"KERNEL_{kernel.name.upper()}" for kernel in built)
    (folder / "kernel_numbers.h").write_text(
        "// Made by hls_kernels/rtl/assembler; do not edit.\n#pragma once\n"
        f"enum Kernel {{ {names}, KERNELS }};\n"
        "static const char *const kernel_names[] = {"
        + ", ".join(f'"{kernel.name}"' for kernel in built)
        + f"}};\nenum {{ SCALE_BITS = {SCALE_BITS} }};\n#define KEEPS_KEY {int(fast)}\n"
        f"#define BANK_COUNT {-(-(at.polynomials << logn) // 1024)}\n" + registers.c_header()
    )
    return "\n".join(listing) + (
        f"\n{used} microwords of {width(MICROWORD)} bits, {len(instructions)} instructions of "
        f"{width(program.FIELDS)} bits"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--logn", type=int, choices=(9, 10), default=10)
    parser.add_argument("--fast", action="store_true", help="memory for the tree of a key")
    options = parser.parse_args()
    sys.stdout.write(write(options.folder, options.logn, fast=options.fast) + "\n")
