# Vivado: resources and timing of the RTL engine alone on a board's part, placed and routed.
#   vivado -mode batch -source rtl/boards/out_of_context.tcl -tclargs <folder of the board> <images>
# Run from hls_kernels after `make rtl-rom`. Writes <board>/out/ooc_*.txt. Not run by the authors.
if {[llength $argv] != 2} { error "out_of_context.tcl <folder of the board> <images>, got: $argv" }
lassign $argv board images
source [file join $board board.tcl]   ;# part, frequency
create_project -in_memory -part $part
read_verilog -sv [glob rtl/core/*.sv]
set_property include_dirs [list $images] [current_fileset]
synth_design -top falcon_sign -part $part -mode out_of_context -generic "ROM=\"$images/\""
create_clock -period [expr {1000.0 / $frequency}] -name clock [get_ports ap_clk]
opt_design
place_design
phys_opt_design
route_design
file mkdir $board/out
report_utilization -hierarchical -file $board/out/ooc_utilization.txt
report_timing_summary -file $board/out/ooc_timing.txt
set slack [get_property SLACK [get_timing_paths -max_paths 1]]
puts "slack at $frequency MHz: $slack ns"
