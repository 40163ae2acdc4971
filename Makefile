# The documented commands, nothing hidden. `make help` lists them.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PRESET ?= $(or $(PQCHAIN_PRESET),quick)
PIP    := $(BIN)/python -m pip --disable-pip-version-check
# Libraries are compiled to byte code once, also where PYTHONDONTWRITEBYTECODE is set, as in many
# containers: there each process would compile them anew, which takes it five seconds.
COMPILED := import aioquic.asyncio, cryptography.x509, hypothesis, matplotlib.pyplot, numba, pandas, pytest
# Without native code the install needs no compiler: PQCHAIN_NATIVE=off make
NATIVE_INPUTS := pyproject.toml constraints.txt $(wildcard hls_kernels/src/*) \
	$(wildcard pqchain/native/* pqchain/native/*/* pqchain/native/*/*/*)

.DEFAULT_GOAL := install
.PHONY: install reproduce test check notebooks wheel sdist wheel-aarch64 wheel-armv7l clean help
.PHONY: test-long test-memory test-wheel test-aarch64 test-armv7l test-jupyter rtl
.PHONY: measurements bench-overhead bench-correction bench-import bench-chain fuzz-chain bench-hawk bench-keys bench-flood fuzz-hawk
.PHONY: test-board bench-m4 bench-codec bench-reencode bench-rainbow fuzz-rainbow bench-consensus
.PHONY: sweep-consensus findings conform fuzz-conform fuzz-native attack test-quic sanitize sanitize-quic fuzz-falcon
.PHONY: docs simulate-delegates fuzz-delegates bench-delegates

install: $(VENV)/.installed ## make a virtual environment and install pqchain with native code

$(VENV)/.installed: $(NATIVE_INPUTS)
	@echo "pqchain: set up in $(VENV); liboqs is built four times and QUIC once, the first time (3 to 6 minutes)"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet -c constraints.txt uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt \
		scikit-build-core -r pyproject.toml --extra dev
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt \
		--no-deps --no-build-isolation --reinstall-package pqchain --editable .
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -c "$(COMPILED)"
	@touch $@

reproduce: install ## measure, compare with the papers, write results/index.html
	$(BIN)/pqchain reproduce --preset $(PRESET) --output results

# A file stays in one process, so that what its tests share is made once.
test: install ## run the tests
	$(BIN)/python -m pytest -n auto --dist loadfile

test-long: install ## the rest of them: more known answers, signatures and scenarios (1 to 2 minutes)
	$(BIN)/python -m pytest -n auto -m long

# The allocator fills freed memory, so that use after it is freed is noticed.
test-memory: install ## all tests with Python's debug allocator, then threads under stress (10 minutes)
	PYTHONMALLOC=debug $(BIN)/python -m pytest -n auto --dist loadfile
	PYTHONMALLOC=debug $(BIN)/python -m tests.stress --seconds 120
	$(BIN)/python -m tests.crypto.seeded_threads --processes 200

test-jupyter: $(VENV)/.browser ## run every notebook in JupyterLab, in headless Chromium (3 to 6 minutes)
	$(BIN)/python -m pytest -n 0 -m jupyter tests/notebooks/test_jupyter.py

$(VENV)/.browser: $(VENV)/.notebooks
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt \
		-r pyproject.toml --extra browser
	@touch $@

BOARD := .venv-board
test-board: $(BOARD)/.installed ## the overlay's driver on the real pynq and a simulated board
	$(BOARD)/bin/python -m pytest -n 2 tests/falcon/test_simboard.py tests/falcon/test_signer.py

# pynq 4 needs numpy below 2 and Python below 3.13, so it gets an environment of its own.
$(BOARD)/.installed: $(VENV)/.installed
	test -x $(BOARD)/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python $(BOARD)
	$(BIN)/uv pip install --quiet --python $(BOARD)/bin/python "pynq==4.0.0" "setuptools<81" \
		scikit-build-core -r pyproject.toml --extra dev
	$(BIN)/uv pip install --quiet --python $(BOARD)/bin/python \
		--no-deps --no-build-isolation --reinstall-package pqchain --editable .
	@touch $@

