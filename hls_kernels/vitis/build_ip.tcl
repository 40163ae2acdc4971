# Vitis HLS: csim, synthesis and export of one kernel as an IP core.
#   vitis_hls -f vitis/build_ip.tcl <kernel> <part> <clock in ns> [csim]
# Run from hls_kernels. Not run by the authors: Vitis was not available.
set kernel [lindex $argv 2]
set part [lindex $argv 3]
set period [lindex $argv 4]
if {$kernel ni {falcon_sign falcon_engine}} {
    error "kernel '$kernel'; expected falcon_sign or falcon_engine"
}
# GNU C++14 as in the Makefile. Vitis must not fuse or reorder floating-point operations, so
# -funsafe-math-optimizations stays off and config_compile does not allow it.
set flags "-std=c++14 -I[pwd]/src"
open_project -reset build/vitis_$kernel
set_top $kernel
foreach file {falcon_sign falcon_engine} {
    add_files src/$file.cpp -cflags $flags
}
add_files -tb csim/sign.cpp -cflags "$flags -I[pwd]/csim"
open_solution -reset solution -flow_target vivado
set_part $part
create_clock -period $period
config_compile -unsafe_math_optimizations=false
config_interface -m_axi_addr64
if {[lindex $argv 5] eq "csim"} {
    csim_design -argv "[pwd]/csim/vectors/sign_512.bin [pwd]/csim/vectors/sign_1024.bin"
}
csynth_design
export_design -format ip_catalog -vendor xilinx.com -library hls -ipname $kernel -version 1.0 \
    -output build/$kernel.zip
exit
