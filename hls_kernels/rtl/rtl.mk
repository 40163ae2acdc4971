# The RTL engine: needs Verilator and Python; figures need yosys and nextpnr (`make fpga`).
#   make rtl         the engine as a shared library, for FalconSigner(512, "simboard", core="rtl")
#   make rtl-serial  the engine behind a serial line, as a pseudo-terminal
#   make serial-test 100 known answers of each degree through the serial driver, faults on the line
#   make gate-test   known answers on the netlist of ECP5 cells after synthesis (extra fpga; 10 minutes)
#   make rtl-test    every check of the netlist, 100 known answers of each degree (up to 12 minutes)
#   make rtl-quick   a part of that, in a minute
#   make equality    10^4 random keys and messages compared with the C++ kernel (an hour)
#   make resets      1,000 resets at random cycles, aborts, random power-on state (12 minutes)
#   make mutants     mutation tests: a bench must detect each of 76 changes of the netlist
#   make leaks       10^4 signatures of each degree with two keys: a t-test on the cycles (hours)
#   make rtl-coverage  lines and cover points that the benches reach, and those that they miss
#   make proofs      prove properties of queue, registers and bus with yosys (extra fpga)
#   make figures     cycles, cells, clocks of five placements and the ULX3S, into data/falcon/rtl.json
#   make registers   every list of the registers, from rtl/registers.toml (CHECK=--check: compare)
#   make rtl-lint    Verilator's lint: no warning but those waived in rtl/lint.vlt
PYTHON     ?= $(or $(abspath $(wildcard ../.venv/bin/python)),python3)
RTL        := $(abspath $(BUILD))/rtl
RTL_EXTRA  ?=
RTL_ROM    := $(RTL)/rom
RTL_CORE   := $(abspath $(or $(RTL_SOURCE),rtl/core))
RTL_UNITS  := fp_add fp_multiply fp_divide fp_convert norm
# Configurations, each in a separate BUILD: RTL_FAST=1 for memory that keeps an expanded key,
# RTL_LOGN=9 for a core without degree 1024.
RTL_FAST   ?=
RTL_LOGN   ?= 10
VERILATOR  ?= verilator
VERILATED   = $(shell $(VERILATOR) --getenv VERILATOR_ROOT)/include
RTL_FLAGS  := -std=c++17 -fPIC -ffp-contract=off -Wno-unknown-pragmas -Wno-unused-label \
              -I$(abspath src) -I$(abspath rtl/bench) -I$(RTL_ROM)
# Optimising the code that runs once (OPT_SLOW) would take half of the compile time.
RTL_LEVEL  := -MAKEFLAGS OPT_FAST=-O2 -MAKEFLAGS OPT_SLOW=-O0
RTL_ASSERT ?= --assert
RTL_MODEL   = $(VERILATOR) --cc --build -O3 --x-assign fast --x-initial unique $(RTL_LEVEL) -Wno-WIDTH
VERILATE    = $(RTL_MODEL) $(RTL_ASSERT) -Wno-SYMRSVDWORD -I$(RTL_CORE) -I$(RTL_ROM) \
              -GROM='"$(RTL_ROM)/"'
