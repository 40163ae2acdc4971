set part xck26-sfvc784-2LV-c
set board_part xilinx.com:kv260_som:part0:1.4
set processor zynqmp
set frequency 150
