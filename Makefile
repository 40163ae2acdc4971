# The documented commands. `make help` lists them.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PRESET ?= $(or $(PQCHAIN_PRESET),quick)
PIP    := $(BIN)/python -m pip --disable-pip-version-check
# Modules are compiled to byte code once, also where PYTHONDONTWRITEBYTECODE is set, as in many
# containers. Otherwise each process compiles pqchain and its libraries again, which takes seconds.
unexport PYTHONDONTWRITEBYTECODE
COMPILED := import aioquic.asyncio, cryptography.x509, hypothesis, matplotlib.pyplot, numba, pandas, pytest
# Without native code the install needs no compiler: PQCHAIN_NATIVE=off make
PACKAGES := packages/conform packages/engines
NATIVE_INPUTS := pyproject.toml constraints.txt $(PACKAGES:=/pyproject.toml) $(wildcard hls_kernels/src/*) \
	$(wildcard pqchain/native/* pqchain/native/*/* pqchain/native/*/*/*)

.DEFAULT_GOAL := install
.PHONY: install reproduce test check lab notebooks wheel sdist wheel-aarch64 wheel-armv7l clean help
.PHONY: test-long test-memory test-wheel test-aarch64 test-armv7l test-jupyter rtl fpga
.PHONY: measurements bench-overhead bench-correction bench-import bench-chain fuzz-chain bench-peers bench-hawk bench-keys fuzz-hawk
.PHONY: test-board test-oldest bench-m4 bench-codec bench-reencode bench-rainbow fuzz-rainbow bench-slhdsa fuzz-slhdsa test-acvp bench-consensus
.PHONY: sweep-consensus conform engines fuzz-conform fuzz-native attack test-quic sanitize sanitize-quic fuzz-falcon
.PHONY: test-cluster bench-cluster docs simulate-delegates fuzz-delegates bench-delegates

install: $(VENV)/.installed ## make a virtual environment and install pqchain with native code

$(VENV)/.installed: $(NATIVE_INPUTS)
	@echo "pqchain: installing into $(VENV); the first time builds liboqs four times, QUIC and crates once (3 to 6 minutes)"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet -c constraints.txt uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt \
		scikit-build-core -r pyproject.toml --extra dev --extra notebooks
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt \
		--no-deps --no-build-isolation --reinstall-package pqchain --editable . $(PACKAGES:%=--editable %)
	@$(BIN)/python -c "$(COMPILED)"
	@touch $@
	@echo "pqchain: ready; next: . $(BIN)/activate; pqchain doctor"

# Extras of pyproject.toml, in the same environment.
$(VENV)/.browser $(VENV)/.wheel $(VENV)/.fpga: $(VENV)/.%: $(VENV)/.installed
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt \
		-r pyproject.toml --extra $*
	@touch $@

reproduce: install ## measure, execute the notebooks of the works, write results/index.html
	$(BIN)/pqchain reproduce --preset $(PRESET) --output results

# Each process begins with a half of the files, so that shared fixtures are built once, and takes
# single tests of the other half when it has none left.
test: install ## run the tests
	$(BIN)/python -m pytest -n auto --dist worksteal

test-long: install ## run the long tests: more known answers, signatures and scenarios (6 to 10 minutes)
	$(BIN)/python -m pytest -n auto --dist loadgroup -m long

test-cluster: install ## run nodes on ten workers in network namespaces, with faults of all parts (root; 7 minutes)
	$(BIN)/python -m pytest -n 0 -m cluster --timeout 900 tests/cluster

# The debug allocator overwrites freed memory, so that a use after free is detected.
test-memory: install ## run all tests with Python's debug allocator, then a thread stress test (10 minutes)
	PYTHONMALLOC=debug $(BIN)/python -m pytest -n auto --dist loadfile
	PYTHONMALLOC=debug $(BIN)/python -m tests.stress --seconds 120
	$(BIN)/python -m tests.crypto.seeded_threads --processes 200

test-jupyter: $(VENV)/.browser ## run every notebook in JupyterLab, in headless Chromium (3 to 6 minutes)
	$(BIN)/python -m pytest -n 0 -m jupyter tests/notebooks/test_jupyter.py

BOARD := .venv-board
test-board: $(BOARD)/.installed ## test the overlay driver with the real pynq and a simulated board
	$(BOARD)/bin/python -m pytest -n 2 tests/falcon/test_simboard.py tests/falcon/test_signer.py

