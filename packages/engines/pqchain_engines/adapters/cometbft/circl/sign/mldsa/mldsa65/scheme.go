// Package mldsa65 takes the place of circl's package of this name, with another scheme: CometBFT takes
// all sizes from these constants, so every byte is the scheme's, and only the name of the key type
// remains ml_dsa_65. A build tag selects the scheme. Keys stay packed, as the native library takes them.
package mldsa65

import (
	"crypto"
	"errors"
	"fmt"
	"io"

	"pqchain/engines/cometbft/native"
)

const (
	PublicKeySize = publicKeyBytes
	// PrivateKeySize includes the public key, which the library cannot compute from the secret key.
	PrivateKeySize = secretKeyBytes + publicKeyBytes
	SignatureSize  = signatureBytes
	SeedSize       = 32
)

var library *native.Scheme

// Load opens the scheme in a native library of pqchain; it must precede all other calls.
func Load(path string) error {
	opened, err := native.Open(path, scheme)
	if err != nil {
		return err
	}
	if opened.PublicKeyBytes != publicKeyBytes || opened.SecretKeyBytes != secretKeyBytes || opened.SignatureBytes != signatureBytes {
		return fmt.Errorf("sizes of %s differ from those of this build", scheme)
	}
	library = opened
	return nil
}

// PublicKey is a packed public key.
type PublicKey struct{ bytes [PublicKeySize]byte }

// PrivateKey is a packed secret key with its public key.
type PrivateKey struct {
	bytes  [secretKeyBytes]byte
	public PublicKey
}

var errSize = errors.New("mldsa65: invalid length of a key")

func (k *PublicKey) MarshalBinary() ([]byte, error) { return append([]byte(nil), k.bytes[:]...), nil }

func (k *PublicKey) UnmarshalBinary(data []byte) error {
	if len(data) != PublicKeySize {
		return errSize
	}
	copy(k.bytes[:], data)
	return nil
}

func (k *PrivateKey) MarshalBinary() ([]byte, error) {
	return append(append([]byte(nil), k.bytes[:]...), k.public.bytes[:]...), nil
}

func (k *PrivateKey) UnmarshalBinary(data []byte) error {
	if len(data) != PrivateKeySize {
		return errSize
	}
	copy(k.bytes[:], data)
	copy(k.public.bytes[:], data[secretKeyBytes:])
	return nil
}

func (k *PrivateKey) Public() crypto.PublicKey { return &k.public }

// GenerateKey ignores the reader; the library draws from the system.
func GenerateKey(io.Reader) (*PublicKey, *PrivateKey, error) {
	public, secret, err := library.Keypair()
	if err != nil {
		return nil, nil, err
	}
	k := new(PrivateKey)
	err = k.UnmarshalBinary(append(secret, public...))
	return &k.public, k, err
}

// NewKeyFromSeed panics: the library does not derive keys from seeds, and the engine does not ask.
func NewKeyFromSeed(*[SeedSize]byte) (*PublicKey, *PrivateKey) {
	panic("mldsa65: keys from seeds are not supported")
}

// SignTo signs a message without a context.
func SignTo(k *PrivateKey, message, context []byte, _ bool, signature []byte) error {
	if len(context) != 0 || len(signature) < SignatureSize {
		return errors.New("mldsa65: the context must be empty and the buffer long enough")
	}
	signed, err := library.Sign(k.bytes[:], message)
	if err == nil && len(signed) != SignatureSize {
		err = fmt.Errorf("mldsa65: the signature must have %d bytes; got %d", SignatureSize, len(signed))
	}
	copy(signature, signed)
	return err
}

// Verify returns true if the signature is valid.
func Verify(k *PublicKey, message, context, signature []byte) bool {
	return len(context) == 0 && len(signature) == SignatureSize && library.Verify(k.bytes[:], message, signature)
}
