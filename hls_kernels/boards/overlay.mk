# From sources to boards/<board>/out/falcon_sign.bit and .hwh, for the board whose Makefile includes
# this. Needs Vitis HLS and Vivado. PART and PERIOD are the board's.
HLS := ../..

.PHONY: all csim clean
all: out/falcon_sign.bit

$(HLS)/build/falcon_sign.zip: $(wildcard $(HLS)/src/*)
	@command -v vitis_hls >/dev/null || { echo "vitis_hls is not on the path: source settings64.sh of Vitis"; exit 1; }
	cd $(HLS) && vitis_hls -f vitis/build_ip.tcl falcon_sign $(PART) $(PERIOD)

out/falcon_sign.bit: $(HLS)/build/falcon_sign.zip board.tcl
	cd $(HLS) && vivado -mode batch -source vitis/build_overlay.tcl -tclargs boards/$(notdir $(CURDIR))

csim:
	cd $(HLS) && vitis_hls -f vitis/build_ip.tcl falcon_sign $(PART) $(PERIOD) csim

clean:
	rm -rf out $(HLS)/build/falcon_sign.zip
