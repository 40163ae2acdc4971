// Command conform-go is the adapter of circl.
package main

import (
	"strings"

	"github.com/cloudflare/circl/kem"
	kems "github.com/cloudflare/circl/kem/schemes"
	"github.com/cloudflare/circl/sign"
	"github.com/cloudflare/circl/sign/schemes"

	"pqchain/conform/protocol"
)

func decapsulate(scheme kem.Scheme, c *protocol.Case) string {
	if c.Operation == "encapsulate" {
		key, err := scheme.UnmarshalBinaryPublicKey(c.EncapsulationKey)
		if err != nil {
			return "refuse"
		}
		if _, _, err = scheme.Encapsulate(key); err != nil {
			return "refuse"
		}
		return "accept"
	}
	key, err := scheme.UnmarshalBinaryPrivateKey(c.DecapsulationKey)
	if err != nil {
		return "refuse"
	}
	c.Lap("decode_key")
	if c.SharedSecret, err = scheme.Decapsulate(key, c.Ciphertext); err != nil {
		return "refuse"
	}
	return "accept"
}

func verify(c *protocol.Case) string {
	if c.Operation != "verify" {
		if scheme := kems.ByName(c.Algorithm); scheme != nil {
			return decapsulate(scheme, c)
		}
		return "unsupported"
	}
	scheme := schemes.ByName(c.Algorithm)
	standard := strings.HasPrefix(c.Algorithm, "ML-DSA") || strings.HasPrefix(c.Algorithm, "SLH-DSA")
	if scheme == nil || !standard {
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
