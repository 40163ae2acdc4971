set part xczu7ev-ffvc1156-2-e
set board_part xilinx.com:zcu104:part0:1.1
set processor zynqmp
set frequency 200
