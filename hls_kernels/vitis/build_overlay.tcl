# Vivado: build the bitstream and its description of a falcon_sign core and the processor system.
#   vivado -mode batch -source vitis/build_overlay.tcl -tclargs <folder of the board> [packaged]
# Run from hls_kernels after build_ip.tcl, or with `packaged` after rtl/boards/package_ip.tcl. Not run
# by the authors: Vivado was not available.
set board [lindex $argv 0]
source [file join $board board.tcl]   ;# part, board_part, processor, frequency
set work build/overlay_[file tail $board]
if {[lindex $argv 1] ne "packaged"} {
    file delete -force build/ip/falcon_sign
    file mkdir build/ip
    exec unzip -o -q build/falcon_sign.zip -d build/ip/falcon_sign
}
create_project -force overlay $work -part $part
set_property board_part $board_part [current_project]
set_property ip_repo_paths [file normalize build/ip] [current_project]
update_ip_catalog
create_bd_design falcon
if {$processor eq "zynq7"} {
    set ps [create_bd_cell -type ip -vlnv xilinx.com:ip:processing_system7 ps]
    apply_bd_automation -rule xilinx.com:bd_rule:processing_system7 \
        -config {make_external "FIXED_IO, DDR" apply_board_preset "1"} $ps
    set_property -dict [list CONFIG.PCW_USE_S_AXI_HP0 1 \
        CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ $frequency] $ps
    set master /ps/M_AXI_GP0
    set slave /ps/S_AXI_HP0
} else {
    set ps [create_bd_cell -type ip -vlnv xilinx.com:ip:zynq_ultra_ps_e ps]
    apply_bd_automation -rule xilinx.com:bd_rule:zynq_ultra_ps_e -config {apply_board_preset "1"} $ps
    set_property -dict [list CONFIG.PSU__USE__M_AXI_GP0 1 CONFIG.PSU__USE__M_AXI_GP1 0 \
        CONFIG.PSU__USE__S_AXI_GP2 1 CONFIG.PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ $frequency] $ps
    set master /ps/M_AXI_HPM0_FPD
    set slave /ps/S_AXI_HP0_FPD
}
create_bd_cell -type ip -vlnv xilinx.com:hls:falcon_sign:1.0 falcon_sign_0
apply_bd_automation -rule xilinx.com:bd_rule:axi4 \
    -config [list Master $master Clk Auto] [get_bd_intf_pins falcon_sign_0/s_axi_control]
apply_bd_automation -rule xilinx.com:bd_rule:axi4 \
    -config [list Master /falcon_sign_0/m_axi_gmem Slave $slave Clk Auto] [get_bd_intf_pins $slave]
assign_bd_address
validate_bd_design
make_wrapper -files [get_files falcon.bd] -top -import
generate_target all [get_files falcon.bd]
launch_runs impl_1 -to_step write_bitstream -jobs 4
wait_on_run impl_1
set slack [get_property SLACK [get_timing_paths -max_paths 1]]
if {$slack < 0} {
    error "timing is not met at $frequency MHz; lower `frequency` in $board/board.tcl"
}
file mkdir $board/out
file copy -force [glob $work/overlay.runs/impl_1/*.bit] $board/out/falcon_sign.bit
file copy -force [lindex [glob $work/overlay.gen/sources_1/bd/falcon/hw_handoff/*.hwh] 0] \
    $board/out/falcon_sign.hwh
puts "$board/out/falcon_sign.bit and .hwh, $frequency MHz: slack $slack ns"
