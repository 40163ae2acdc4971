// Command conform-go is the adapter of circl.
package main

import (
	"strings"

	"github.com/cloudflare/circl/sign"
	"github.com/cloudflare/circl/sign/schemes"

	"pqchain/conform/protocol"
)

func verify(c *protocol.Case) string {
	scheme := schemes.ByName(c.Algorithm)
	if scheme == nil || !strings.HasPrefix(c.Algorithm, "ML-DSA") {
		return "unsupported"
	}
	key, err := scheme.UnmarshalBinaryPublicKey(c.PublicKey)
	if err != nil {
		return "refuse"
	}
	c.Lap("decode_key")
	options := &sign.SignatureOpts{Context: string(c.Context)}
	return protocol.Judge(scheme.Verify(key, c.Message, c.Signature, options))
}

func main() { protocol.Serve(verify) }
