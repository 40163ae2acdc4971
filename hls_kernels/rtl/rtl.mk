# The engine in RTL: needs Verilator and Python; figures need yosys and nextpnr of rtl/synthesis.
#   make rtl         the engine as a shared library, for FalconSigner(512, "simboard", core="rtl")
#   make rtl-test    every check of the netlist, 100 known answers of each degree (up to 12 minutes)
#   make rtl-quick   a part of that, in a minute
#   make mutants     change the netlist in 50 places; a bench must notice each
#   make figures     cycles, cells and a routed clock, into data/falcon/rtl.json
#   make rtl-lint    Verilator's opinion of the source
PYTHON     ?= $(abspath $(firstword $(wildcard ../.venv/bin/python)) $(if $(wildcard ../.venv/bin/python),,python3))
RTL        := $(abspath $(BUILD))/rtl
RTL_EXTRA  ?=
RTL_ROM    := $(RTL)/rom
RTL_CORE   := $(abspath $(or $(RTL_SOURCE),rtl/core))
RTL_UNITS  := fp_add fp_multiply fp_divide fp_convert norm
VERILATOR  ?= verilator
VERILATED   = $(shell $(VERILATOR) --getenv VERILATOR_ROOT)/include
RTL_FLAGS  := -O3 -std=c++17 -fPIC -ffp-contract=off -Wno-unknown-pragmas -Wno-unused-label \
              -I$(abspath src) -I$(abspath rtl/bench) -I$(RTL_ROM)
VERILATE    = $(VERILATOR) --cc --build -O3 $(RTL_ASSERT) --x-assign fast --x-initial fast \
              -Wno-WIDTH -Wno-SYMRSVDWORD -I$(RTL_CORE) -I$(RTL_ROM) -GROM='"$(RTL_ROM)/"'
RTL_ASSERT ?= --assert
RTL_SOURCES = $(wildcard $(RTL_CORE)/*.sv)
RTL_BENCH   = $(wildcard rtl/bench/*.h) rtl/bench/probes.vlt

RTL_PAIRS    ?= 20000
RTL_CASES    ?= 10000000
RTL_DIVIDES  ?= 1000000
RTL_RUNS     ?= 20
RTL_ATTEMPTS ?= 20

.PHONY: rtl-rom figures mutants rtl rtl-test rtl-quick rtl-lint rtl-units rtl-bits
rtl: $(RTL)/libfalcon_rtl.so
rtl-rom: $(RTL_ROM)/program.hex

$(RTL_ROM)/program.hex: $(wildcard rtl/assembler/*.py) src/tables.h src/sampler.h
	cd .. && $(PYTHON) -m hls_kernels.rtl.assembler $(RTL_ROM) > $(RTL).listing.tmp
	mv $(RTL).listing.tmp $(RTL_ROM)/listing.txt

$(RTL)/core/Vfalcon_sign__ALL.a: $(RTL_ROM)/program.hex $(RTL_SOURCES) $(RTL_BENCH)
	$(VERILATE) --savable --top-module falcon_sign --Mdir $(RTL)/core -CFLAGS "$(RTL_FLAGS)" \
	  rtl/bench/probes.vlt $(RTL_SOURCES) > $(RTL)/core.log 2>&1 || { cat $(RTL)/core.log; exit 1; }

RTL_LINK = $(CXX) $(RTL_FLAGS) -I$(RTL)/core -I$(VERILATED) -I$(VERILATED)/vltstd -o $@ $(1) $(RTL_EXTRA) \
	$(RTL)/core/Vfalcon_sign__ALL.a $(VERILATED)/verilated.cpp $(VERILATED)/verilated_save.cpp \
	$(VERILATED)/verilated_threads.cpp -lpthread

$(RTL)/libfalcon_rtl.so: rtl/bench/library.cpp $(RTL)/core/Vfalcon_sign__ALL.a
	$(call RTL_LINK,-shared $<)

$(RTL)/%: rtl/bench/%.cpp $(RTL)/core/Vfalcon_sign__ALL.a
	$(call RTL_LINK,$< src/falcon_sign.cpp)

$(RTL)/units/%: rtl/bench/units.cpp $(RTL_CORE)/%.sv
	@mkdir -p $(RTL)/units
	$(VERILATOR) --cc --exe --build -O3 --x-assign fast --x-initial fast -Wno-WIDTH \
	  --top-module $* --Mdir $(RTL)/obj_$* -CFLAGS "$(RTL_FLAGS) -DUNIT=$* -DIS_$*" \
	  $(RTL_CORE)/$*.sv $(abspath $<) $(RTL_EXTRA) > $(RTL)/$*.log 2>&1 || { cat $(RTL)/$*.log; exit 1; }
	cp $(RTL)/obj_$*/V$* $@

$(RTL)/steps: rtl/bench/steps.cpp $(RTL_ROM)/program.hex $(RTL_SOURCES) $(RTL_BENCH)
	$(VERILATE) --exe --top-module datapath --Mdir $(RTL)/obj_steps -CFLAGS "$(RTL_FLAGS)" \
	  rtl/bench/probes.vlt $(RTL_SOURCES) $(abspath $<) $(RTL_EXTRA) > $(RTL)/steps.log 2>&1 || { cat $(RTL)/steps.log; exit 1; }
	cp $(RTL)/obj_steps/Vdatapath $@

rtl-lint: $(RTL_ROM)/program.hex
	$(VERILATOR) --lint-only -Wall -Wno-WIDTH -Wno-DECLFILENAME -Wno-UNUSED -Wno-SYMRSVDWORD \
	  -I$(RTL_CORE) -I$(RTL_ROM) --top-module falcon_sign $(RTL_SOURCES)

rtl-units: $(RTL_UNITS:%=$(RTL)/units/%)
	$(RTL)/units/fp_add $(RTL_CASES)
	$(RTL)/units/fp_multiply $(RTL_CASES)
	$(RTL)/units/fp_convert $(RTL_CASES)
	$(RTL)/units/fp_divide $(RTL_DIVIDES)
	$(RTL)/units/norm $(RTL_CASES)

RTL_RECORDED := $(VECTORS)/sign_512.bin $(VECTORS)/sign_1024.bin
rtl-bits: $(RTL)/steps $(RTL)/sampler $(RTL)/sign $(RTL)/protocol
	$(RTL)/steps $(RTL_RUNS)
	$(RTL)/sampler $(RTL_PAIRS) $(VECTORS)/samplerz_512.txt $(VECTORS)/samplerz_1024.txt
	$(RTL)/sign $(RTL_ATTEMPTS) $(RTL_RECORDED)
	$(RTL)/protocol $(RTL_RECORDED) $(RTL_PROTOCOL)

rtl-test: rtl-lint rtl-units rtl-bits rtl
	cd .. && $(PYTHON) -m hls_kernels.rtl.known_answers $(RTL)/libfalcon_rtl.so

# An expression changed in each, 50 times; about 10 minutes.
mutants:
	cd .. && $(PYTHON) -m hls_kernels.rtl.mutants $(RTL)/mutants

# data/falcon/rtl.json anew; place and route takes about a quarter of an hour.
figures: rtl
	cd .. && $(PYTHON) -m hls_kernels.rtl.figures cycles cells clock

rtl-quick: $(RTL)/steps $(RTL)/sampler $(RTL)/sign rtl
	$(RTL)/steps 1
	$(RTL)/sampler 1000 $(VECTORS)/samplerz_512.txt
	$(RTL)/sign 1 $(RTL_RECORDED)