# pynq 4 needs numpy below 2 and Python below 3.13, so it gets a separate environment.
$(BOARD)/.installed: $(VENV)/.installed
	test -x $(BOARD)/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python $(BOARD)
	$(BIN)/uv pip install --quiet --python $(BOARD)/bin/python "pynq==4.0.0" "setuptools<81" \
		scikit-build-core -r pyproject.toml --extra dev
	$(BIN)/uv pip install --quiet --python $(BOARD)/bin/python \
		--no-deps --no-build-isolation --reinstall-package pqchain --editable . $(PACKAGES:%=--editable %)
	@touch $@

OLDEST := .venv-oldest
test-oldest: $(OLDEST)/.installed ## run the board pages' commands and unit tests with Ubuntu 22.04's packages, as PYNQ images have (needs Python 3.10; 10 minutes)
	PYTHONPATH=. $(OLDEST)/bin/python tests/packaging/oldest.py

# Python 3.10 of this machine, or else the one that uv fetches. The other packages are those that pip
# installs on a board, and those of the tests.
$(OLDEST)/.installed: $(VENV)/.installed tests/packaging/ubuntu-22.04.txt
	python=$$($(BIN)/python -c "from tests.packaging import clean_install; \
		print(clean_install.interpreter('3.10') or '3.10')") && \
	test -x $(OLDEST)/bin/python || $(BIN)/uv venv --quiet --python $$python $(OLDEST) || { \
		echo "test-oldest: not run: no Python 3.10 here; name one: PQCHAIN_PYTHONS=/path/to/python3.10"; exit 1; }
	$(BIN)/uv pip install --quiet --python $(OLDEST)/bin/python --only-binary :all: \
		--no-binary pynq,pynqutils,pynqmetadata -r tests/packaging/ubuntu-22.04.txt adjusttext annotated-types cyclopts pydantic typing-extensions \
		lazy-loader liboqs-python==0.16.0.1 reedsolo rich simpy tomli tqdm coincurve pycryptodome \
		hypothesis pytest pytest-timeout pytest-xdist scikit-build-core
	$(BIN)/uv pip install --quiet --python $(OLDEST)/bin/python \
		--no-deps --no-build-isolation --reinstall-package pqchain --editable . $(PACKAGES:%=--editable %)
	@touch $@

# Not `pip install '.[fpga]'`, which would replace the editable installation.
fpga: $(VENV)/.fpga ## install yosys and nextpnr, which bitstreams, proofs and clocks of the RTL engine need

rtl: ## build the Falcon RTL engine as a shared library for core="rtl" (Debian: verilator)
	$(MAKE) -C hls_kernels rtl

check: install ## check style, types, dependency rules, size and spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/size.py
	$(BIN)/codespell

lab: install ## open the notebooks in JupyterLab
	$(BIN)/python -m jupyterlab notebooks

notebooks: install ## run every notebook in place (N=04: one; OTHERS=1: not those of works; OUT=folder; PRESET=paper)
	PQCHAIN_PRESET=$(PRESET) $(BIN)/python tools/notebooks.py $(N) $(if $(OUT),--output $(OUT)) $(if $(OTHERS),--others)

docs: $(VENV)/.docs ## write the documentation site to docs/_build/html; warnings are errors
	@echo "docs: draws the figures, reads and writes the pages, computes four studies (3 minutes the first time)"
	@$(BIN)/python -m sphinx --fail-on-warning --keep-going --jobs auto \
		$$(test -t 1 || echo --quiet) --doctree-dir docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

$(VENV)/.docs: $(VENV)/.installed
	@$(BIN)/python -c "import sys; sys.exit(sys.version_info < (3, 11) and 'make docs needs Python 3.11')"
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt \
		-r pyproject.toml --extra docs
	@touch $@

# The wheel is built from the sdist, so a file that the sdist lacks fails here. auditwheel reads the
# required C library version from the libraries and names the wheel accordingly. Environment
# variables that change a local build are unset, because others install this wheel.
BUILD_WHEEL = env -u PQCHAIN_NATIVE $(1) $(BIN)/uv build --quiet \
	--no-build-isolation --python $(BIN)/python --out-dir build/dist