RTL_SOURCES = $(wildcard $(RTL_CORE)/*.sv)
RTL_COVERED := sign sampler protocol resets
# The model depends on what is read with it, the benches also on headers.
RTL_PROBES := rtl/bench/probes.vlt rtl/bench/checks.sv
RTL_HEADERS = $(wildcard rtl/bench/*.h src/*.h) src/falcon_sign.cpp
# The netlist can be saved, for the comparison of states in protocol, or count coverage.
RTL_COUNT  ?= --savable
# Assertions and cover points that are bound to the sources.
RTL_BOUND  ?=

RTL_PAIRS    ?= 20000
RTL_CASES    ?= 10000000
RTL_DIVIDES  ?= 1000000
RTL_RUNS     ?= 20
RTL_ATTEMPTS ?= 20
RTL_RESETS   ?= 40
SERIAL_FAULTS ?= 5
RTL_KEYS     ?= 10000
RTL_PROCESSES ?= 2

.PHONY: equality registers rtl rtl-rom rtl-serial rtl-gate rtl-test rtl-quick rtl-lint serial-test gate-test rtl-coverage rtl-coverage-benches resets mutants leaks proofs figures
rtl: $(RTL)/libfalcon_rtl.so
rtl-rom: $(RTL_ROM)/program.hex
rtl-serial: $(RTL)/serial_board
rtl-gate: $(RTL)/gate_board

$(RTL_ROM)/program.hex: $(wildcard rtl/assembler/*.py) rtl/registers.py rtl/registers.toml src/tables.h src/sampler.h
	@mkdir -p $(RTL)
	cd .. && $(PYTHON) -m hls_kernels.rtl.assembler $(RTL_ROM) \
	  --logn $(RTL_LOGN) $(RTL_FAST:1=--fast) > $(RTL).listing.tmp
	mv $(RTL).listing.tmp $(RTL_ROM)/listing.txt

$(RTL)/core/Vfalcon_sign__ALL.a: $(RTL_ROM)/program.hex $(RTL_SOURCES) $(RTL_PROBES)
	$(VERILATE) $(RTL_COUNT) --top-module falcon_sign --Mdir $(RTL)/core -CFLAGS "$(RTL_FLAGS)" \
	  rtl/bench/probes.vlt $(RTL_SOURCES) $(RTL_BOUND) > $(RTL)/core.log 2>&1 || { cat $(RTL)/core.log; exit 1; }

# Verilator's runtime, built once for all benches.
RTL_RUNTIME := $(patsubst %,$(RTL)/%.o,verilated verilated_save verilated_threads)
$(RTL_RUNTIME): $(RTL)/%.o:
	@mkdir -p $(RTL)
	$(CXX) $(RTL_FLAGS) -O1 -I$(VERILATED) -I$(VERILATED)/vltstd -c -o $@ $(VERILATED)/$*.cpp

# $(1) folder of the model, $(2) sources and options to link
RTL_LINK = $(CXX) $(RTL_FLAGS) -O2 -I$(1) -I$(VERILATED) -I$(VERILATED)/vltstd -o $@ $(2) $(RTL_EXTRA) \
	$(1)/V*__ALL.a $(RTL_RUNTIME) -lpthread

# pqchain compares size and digest before it loads the library.
RTL_BUILD_RECORD = printf '{"source": "hls_kernels/rtl", "variant": "logn $(RTL_LOGN)$(RTL_FAST:1=, fast)",\n"library_bytes": %s, "library_sha256": "%s"}\n' \
	$$(stat -c %s $@) $$(sha256sum $@ | cut -c 1-64) > $(@D)/build.json

$(RTL)/libfalcon_rtl.so: rtl/bench/library.cpp $(RTL)/core/Vfalcon_sign__ALL.a $(RTL_RUNTIME) $(RTL_HEADERS)
	rm -f $(@D)/build.json
	$(call RTL_LINK,$(RTL)/core,-shared $<)
	$(RTL_BUILD_RECORD)

$(RTL)/%: rtl/bench/%.cpp $(RTL)/core/Vfalcon_sign__ALL.a $(RTL_RUNTIME) $(RTL_HEADERS)
	$(call RTL_LINK,$(RTL)/core,$< src/falcon_sign.cpp)

$(RTL)/obj_steps/Vdatapath__ALL.a: $(RTL_ROM)/program.hex $(RTL_SOURCES) $(RTL_PROBES)
	$(VERILATE) --top-module datapath --Mdir $(@D) -CFLAGS "$(RTL_FLAGS)" \
	  rtl/bench/probes.vlt $(RTL_SOURCES) > $(RTL)/steps.log 2>&1 || { cat $(RTL)/steps.log; exit 1; }
$(RTL)/steps: rtl/bench/steps.cpp $(RTL)/obj_steps/Vdatapath__ALL.a $(RTL_RUNTIME) $(RTL_HEADERS)
	$(call RTL_LINK,$(RTL)/obj_steps,$<)

# The board with a serial line, its bits and time-outs shortened.
RTL_SERIAL  = $(wildcard $(abspath rtl/serial)/*.sv)
SERIAL_PARAMETERS := BIT_CYCLES=4 SILENCE_BITS=12 WATCH_BITS=21
$(RTL)/serial_model/Vfalcon_serial__ALL.a: $(RTL_ROM)/program.hex $(RTL_SOURCES) $(RTL_PROBES) $(RTL_SERIAL)
	$(VERILATE) $(SERIAL_PARAMETERS:%=-G%) --top-module falcon_serial --Mdir $(@D) -CFLAGS "$(RTL_FLAGS)" \
	  rtl/bench/probes.vlt $(RTL_SERIAL) $(RTL_SOURCES) $(RTL_BOUND) > $(RTL)/serial.log 2>&1 \
	  || { cat $(RTL)/serial.log; exit 1; }
$(RTL)/serial_board: rtl/bench/serial_board.cpp $(RTL)/serial_model/Vfalcon_serial__ALL.a $(RTL_RUNTIME)
	$(call RTL_LINK,$(RTL)/serial_model,$(SERIAL_PARAMETERS:%=-D%) $<)

serial-test: $(RTL)/serial_board
	cd .. && $(PYTHON) -m hls_kernels.rtl.serial_line $< --faults $(SERIAL_FAULTS)

# The same board after synthesis: ECP5 cells, simulated by models of yosys's package and of cells.py.
# GATE_BIT_CYCLES=75 simulates the bits of the board, which takes ten times as long.
GATE_BIT_CYCLES ?= 4
GATE_PARAMETERS  = GATE BIT_CYCLES=$(GATE_BIT_CYCLES) SILENCE_BITS=22 WATCH_BITS=28
$(RTL)/gate/post.v: $(RTL_ROM)/program.hex $(RTL_SOURCES) $(RTL_SERIAL) $(wildcard boards/ulx3s/*.*)
	cd .. && $(PYTHON) -m hls_kernels.boards.ulx3s.build $(RTL)/gate --gate $(GATE_BIT_CYCLES)
$(RTL)/gate_model/Vulx3s__ALL.a: $(RTL)/gate/post.v
	$(VERILATOR) --cc --build -O3 --x-assign fast --x-initial fast -MAKEFLAGS OPT_FAST=-O1 \
	  -MAKEFLAGS OPT_SLOW=-O0 -Wno-fatal -Wno-lint -Wno-style -Wno-MULTITOP -Wno-MULTIDRIVEN -DNO_INCLUDES \
	  --top-module ulx3s --Mdir $(@D) -CFLAGS "$(RTL_FLAGS)" $(addprefix $(RTL)/gate/,post.v \
	  models/cells.v models/common_sim.vh models/ccu2c_sim.vh) > $(RTL)/gate.log 2>&1 || { tail $(RTL)/gate.log; exit 1; }
$(RTL)/gate_board: rtl/bench/serial_board.cpp $(RTL)/gate_model/Vulx3s__ALL.a $(RTL_RUNTIME)
	$(call RTL_LINK,$(RTL)/gate_model,$(GATE_PARAMETERS:%=-D%) $<)
gate-test: $(RTL)/gate_board
	cd .. && $(PYTHON) -m hls_kernels.rtl.serial_line $< --count 1

define RTL_UNIT
$(RTL)/units/$(1)_model/V$(1)__ALL.a: $(RTL_CORE)/$(1).sv
	@mkdir -p $$(@D)
	$$(RTL_MODEL) --top-module $(1) --Mdir $$(@D) -CFLAGS "$$(RTL_FLAGS)" $$< > $$(@D).log 2>&1 || { cat $$(@D).log; exit 1; }
$(RTL)/units/$(1): rtl/bench/units.cpp $(RTL)/units/$(1)_model/V$(1)__ALL.a $(RTL_RUNTIME)
	$$(call RTL_LINK,$(RTL)/units/$(1)_model,-DUNIT=$(1) -DIS_$(1) $$<)
endef
$(foreach unit,$(RTL_UNITS),$(eval $(call RTL_UNIT,$(unit))))

registers:
	cd .. && $(PYTHON) -m hls_kernels.rtl.registers $(CHECK)

# Every warning of Verilator; rtl/lint.vlt has the waivers and their reasons. The board's PLL is a stub.
RTL_LINT = $(VERILATOR) --lint-only -Wall -I$(RTL_CORE) -I$(RTL_ROM) rtl/lint.vlt
rtl-lint: $(RTL_ROM)/program.hex
	$(RTL_LINT) --top-module falcon_sign $(RTL_SOURCES)
	$(RTL_LINT) --top-module falcon_serial $(RTL_SERIAL) $(RTL_SOURCES)
	$(RTL_LINT) --top-module few_pins rtl/synthesis/few_pins.sv $(RTL_SOURCES)
	$(RTL_LINT) --top-module ulx3s boards/ulx3s/ulx3s.sv rtl/bench/pll.sv $(RTL_SERIAL) $(RTL_SOURCES)

# Every check is a separate target, so that they run in parallel.
RTL_RECORDED := $(VECTORS)/sign_512.bin $(VECTORS)/sign_1024.bin
RTL_CHECKS := check-answers-1024 check-fast check-answers-512 check-resets check-protocol check-steps \
	check-sampler check-sign $(RTL_UNITS:%=check-%) rtl-lint
.PHONY: $(RTL_CHECKS) check-key
check-answers-1024 check-answers-512: check-answers-%: $(RTL)/libfalcon_rtl.so
	cd .. && $(PYTHON) -m hls_kernels.rtl.known_answers $< --degree $*
check-protocol: $(RTL)/protocol
	$< $(RTL_RECORDED)
check-resets: $(RTL)/resets
	$< $(RTL_RESETS) $(RTL_RECORDED)
check-steps: $(RTL)/steps
	$< $(RTL_RUNS)
check-sampler: $(RTL)/sampler
	$< $(RTL_PAIRS) $(VECTORS)/samplerz_512.txt $(VECTORS)/samplerz_1024.txt
check-sign: $(RTL)/sign
	$< $(RTL_ATTEMPTS) $(RTL_RECORDED)
check-key: $(RTL)/key
	$< $(RTL_ATTEMPTS) $(RTL_RECORDED)
check-fast:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/fast RTL_FAST=1 RTL_ATTEMPTS=4 \
	  check-key check-steps check-answers-512
check-fp_divide: $(RTL)/units/fp_divide
	$< $(RTL_DIVIDES)
$(filter-out check-fp_divide,$(RTL_UNITS:%=check-%)): check-%: $(RTL)/units/%
	$< $(RTL_CASES)

rtl-test:
	@$(MAKE) --no-print-directory -j$(RTL_PROCESSES) --output-sync=target $(RTL_CHECKS)

# An hour for each configuration on two processors.
equality: rtl
	cd .. && $(PYTHON) -m hls_kernels.rtl.equality $(RTL)/libfalcon_rtl.so --count $(RTL_KEYS) \
	  --processes $(RTL_PROCESSES)

resets: $(RTL)/resets
	$< 1000 $(RTL_RECORDED)

# Lines and cover points that the benches reach; every point of rtl/bench/checks.sv has to be.
rtl-coverage:
	$(MAKE) BUILD=$(BUILD)/coverage RTL_COUNT="--coverage-line --coverage-user" RTL_BOUND=rtl/bench/checks.sv \
	  RTL_EXTRA="-DRTL_COVERAGE $(VERILATED)/verilated_cov.cpp" rtl-coverage-benches
	cd .. && $(PYTHON) -m hls_kernels.rtl.coverage $(abspath $(BUILD))/coverage/rtl
rtl-coverage-benches: $(RTL_COVERED:%=$(RTL)/%)

# Takes minutes on one processor, because all mutants are in one build.
mutants:
	cd .. && $(PYTHON) -m hls_kernels.rtl.mutants $(RTL)/mutants

leaks: rtl
	cd .. && $(PYTHON) -m hls_kernels.rtl.leaks $(RTL)/libfalcon_rtl.so --processes $(RTL_PROCESSES)

proofs: rtl-rom
	cd .. && $(PYTHON) -m hls_kernels.rtl.proofs

# Regenerate data/falcon/rtl.json; five placements of a netlist take about half an hour, and are not
# repeated for the same netlist.
figures: rtl
	$(MAKE) BUILD=$(BUILD)/fast RTL_FAST=1 rtl
	$(MAKE) BUILD=$(BUILD)/compact_512 RTL_LOGN=9 rtl
	$(MAKE) BUILD=$(BUILD)/fast_512 RTL_FAST=1 RTL_LOGN=9 rtl
	cd .. && $(PYTHON) -m hls_kernels.rtl.figures cycles cells clock board

rtl-quick: $(RTL)/steps $(RTL)/sampler $(RTL)/sign $(RTL)/resets rtl
	$(RTL)/steps 1
	$(RTL)/sampler 4000 $(VECTORS)/samplerz_512.txt
	$(RTL)/sign 1 $(RTL_RECORDED)
	$(RTL)/resets 4 $(RTL_RECORDED)
