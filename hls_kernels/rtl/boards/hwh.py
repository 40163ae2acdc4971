"""Write the hardware description (.hwh) of an overlay with the RTL engine, as Vivado would.

`python -m hls_kernels.rtl.boards.hwh <file>` writes only what pynq reads. The registers are those
of package_ip.tcl, so that a mistake there is found without Vivado.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

TCL = Path(__file__).with_name("package_ip.tcl")


def registers() -> dict[str, int]:
    """Return the offsets of the registers in package_ip.tcl, by name."""
    text = TCL.read_text(encoding="utf-8")
    match = re.search(r"foreach \{name offset\} \{(.*?)\}", text, re.S)
    if match is None:
        raise ValueError(f"{TCL.name} declares no registers")
    values = match.group(1).split()
    return {name: int(offset, 16) for name, offset in zip(values[::2], values[1::2], strict=True)}


def identity() -> str:
    """Return vendor, library, name and version of the core in package_ip.tcl."""
    text = TCL.read_text(encoding="utf-8")
    vendor = re.search(r"-vendor (\S+) -library (\S+)", text)
    keys = ("name", "version")
    name, version = (re.search(rf"set_property {key} (\S+) \$core", text) for key in keys)
    if vendor is None or name is None or version is None:
        raise ValueError(f"{TCL.name} does not set vendor, library, name and version")
    return f"{vendor.group(1)}:{vendor.group(2)}:{name.group(1)}:{version.group(1)}"


def describe() -> str:
    """Return the hardware description as XML text."""
    system = ET.Element("EDKSYSTEM", EDWVERSION="1.2", TIMESTAMP="", VIVADOVERSION="2021.1")
    about = {"ARCH": "zynq", "DEVICE": "7z020", "NAME": "falcon", "PACKAGE": "clg400"}
    ET.SubElement(system, "SYSTEMINFO", {**about, "SPEEDGRADE": "-1"})
    ET.SubElement(system, "EXTERNALPORTS")
    ET.SubElement(system, "EXTERNALINTERFACES")
    modules = ET.SubElement(system, "MODULES")
    core = _module(modules, "falcon_sign_0", identity(), "PERIPHERAL")
    block = ET.SubElement(
        ET.SubElement(core, "ADDRESSBLOCKS"), "ADDRESSBLOCK", ACCESS="read-write",
        INTERFACE="s_axi_control", NAME="Reg", RANGE="65536", USAGE="register",
    )  # fmt: skip
    register_list = ET.SubElement(block, "REGISTERS")
    for name, offset in registers().items():
        register = ET.SubElement(register_list, "REGISTER", NAME=name)
        values = {
            "DESCRIPTION": name, "ADDRESS_OFFSET": hex(offset), "SIZE": "32",
            "ACCESS": "read-write", "IS_ENABLED": "true", "RESET_VALUE": "0",
        }  # fmt: skip
        for key, value in values.items():
            ET.SubElement(register, "PROPERTY", NAME=key, VALUE=value)
        ET.SubElement(register, "FIELDS")
    ET.SubElement(core, "PARAMETERS")
    ET.SubElement(core, "PORTS")
    interfaces = ET.SubElement(core, "BUSINTERFACES")
    bus = {"BUSNAME": "control", "DATAWIDTH": "32", "VLNV": "xilinx.com:interface:aximm:1.0"}
    ET.SubElement(interfaces, "BUSINTERFACE", {**bus, "NAME": "s_axi_control", "TYPE": "SLAVE"})
    processor = _module(modules, "ps", "xilinx.com:ip:processing_system7:5.5", "PROCESSOR")
    parameters = ET.SubElement(processor, "PARAMETERS")
    for clock in range(4):
        ET.SubElement(
            parameters, "PARAMETER", NAME=f"PCW_FPGA_FCLK{clock}_ENABLE", VALUE=str(int(clock == 0))
        )
        for divisor in range(2):
            name = f"PCW_FCLK{clock}_PERIPHERAL_DIVISOR{divisor}"
            ET.SubElement(parameters, "PARAMETER", NAME=name, VALUE="1")
    ET.SubElement(processor, "PORTS")
    interfaces = ET.SubElement(processor, "BUSINTERFACES")
    ET.SubElement(interfaces, "BUSINTERFACE", {**bus, "NAME": "M_AXI_GP0", "TYPE": "MASTER"})
    ranges = ET.SubElement(processor, "MEMORYMAP")
    ET.SubElement(
        ranges, "MEMRANGE", ADDRESSBLOCK="Reg", BASENAME="C_BASEADDR", BASEVALUE="0x43C00000",
        HIGHNAME="C_HIGHADDR", HIGHVALUE="0x43C0FFFF", INSTANCE="falcon_sign_0", IS_DATA="TRUE",
        IS_INSTRUCTION="FALSE", MASTERBUSINTERFACE="M_AXI_GP0", MEMTYPE="REGISTER",
        SLAVEBUSINTERFACE="s_axi_control",
    )  # fmt: skip
    ET.indent(system)
    return '<?xml version="1.0" encoding="UTF-8" standalone="no" ?>\n' + ET.tostring(
        system, encoding="unicode"
    )


def _module(parent: ET.Element, name: str, identity_: str, kind: str) -> ET.Element:
    _, _, short, version = identity_.split(":")
    return ET.SubElement(
        parent, "MODULE", COREREVISION="1", FULLNAME=f"/{name}", HWVERSION=version, INSTANCE=name,
        IPTYPE=kind, IS_ENABLE="1", MODCLASS=kind, MODTYPE=short, VLNV=identity_,
    )  # fmt: skip


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Path(sys.argv[1]).write_text(describe(), encoding="utf-8")
