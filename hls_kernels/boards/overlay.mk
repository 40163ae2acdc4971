# Build boards/<board>/out/falcon_sign.bit and .hwh for the board whose Makefile includes this and
# sets PART and PERIOD. Needs Vitis HLS and Vivado.
HLS := ../..

IMAGES := $(abspath $(HLS))/build/rtl/rom
VIVADO := command -v vivado >/dev/null || { echo "vivado is not on the path: source settings64.sh"; exit 1; }

.PHONY: all rtl out-of-context csim clean
all: out/falcon_sign.bit

# The same overlay with the RTL engine: needs Vivado only.
rtl: board.tcl $(wildcard $(HLS)/rtl/core/*)
	@$(VIVADO)
	$(MAKE) -C $(HLS) rtl-rom
	cd $(HLS) && vivado -mode batch -source rtl/boards/package_ip.tcl -tclargs $(PART) $(IMAGES)
	cd $(HLS) && vivado -mode batch -source vitis/build_overlay.tcl -tclargs boards/$(notdir $(CURDIR)) packaged

out-of-context: board.tcl
	@$(VIVADO)
	$(MAKE) -C $(HLS) rtl-rom
	cd $(HLS) && vivado -mode batch -source rtl/boards/out_of_context.tcl -tclargs boards/$(notdir $(CURDIR)) $(IMAGES)

$(HLS)/build/falcon_sign.zip: $(wildcard $(HLS)/src/*)
	@command -v vitis_hls >/dev/null || { echo "vitis_hls is not on the path: source settings64.sh of Vitis"; exit 1; }
	cd $(HLS) && vitis_hls -f vitis/build_ip.tcl falcon_sign $(PART) $(PERIOD)

out/falcon_sign.bit: $(HLS)/build/falcon_sign.zip board.tcl
	cd $(HLS) && vivado -mode batch -source vitis/build_overlay.tcl -tclargs boards/$(notdir $(CURDIR))

csim:
	cd $(HLS) && vitis_hls -f vitis/build_ip.tcl falcon_sign $(PART) $(PERIOD) csim

clean:
	rm -rf out $(HLS)/build/falcon_sign.zip
