#!/bin/sh -e
# Run in a copy of this folder. Go manages the module cache and its checksums. CometBFT has no key
# type for other post-quantum schemes, so two more builds replace the package behind ml_dsa_65.
go build -mod=readonly -trimpath -o engine-cometbft .
cp go.mod replaced.mod
echo 'replace github.com/cloudflare/circl => ./circl' >> replaced.mod
cp go.sum replaced.sum
for scheme in mldsa44 falcon512 slhdsa128f; do
	go build -modfile replaced.mod -mod=readonly -trimpath -tags $scheme -o engine-cometbft-$scheme .
done