rtl: ## the Falcon engine in RTL as a shared library (Debian: verilator), for core="rtl"
	$(MAKE) -C hls_kernels rtl

check: install ## lint, types, walls between modules, spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

notebooks: $(VENV)/.notebooks ## run every notebook in place, from top to bottom
	$(BIN)/python -m nbconvert --to notebook --execute --inplace \
		--ExecutePreprocessor.record_timing=False --ExecutePreprocessor.store_widget_state=False \
		--ExecutePreprocessor.timeout=600 notebooks/*.ipynb

$(VENV)/.notebooks: $(VENV)/.installed
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt \
		-r pyproject.toml --extra notebooks
	@touch $@

docs: $(VENV)/.docs ## write the documentation site to docs/_build/html; warnings are errors
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --jobs auto \
		--doctree-dir docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

$(VENV)/.docs: $(VENV)/.notebooks
	@$(BIN)/python -c "import sys; sys.exit(sys.version_info < (3, 11) and 'make docs needs Python 3.11')"
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt \
		-r pyproject.toml --extra docs
	@touch $@

# The wheel is built from the sdist, so whatever the sdist lacks is missed here. auditwheel reads
# from the libraries which C library they need, and names the wheel accordingly. What an environment
# may leave out or add on one machine does not go into what others install.
BUILD_WHEEL = env -u PQCHAIN_NATIVE -u PQCHAIN_HAWK_SOURCE $(1) $(BIN)/uv build --quiet \
	--no-build-isolation --python $(BIN)/python --out-dir build/dist
AUDITWHEEL := PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist
wheel: $(VENV)/.wheel ## build the sdist, and from it the wheel for Linux, into dist/
	rm -rf dist build/dist
	$(call BUILD_WHEEL)
	$(AUDITWHEEL) build/dist/*.whl
	mv build/dist/*.tar.gz dist
	@ls -l dist

# For boards, by the name of the processor and that of its compiler. liboqs is built by a cmake of its
# own; both find the toolchain through the environment.
define BOARD_WHEEL
	rm -rf dist/*$(1).whl build/dist
	$(call BUILD_WHEEL,CC=$(2)-gcc CXX=$(2)-g++ _PYTHON_HOST_PLATFORM=linux-$(1) \
		CMAKE_TOOLCHAIN_FILE=$(abspath pqchain/native/toolchains/$(2).cmake))
	$(AUDITWHEEL) build/dist/*.whl
	mv build/dist/*.tar.gz dist
	@ls -l dist
endef
wheel-aarch64: $(VENV)/.wheel ## the wheel for 64-bit ARM boards (Debian: g++-aarch64-linux-gnu)
	$(call BOARD_WHEEL,aarch64,aarch64-linux-gnu)

wheel-armv7l: $(VENV)/.wheel ## the wheel for 32-bit ARM boards, as PYNQ-Z2 (Debian: g++-arm-linux-gnueabihf)
	$(call BOARD_WHEEL,armv7l,arm-linux-gnueabihf)

sdist: install ## build only the sdist into dist/
	$(BIN)/uv build --quiet --sdist --no-build-isolation --python $(BIN)/python

$(VENV)/.wheel: $(VENV)/.installed
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt \
		-r pyproject.toml --extra wheel
	@touch $@

test-wheel: wheel ## the wheel's content, then its use on each Python, no compilers (20 minutes)
	$(BIN)/python -m pytest -n 0 -m wheel tests/packaging/test_wheel.py
	$(BIN)/python tests/packaging/clean_install.py dist/*_$$(uname -m).whl

TEST_BOARD_WHEEL = $(BIN)/python -m pytest -n 0 -m wheel --timeout 900 -k "$(1) or sdist" \
	tests/packaging/test_wheel.py tests/crypto/test_boards.py
test-aarch64: wheel-aarch64 ## known answers of the wheel for 64-bit ARM (Debian: qemu-user)
	$(call TEST_BOARD_WHEEL,aarch64)

test-armv7l: wheel-armv7l build/armhf/.unpacked ## the same for 32-bit ARM, and its use in a Python of that processor
	$(call TEST_BOARD_WHEEL,armv7l) tests/packaging/test_armv7l.py

build/armhf/.unpacked: tests/packaging/armhf.sh
	sh $< build/armhf

bench-overhead: install ## our timed loop against liboqs's own speed program, alternating
	$(BIN)/python benchmarks/overhead.py

bench-correction: install ## the corrected AVX2 verifier against the uncorrected one
	$(BIN)/python benchmarks/correction.py

bench-m4: install ## instructions of Falcon's signing on a Cortex-M4 under QEMU
	$(BIN)/python benchmarks/cortex_m4.py

bench-import: install ## how long `import pqchain` and `pqchain --help` take
	$(BIN)/python benchmarks/startup.py

measurements: install ## every scheme with preset paper, into data/measurements (12 to 25 minutes)
	$(BIN)/python benchmarks/measurements.py

bench-chain: install ## a block and its signatures on 1, 2 and 4 threads, against a bare loop of C
	$(BIN)/python benchmarks/chain.py

fuzz-chain: install ## a million damaged blocks through the decoder (2 to 3 minutes)
	$(BIN)/python tests/chain/fuzz.py 1000000

bench-hawk: install ## our Hawk beside Falcon, and beside its authors' published-in-C times
	$(BIN)/python benchmarks/hawk.py

bench-keys: install ## what the look at a secret key costs, beside a signature
	$(BIN)/python benchmarks/secret_keys.py

bench-flood: install ## floods at a node by strangers and by a member: memory, turns, an honest dial
	$(BIN)/python -m tests.wire.flood aioquic
	$(BIN)/python -m tests.wire.flood qh3
	for each in native tcp-tls grpc; do $(BIN)/python -m tests.wire.flood $$each || exit 1; done
	$(BIN)/python -m tests.wire.members

bench-consensus: install ## votes of 1024 and 16384 delegates, gossip to 2^20 nodes, the SimPy reference
	$(BIN)/python benchmarks/consensus.py

sweep-consensus: install ## 1000 scenarios: pool and Dask give the same bytes, killed workers lose nothing
	$(BIN)/python benchmarks/sweep.py

bench-delegates: install ## delegates that run: messages a second, 32 on loopback, QUIC over plain (2 minutes)
	$(BIN)/python benchmarks/delegates.py

TRIALS := PYTHONPATH=. $(BIN)/python tests/delegates
simulate-delegates: install ## 10,000 seeds of random faults, planted mistakes (SEEDS=N or SEED=N; 10 minutes)
ifdef SEED
	$(TRIALS)/trials.py --seed $(SEED)
else
	$(TRIALS)/trials.py $(or $(SEEDS),10000)
	$(TRIALS)/mistakes.py
endif

fuzz-delegates: install ## a million damaged messages into a delegate (3 minutes)
	$(TRIALS)/fuzz.py 1000000

ATTACK ?=
attack: install build/fuzz/native-fuzz ## hostile files, streams and calls by the hundred thousand, into docs/robustness.md (hours)
	$(BIN)/python -m tests.attacks $(if $(ATTACK),--only "$(ATTACK)")

HAWK := pqchain/native/hawk
HAWK_C = $(filter-out %_glue.c %_study.c %authors.c,$(wildcard $(HAWK)/*.c)) tests/crypto/hawk_fuzz.c
HAWK_FLAGS := -std=c99 -Wall -Wextra -g -Ipqchain/native
SANITIZE := -O2 -fsanitize=address,undefined -fno-sanitize-recover=all
HAWK_AVX2 := -mavx2 -mbmi2 -mpclmul
fuzz-hawk: ## a million damaged inputs under the sanitizers, 10 000 round trips (10 minutes; needs AVX2)
	mkdir -p build/fuzz
	$(CC) $(HAWK_FLAGS) $(SANITIZE) -o build/fuzz/hawk-ref $(HAWK_C) $(wildcard $(HAWK)/ref/*.c)
	$(CC) $(HAWK_FLAGS) $(SANITIZE) $(HAWK_AVX2) -o build/fuzz/hawk-avx2 $(HAWK_C) \
		$(wildcard $(HAWK)/avx2/*.c)
	$(CC) $(HAWK_FLAGS) -O3 $(HAWK_AVX2) -o build/fuzz/hawk-rounds $(HAWK_C) \
		$(wildcard $(HAWK)/avx2/*.c)
	build/fuzz/hawk-ref fuzz 1000000
	build/fuzz/hawk-avx2 fuzz 1000000
	build/fuzz/hawk-rounds rounds 10000

bench-rainbow: install ## our Rainbow with AVX2 beside liboqs's portable code
	$(BIN)/python benchmarks/rainbow.py

RAINBOW := pqchain/native/rainbow
RAINBOW_C := $(addprefix $(RAINBOW)/,drbg.c sha256.c sign.c verify.c) tests/crypto/rainbow_fuzz.c
fuzz-rainbow: ## a million hostile inputs under the sanitizers (2 minutes; needs AVX2)
	mkdir -p build/fuzz
	$(CC) -std=c11 -Wall -Wextra -g $(SANITIZE) -mavx2 -maes -o build/fuzz/rainbow $(RAINBOW_C)
	build/fuzz/rainbow 1000000

FALCON := pqchain/native/falcon
FALCON_C := $(addprefix $(FALCON)/,recovery.c ntt.c codec.c shake.c) tests/crypto/falcon_fuzz.c
fuzz-falcon: ## a million hostile signatures with key recovery under the sanitizers (5 minutes)
	mkdir -p build/fuzz
	$(CC) -std=c11 -Wall -Wextra -g $(SANITIZE) -o build/fuzz/falcon $(FALCON_C)
	build/fuzz/falcon 1000000

findings: install ## write docs/papers: what of each work holds, without measuring
	mkdir -p docs/papers
	for key in $(notdir $(wildcard data/papers/*)); do \
		$(BIN)/pqchain papers $$key --findings > docs/papers/$$key.tmp || exit 1; \
		mv docs/papers/$$key.tmp docs/papers/$$key.md; done

conform: install ## which verifiers agree on boundary vectors, in results/conform (10 minutes, then 3)
	$(BIN)/pqchain conform vectors --output results/conform/vectors
	$(BIN)/pqchain conform build
	$(BIN)/pqchain conform run --times --output results/conform

FUZZ_NATIVE := cmake -S pqchain/native -B build/fuzz/native -DPQCHAIN_LATTICE=ON
fuzz-conform: install ## a million damaged vectors under the sanitizers: our builds agree (15 minutes)
	PQCHAIN_CACHE=$(abspath build/fuzz/cache) CFLAGS="$(SANITIZE) -g1" CXXFLAGS="$(SANITIZE) -g1" $(FUZZ_NATIVE)
	cmake --build build/fuzz/native --parallel 2 --target liboqs-0.13-ref liboqs-0.13-avx2 \
		liboqs-0.7.1-ref liboqs-0.7.1-avx2 falcon-kernel
	$(CC) -std=c11 -Wall -Wextra $(SANITIZE) -g -o build/fuzz/conform tests/conform/fuzz.c
	$(BIN)/python tests/conform/fuzz.py 1000000 build/fuzz/conform build/fuzz/native

comma := ,
FUZZ_OURS := build/fuzz/ours
OURS := falcon-kernel hawk-ref hawk-avx2 rainbow-avx2 liboqs-0.13-ref liboqs-0.13-avx2 liboqs-0.7.1-ref
build/fuzz/native-fuzz: tests/crypto/native_fuzz.c $(NATIVE_INPUTS)
	cmake -S pqchain/native -B $(FUZZ_OURS) \
		"-DPQCHAIN_SANITIZE=-g1;-fsanitize=address,undefined;-fno-sanitize-recover=all"
	cmake --build $(FUZZ_OURS) --parallel 2 --target $(OURS)
	$(CC) -std=gnu11 -Wall -Wextra $(SANITIZE) -g -o $@ $<

# Threads that share a library: first with AddressSanitizer, then with ThreadSanitizer in our C.
SHARED := $(OURS) liboqs-0.7.1-avx2 blst-assembly
SHARED_SCHEMES := Falcon-512 Falcon-recovery-512 ML-DSA-44 Dilithium2 MAYO-5 Hawk-512 Rainbow-I-Classic BLS12-381
define SANITIZED_THREADS
	PQCHAIN_QUIC=off cmake -S pqchain/native -B build/sanitize/$(1) "-DPQCHAIN_SANITIZE=-g1;$(2)"
	cmake --build build/sanitize/$(1) --parallel 2 --target $(SHARED)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Ipqchain/native $(subst ;, ,$(2)) -o build/sanitize/$(1)/threads \
		tests/crypto/threads.c -ldl -lpthread
	for library in $(SHARED); do build/sanitize/$(1)/threads 3 \
		build/sanitize/$(1)/$$library/lib/liboqs.so $(SHARED_SCHEMES) || exit 1; done
endef
sanitize: ## our C and Rust under AddressSanitizer and ThreadSanitizer, by threads that share them (15 minutes)
	$(call SANITIZED_THREADS,address,-fsanitize=address$(comma)undefined;-fno-sanitize-recover=all)
	$(call SANITIZED_THREADS,thread,-fsanitize=thread)
	$(MAKE) sanitize-quic

fuzz-native: install build/fuzz/native-fuzz ## a million hostile calls of our C interface per scheme, sanitized (2 hours)
	$(BIN)/python -m tests.attacks --only "C interface" $(if $(FUZZ),--inputs $(FUZZ))

bench-codec: install ## the engines of the erasure code on 64 MB, beside memcpy
	$(BIN)/python benchmarks/codec.py

bench-reencode: install ## ten 64 MB blocks on the virtual clock, one over loopback, messages (3 minutes)
	$(BIN)/python benchmarks/replay.py

QUIC := pqchain/native/quic
test-quic: ## the QUIC library's own tests: damaged datagrams, calls without sense (2 minutes; needs cargo)
	CARGO_TARGET_DIR=$(abspath build/quic) cargo test --release --locked --manifest-path $(QUIC)/Cargo.toml

# ThreadSanitizer has to see the standard library too, or it takes its locks for races.
sanitize-quic: ## the QUIC library's tests under AddressSanitizer and ThreadSanitizer (10 minutes; needs a nightly Rust)
	@cargo +nightly --version > /dev/null 2>&1 && test -d "$$(rustc +nightly --print sysroot)/lib/rustlib/src/rust" || { \
		echo "sanitize-quic: not run: rustup toolchain install nightly --component rust-src"; exit 1; }
	for sanitizer in address thread; do \
		CARGO_TARGET_DIR=$(abspath build/quic)-$$sanitizer RUSTFLAGS=-Zsanitizer=$$sanitizer \
		ASAN_OPTIONS=detect_leaks=1 cargo +nightly test --tests -Zbuild-std --locked \
		--target $$(rustc --print host-tuple) --manifest-path $(QUIC)/Cargo.toml || exit 1; done

clean: ## remove what was built here; the cache outside the checkout stays
	rm -rf $(VENV) $(BOARD) build dist results docs/_build docs/notebooks .pytest_cache .mypy_cache .ruff_cache .hypothesis

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20