AUDITWHEEL := PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist
wheel: $(VENV)/.wheel ## build the sdists, and from them the wheels for Linux, into dist/
	rm -rf dist build/dist
	$(call BUILD_WHEEL)
	$(AUDITWHEEL) build/dist/*.whl
	mv build/dist/*.tar.gz dist
	for package in $(PACKAGES); do $(BIN)/uv build --quiet --no-build-isolation \
		--python $(BIN)/python --out-dir dist $$package || exit 1; done
	@ls -l dist

# Board wheels, by the names of processor and compiler. liboqs is built by a separate cmake; both find
# the toolchain through the environment.
define BOARD_WHEEL
	rm -rf dist/*$(1).whl build/dist
	$(call BUILD_WHEEL,CC=$(2)-gcc CXX=$(2)-g++ _PYTHON_HOST_PLATFORM=linux-$(1) \
		CMAKE_TOOLCHAIN_FILE=$(abspath pqchain/native/toolchains/$(2).cmake))
	$(AUDITWHEEL) build/dist/*.whl
	mv build/dist/*.tar.gz dist
	@ls -l dist
endef
wheel-aarch64: $(VENV)/.wheel ## build the wheel for 64-bit ARM boards (Debian: g++-aarch64-linux-gnu)
	$(call BOARD_WHEEL,aarch64,aarch64-linux-gnu)

wheel-armv7l: $(VENV)/.wheel ## build the wheel for 32-bit ARM boards such as PYNQ-Z2 (Debian: g++-arm-linux-gnueabihf)
	$(call BOARD_WHEEL,armv7l,arm-linux-gnueabihf)

sdist: install ## build only the sdist into dist/
	$(BIN)/uv build --quiet --sdist --no-build-isolation --python $(BIN)/python

test-wheel: wheel ## check the wheel's content, then use it with each Python without compilers (20 minutes)
	$(BIN)/python -m pytest -n 0 -m wheel tests/packaging/test_wheel.py
	$(BIN)/python tests/packaging/clean_install.py dist/*_$$(uname -m).whl

TEST_BOARD_WHEEL = $(BIN)/python -m pytest -n 0 -m wheel --timeout 900 -k "$(1) or sdist" \
	tests/packaging/test_wheel.py tests/crypto/test_boards.py
test-aarch64: wheel-aarch64 ## run known-answer tests of the 64-bit ARM wheel (Debian: qemu-user)
	$(call TEST_BOARD_WHEEL,aarch64)

test-armv7l: wheel-armv7l build/armhf/.unpacked ## run known-answer tests of the 32-bit ARM wheel, and use it in an ARM Python
	$(call TEST_BOARD_WHEEL,armv7l) tests/packaging/test_armv7l.py

build/armhf/.unpacked: tests/packaging/armhf.sh
	sh $< build/armhf

bench-overhead: install ## compare pqchain's timed loop with liboqs's speed program
	$(BIN)/python benchmarks/overhead.py

bench-correction: install ## compare the corrected AVX2 verifier with the uncorrected one
	$(BIN)/python benchmarks/correction.py

bench-m4: install ## count instructions of Falcon signing on a Cortex-M4 under QEMU
	$(BIN)/python benchmarks/cortex_m4.py

bench-import: install ## measure the start-up time of `import pqchain` and `pqchain --help`
	$(BIN)/python benchmarks/startup.py

measurements: install ## measure every scheme with preset paper into data/measurements, unless the machine is busy (12 to 25 minutes)
	$(BIN)/pqchain bench --submit data/measurements

bench-chain: install ## measure block validation on 1, 2 and 4 threads, and signatures verified together, compared with single ones
	$(BIN)/python benchmarks/chain.py && $(BIN)/python benchmarks/blocks.py

fuzz-chain: install ## decode a million mutated blocks (2 to 3 minutes)
	INPUTS=1000000 $(BIN)/python -m pytest -q -n 0 --timeout 0 tests/chain/test_block.py -k fuzzing

bench-peers: install ## compare the fastest code with crates, circl, OpenSSL and Hawk's authors (first builds them: 5 minutes)
	$(BIN)/python benchmarks/compare_peers.py

bench-hawk: install ## compare pqchain's Hawk with Falcon
	$(BIN)/python benchmarks/hawk.py

bench-keys: install ## measure secret-key validation, compared with signing
	$(BIN)/python benchmarks/secret_keys.py

bench-consensus: install ## measure votes of 1024 and 16384 delegates, gossip to 2^20 nodes, and the SimPy engine
	$(BIN)/python benchmarks/consensus.py

sweep-consensus: install ## run 1000 scenarios by pool and by Dask: same bytes, also after killed workers
	$(BIN)/python benchmarks/sweep.py

bench-cluster: install ## compare a cluster with namespaces, and one worker with four (root; 10 minutes)
	PYTHONPATH=. $(BIN)/python benchmarks/cluster.py

bench-delegates: install ## measure executed delegates: message rate, 32 on loopback, cost of QUIC (2 minutes)
	$(BIN)/python benchmarks/delegates.py

TRIALS := PYTHONPATH=. $(BIN)/python tests/delegates
simulate-delegates: install ## simulate delegates with 10,000 seeds of random faults and with injected bugs (SEEDS=N or SEED=N; SCHEDULER=tls://host:8786; 10 minutes)
ifdef SEED
	$(TRIALS)/trials.py --seed $(SEED)
else
	$(TRIALS)/trials.py $(or $(SEEDS),10000) $(if $(SCHEDULER),--scheduler $(SCHEDULER))
	$(TRIALS)/test_trials.py $(if $(SCHEDULER),--scheduler $(SCHEDULER))
endif

fuzz-delegates: install ## send a million mutated messages to a delegate (3 minutes)
	$(TRIALS)/test_fuzz.py 1000000

ATTACK ?=
attack: install build/fuzz/native-fuzz ## run the robustness tests: hostile files, streams and calls, into docs/robustness.md (hours)
	$(BIN)/python -m tests.attacks $(if $(ATTACK),--only "$(ATTACK)")

HAWK := pqchain/native/hawk
HAWK_C = $(filter-out %_glue.c %_study.c,$(wildcard $(HAWK)/*.c)) pqchain/native/shake.c tests/crypto/hawk_fuzz.c
HAWK_FLAGS := -std=c99 -Wall -Wextra -g -Ipqchain/native
SANITIZE := -O2 -fsanitize=address,undefined -fno-sanitize-recover=all
HAWK_AVX2 := -mavx2 -mbmi2 -mpclmul
fuzz-hawk: ## fuzz Hawk: a million mutated inputs with sanitizers, 10,000 round trips (10 minutes; needs AVX2)
	mkdir -p build/fuzz
	$(CC) $(HAWK_FLAGS) $(SANITIZE) -o build/fuzz/hawk-ref $(HAWK_C) $(wildcard $(HAWK)/ref/*.c)
	$(CC) $(HAWK_FLAGS) $(SANITIZE) $(HAWK_AVX2) -o build/fuzz/hawk-avx2 $(HAWK_C) \
		$(wildcard $(HAWK)/avx2/*.c)
	$(CC) $(HAWK_FLAGS) -O3 $(HAWK_AVX2) -o build/fuzz/hawk-rounds $(HAWK_C) \
		$(wildcard $(HAWK)/avx2/*.c)
	build/fuzz/hawk-ref fuzz 1000000
	build/fuzz/hawk-avx2 fuzz 1000000
	build/fuzz/hawk-rounds rounds 10000

bench-slhdsa: install ## compare pqchain's SLH-DSA with liboqs's SPHINCS+, with and without SHA instructions (5 minutes)
	$(BIN)/python benchmarks/slhdsa.py

SLHDSA := pqchain/native/slhdsa
SLHDSA_C = $(filter-out %_glue.c $(SLHDSA)/$(1),$(wildcard $(SLHDSA)/*.c)) pqchain/native/shake.c \
	tests/crypto/slhdsa_fuzz.c
SLHDSA_FUZZ = $(CC) -std=gnu11 -Wall -Wextra -g $(SANITIZE)
SLHDSA_AVX2 := -mavx2 -DSLH_VECTOR_BYTES=32
fuzz-slhdsa: ## fuzz SLH-DSA: a million mutated inputs in each of three builds with sanitizers (20 minutes; needs the SHA instructions)
	mkdir -p build/fuzz
	$(SLHDSA_FUZZ) -o build/fuzz/slhdsa-ref $(call SLHDSA_C,sha256_ni.c)
	$(SLHDSA_FUZZ) $(SLHDSA_AVX2) -o build/fuzz/slhdsa-avx2 $(call SLHDSA_C,sha256_ni.c)
	$(SLHDSA_FUZZ) $(SLHDSA_AVX2) -msha -DSLH_SHA_NI -o build/fuzz/slhdsa-sha-ni $(call SLHDSA_C,sha256_lanes.c)
	for variant in sha-ni avx2 ref; do build/fuzz/slhdsa-$$variant $(or $(INPUTS),1000000) || exit 1; done

test-acvp: install ## run all ACVP vectors of SLH-DSA and ML-KEM on every build (30 minutes; needs go)
	$(BIN)/python -m pytest -n auto -m "acvp or not long" -k "test_acvp or nist" --timeout 1800 \
		tests/crypto/test_slhdsa.py packages/conform/tests/test_models.py

bench-rainbow: install ## compare pqchain's Rainbow with AVX2 with liboqs's portable code
	$(BIN)/python benchmarks/rainbow.py

RAINBOW := pqchain/native/rainbow
RAINBOW_C := $(addprefix $(RAINBOW)/,drbg.c sign.c verify.c) $(SLHDSA)/sha2.c tests/crypto/rainbow_fuzz.c
fuzz-rainbow: ## fuzz Rainbow: a million inputs with sanitizers (2 minutes; needs AVX2)
	mkdir -p build/fuzz
	$(CC) -std=c11 -Wall -Wextra -g $(SANITIZE) -mavx2 -maes -o build/fuzz/rainbow $(RAINBOW_C)
	build/fuzz/rainbow 1000000

FALCON := pqchain/native/falcon
FALCON_C := $(addprefix $(FALCON)/,recovery.c ntt.c codec.c) pqchain/native/shake.c tests/crypto/falcon_fuzz.c
fuzz-falcon: ## fuzz Falcon key recovery: a million signatures with sanitizers (5 minutes)
	mkdir -p build/fuzz
	$(CC) -std=c11 -Wall -Wextra -g $(SANITIZE) -o build/fuzz/falcon $(FALCON_C)
	build/fuzz/falcon 1000000

conform: install ## test verifiers on boundary vectors, into results/conform (15 minutes, then 6)
	$(BIN)/pqchain conform vectors --output results/conform/vectors
	$(BIN)/pqchain conform build
	$(BIN)/pqchain conform run --output results/conform

engines: install ## build and run the engines, into build/engines (20 minutes, then 5)
	mkdir -p build/engines
	$(BIN)/pqchain engine build
	$(BIN)/pqchain engine run simplex --nodes 4,7,16 --bits-per-second 1e8 \
		--algorithm Ed25519,BLS12-381,Falcon-padded-512,ML-DSA-44,ML-DSA-65 \
		--output build/engines/simplex.csv
	$(BIN)/pqchain engine run simplex --mode loopback --nodes 4 \
		--output build/engines/simplex-loopback.csv
	$(BIN)/pqchain engine run cometbft --nodes 4,7 --heights 8 \
		--algorithm Ed25519,ECDSA-secp256k1,ML-DSA-65,ML-DSA-44,Falcon-padded-512 \
		--output build/engines/cometbft.csv
	$(BIN)/pqchain engine run cometbft --mode loopback --nodes 4 --heights 8 \
		--output build/engines/cometbft-loopback.csv
	$(BIN)/pqchain engine run revm --output build/engines/revm.csv

FUZZ_NATIVE := cmake -S pqchain/native -B build/fuzz/native -DPQCHAIN_LATTICE=ON
fuzz-conform: install ## fuzz verifiers: a million mutated vectors with sanitizers, all builds agree (15 minutes)
	PQCHAIN_CACHE=$(abspath build/fuzz/cache) CFLAGS="$(SANITIZE) -g1" CXXFLAGS="$(SANITIZE) -g1" $(FUZZ_NATIVE)
	cmake --build build/fuzz/native --parallel 2 --target liboqs-0.13-ref liboqs-0.13-avx2 \
		liboqs-0.7.1-ref liboqs-0.7.1-avx2 falcon-kernel pqcp-avx2 pqcp-avx512 fn-dsa-avx2 fn-dsa-ref
	$(CC) -std=c11 -Wall -Wextra $(SANITIZE) -g -o build/fuzz/conform packages/conform/tests/fuzz.c
	$(BIN)/python packages/conform/tests/fuzz.py 1000000 build/fuzz/conform build/fuzz/native

comma := ,
FUZZ_OURS := build/fuzz/ours
OURS := falcon-kernel hawk-ref hawk-avx2 pqcp-avx2 fn-dsa-avx2 rainbow-avx2 liboqs-0.13-ref liboqs-0.13-avx2 \
	liboqs-0.7.1-ref slhdsa-avx2 slhdsa-sha-ni
build/fuzz/native-fuzz: tests/crypto/native_fuzz.c $(NATIVE_INPUTS)
	cmake -S pqchain/native -B $(FUZZ_OURS) \
		"-DPQCHAIN_SANITIZE=-g1;-fsanitize=address,undefined;-fno-sanitize-recover=all"
	cmake --build $(FUZZ_OURS) --parallel 2 --target $(OURS)
	$(CC) -std=gnu11 -Wall -Wextra $(SANITIZE) -g -o $@ $<

# Threads that share a library: first with AddressSanitizer, then with ThreadSanitizer.
SHARED := $(OURS) liboqs-0.7.1-avx2 blst-assembly
SHARED_SCHEMES := Falcon-512 SLH-DSA-SHA2-128f Falcon-recovery-512 ML-DSA-44 Dilithium2 MAYO-5 Hawk-512 Rainbow-I-Classic BLS12-381
define SANITIZED_THREADS
	PQCHAIN_QUIC=off cmake -S pqchain/native -B build/sanitize/$(1) "-DPQCHAIN_SANITIZE=-g1;$(2)"
	cmake --build build/sanitize/$(1) --parallel 2 --target $(SHARED)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Ipqchain/native $(subst ;, ,$(2)) -o build/sanitize/$(1)/threads \
		tests/crypto/threads.c -ldl -lpthread
	for library in $(SHARED); do build/sanitize/$(1)/threads 3 \
		build/sanitize/$(1)/$$library/lib/liboqs.so $(SHARED_SCHEMES) || exit 1; done
endef
sanitize: ## test C and Rust code shared by threads with AddressSanitizer and ThreadSanitizer (15 minutes)
	$(call SANITIZED_THREADS,address,-fsanitize=address$(comma)undefined;-fno-sanitize-recover=all)
	$(call SANITIZED_THREADS,thread,-fsanitize=thread)
	$(MAKE) sanitize-quic

fuzz-native: install build/fuzz/native-fuzz ## fuzz the C interface: a million calls per scheme with sanitizers (2 hours)
	$(BIN)/python -m tests.attacks --only "C interface" $(if $(FUZZ),--inputs $(FUZZ))

bench-codec: install ## measure the erasure-code engines on 64 MB, compared with memcpy
	$(BIN)/python benchmarks/codec.py

bench-reencode: install ## measure re-encoding: ten 64 MB blocks in virtual time, one over loopback, messages (3 minutes)
	$(BIN)/python benchmarks/replay.py

QUIC := pqchain/native/quic
test-quic: ## run the QUIC library's tests: mutated datagrams, invalid calls (2 minutes; needs cargo)
	CARGO_TARGET_DIR=$(abspath build/quic) cargo test --release --locked --manifest-path $(QUIC)/Cargo.toml

# ThreadSanitizer has to instrument the standard library too; otherwise it reports its locks as races.
sanitize-quic: ## run the QUIC library's tests with AddressSanitizer and ThreadSanitizer (10 minutes; needs a nightly Rust)
	@cargo +nightly --version > /dev/null 2>&1 && test -d "$$(rustc +nightly --print sysroot)/lib/rustlib/src/rust" || { \
		echo "sanitize-quic: not run: rustup toolchain install nightly --component rust-src"; exit 1; }
	for sanitizer in address thread; do \
		CARGO_TARGET_DIR=$(abspath build/quic)-$$sanitizer RUSTFLAGS=-Zsanitizer=$$sanitizer \
		ASAN_OPTIONS=detect_leaks=1 cargo +nightly test --tests -Zbuild-std --locked \
		--target $$(rustc --print host-tuple) --manifest-path $(QUIC)/Cargo.toml || exit 1; done

clean: ## remove everything built in the checkout; the cache outside stays
	rm -rf $(VENV) $(BOARD) $(OLDEST) build dist results docs/_build docs/notebooks .pytest_cache .mypy_cache .ruff_cache .hypothesis

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20
