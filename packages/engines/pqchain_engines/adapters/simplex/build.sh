#!/bin/sh -e
# Run in a copy of this folder. Compiled dependencies outlive a change of the sources: the target
# folder is next to the build folders, and cargo decides what to compile again.
cargo build --release --locked --quiet --target-dir ../simplex-target
cp ../simplex-target/release/engine-simplex .
