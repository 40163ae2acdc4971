#!/bin/sh -e
# Run in a copy of this folder.
cargo build --release --locked --quiet
