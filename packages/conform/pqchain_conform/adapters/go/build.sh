#!/bin/sh -e
# Run in a copy of this folder. Go manages the module cache and its checksums.
go build -mod=readonly -trimpath -o conform-go .
library=$(go env GOROOT)/src/crypto
if [ -d "$library/internal/fips140/mldsa" ]; then
	cat > overlay.json <<END
{"Replace": {
	"$library/pqchain/main.go": "$PWD/standard.go.txt",
	"$library/pqchain/protocol/protocol.go": "$PWD/protocol/protocol.go"
}}
END
	go build -overlay overlay.json -trimpath -o conform-go-standard crypto/pqchain
	go env GOVERSION | sed 's/^go//' > conform-go-standard.version
fi
