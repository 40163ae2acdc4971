// Command conform-go is the adapter of circl.
package main

import (
	"crypto"
	_ "crypto/sha256"
	_ "crypto/sha512"
	"strings"

	"github.com/cloudflare/circl/kem"
	kems "github.com/cloudflare/circl/kem/schemes"
	"github.com/cloudflare/circl/sign"
	"github.com/cloudflare/circl/sign/schemes"
	"github.com/cloudflare/circl/sign/slhdsa"
	"github.com/cloudflare/circl/xof"

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

// preHash returns the hash function of HashSLH-DSA with the parameter set.
func preHash(algorithm string) (*slhdsa.PreHash, error) {
	short := strings.Contains(algorithm, "-128")
	switch {
	case strings.Contains(algorithm, "SHA2") && short:
		return slhdsa.NewPreHashWithHash(crypto.SHA256)
	case strings.Contains(algorithm, "SHA2"):
		return slhdsa.NewPreHashWithHash(crypto.SHA512)
	case short:
		return slhdsa.NewPreHashWithXof(xof.SHAKE128)
	}
	return slhdsa.NewPreHashWithXof(xof.SHAKE256)
}

func verifyPreHashed(c *protocol.Case) string {
	id, err := slhdsa.IDByName(strings.TrimPrefix(c.Algorithm, "Hash"))
	if err != nil {
		return "unsupported"
	}
	key := slhdsa.PublicKey{ID: id}
	if key.UnmarshalBinary(c.PublicKey) != nil {
		return "refuse"
	}
	c.Lap("decode_key")
	hash, err := preHash(c.Algorithm)
	if err != nil {
		return "unsupported"
	}
	if _, err = hash.Write(c.Message); err != nil {
		return "refuse"
	}
	message, err := hash.BuildMessage()
	if err != nil {
		return "refuse"
	}
	return protocol.Judge(slhdsa.Verify(&key, message, c.Signature, c.Context))
}

func verify(c *protocol.Case) string {
	if c.Operation != "verify" {
		if scheme := kems.ByName(c.Algorithm); scheme != nil {
			return decapsulate(scheme, c)
		}
		return "unsupported"
	}
	if strings.HasPrefix(c.Algorithm, "HashSLH-DSA") {
		return verifyPreHashed(c)
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
