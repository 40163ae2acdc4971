#!/bin/sh -e
# Run in a copy of this folder; PQCHAIN_NATIVE_SOURCE names pqchain/native. AWS-LC is left out where its
# C code does not build, and the Go package without Go.
native=$PQCHAIN_NATIVE_SOURCE
flags=-DPEERS_AWS_LC
crates() { (cd rust && cargo build --release --locked --quiet --target-dir ../target "$@"); }
crates || { flags=""; crates --no-default-features; }
if command -v go >/dev/null; then
	(cd go && go build -mod=readonly -trimpath -buildmode=c-archive -o ../target/circl.a .)
	flags="$flags -DPEERS_GO target/circl.a"
fi
cc -O3 -std=gnu11 -fPIC -shared -fvisibility=hidden -Wl,-Bsymbolic -I"$native" -o peers.so peers.c \
	"$native/common.c" "$native/no_kem.c" target/release/libpqchain_peers.a $flags -lpthread -ldl -lm
