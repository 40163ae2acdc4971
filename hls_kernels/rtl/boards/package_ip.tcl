# Vivado: the RTL engine as an IP core with the name and registers that the driver expects.
#   vivado -mode batch -source rtl/boards/package_ip.tcl -tclargs <part> <folder of the images>
# Run from hls_kernels after `make rtl-rom`. Not run by the authors: Vivado was not available.
if {[llength $argv] != 2} { error "package_ip.tcl <part> <folder of the images>, got: $argv" }
lassign $argv part images
set target [file normalize build/ip/falcon_sign]
file delete -force $target build/package_ip
file mkdir $target/src
foreach file [glob rtl/core/*.sv $images/*.hex $images/falcon_program.svh] {
    file copy -force $file $target/src
}
create_project -force package_ip build/package_ip -part $part
add_files [glob $target/src/*.sv $target/src/*.hex $target/src/falcon_program.svh]
set_property file_type {Verilog Header} [get_files falcon_program.svh]
set_property file_type {Memory Initialization Files} [get_files *.hex]
# images are found by name in the folder of the sources
set_property generic {ROM=""} [current_fileset]
set_property top falcon_sign [current_fileset]
update_compile_order -fileset sources_1
ipx::package_project -root_dir $target -vendor xilinx.com -library hls -taxonomy /UserIP -force
set core [ipx::current_core]
set_property name falcon_sign $core
set_property version 1.0 $core
set_property display_name "Falcon signing engine (RTL)" $core
set_property value {""} [ipx::get_user_parameters ROM -of_objects $core]
foreach {name kind} {s_axi_control aximm m_axi_gmem aximm} {
    ipx::infer_bus_interfaces xilinx.com:interface:${kind}_rtl:1.0 $core
}
ipx::associate_bus_interfaces -busif s_axi_control -clock ap_clk $core
ipx::associate_bus_interfaces -busif m_axi_gmem -clock ap_clk $core

# A .hwh contains only the registers declared here for an RTL core.
set map [ipx::get_memory_maps s_axi_control -of_objects $core]
if {$map eq ""} { set map [ipx::add_memory_map s_axi_control $core] }
set_property slave_memory_map_ref s_axi_control [ipx::get_bus_interfaces s_axi_control -of_objects $core]
set block [ipx::get_address_blocks -of_objects $map]
if {$block eq ""} { set block [ipx::add_address_block Reg $map] }
set_property range 65536 $block
set_property width 32 $block
foreach {name offset} {
    CTRL 0x00 GIER 0x04 IP_IER 0x08 IP_ISR 0x0c request_1 0x10 request_2 0x14 response_1 0x1c
    response_2 0x20 logn 0x28 status 0x30 status_ctrl 0x34 version 0x40 version_ctrl 0x44
    cycles 0x50 abort 0x58 key 0x60
} {
    set register [ipx::add_register $name $block]
    set_property address_offset $offset $register
    set_property size 32 $register
    incr count
}
ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::check_integrity $core
ipx::save_core $core
puts "falcon_sign: $count registers, packaged in build/ip/falcon_sign"
