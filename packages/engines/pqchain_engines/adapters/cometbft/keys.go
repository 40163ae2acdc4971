package main

import (
	"fmt"

	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/crypto/bls12381"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/crypto/mldsa65"
	"github.com/cometbft/cometbft/crypto/secp256k1"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"

	"pqchain/engines/cometbft/native"
)

// loadReplacement opens the scheme of a build in which ml_dsa_65 is replaced; nil as released.
var loadReplacement func(path string) error

// keyType returns the engine's key type of a scheme.
func keyType(scheme, library string) (string, error) {
	switch scheme {
	case "Ed25519":
		return ed25519.KeyType, nil
	case "ECDSA-secp256k1":
		return secp256k1.KeyType, nil
	case "BLS12-381":
		if !bls12381.Enabled {
			return "", fmt.Errorf("bls12_381 needs a build with the tag bls12381 and the library blst; this build is without them, as v%s is by default", version)
		}
		return bls12381.KeyType, nil
	case "ML-DSA-65":
		return mldsa65.KeyType, nil
	case "ML-DSA-44", "Falcon-padded-512", "SLH-DSA-SHA2-128f":
		if loadReplacement == nil {
			return "", fmt.Errorf("%s must run in its own build of the engine", scheme)
		}
		return mldsa65.KeyType, loadReplacement(library)
	}
	return "", fmt.Errorf("scheme must be one of the engine's; got %q", scheme)
}

func generate(keyType string) (crypto.PrivKey, error) {
	switch keyType {
	case ed25519.KeyType:
		return ed25519.GenPrivKey(), nil
	case secp256k1.KeyType:
		return secp256k1.GenPrivKey(), nil
	case mldsa65.KeyType:
		return mldsa65.GenPrivKey()
	}
	return bls12381.GenPrivKey()
}

// account signs and verifies transactions: with a library of pqchain that has the scheme, else with
// the engine's code.
type account struct {
	public []byte
	sign   func(message []byte) ([]byte, error)
	verify func(message, signature []byte) bool
}

func newAccount(s *scenario, keyType string) (*account, error) {
	if s.Library == "" {
		key, err := generate(keyType)
		if err != nil {
			return nil, err
		}
		public := key.PubKey()
		return &account{public.Bytes(), key.Sign, public.VerifySignature}, nil
	}
	scheme, err := native.Open(s.Library, s.Scheme)
	if err != nil {
		return nil, err
	}
	public, secret, err := scheme.Keypair()
	return &account{
		public,
		func(message []byte) ([]byte, error) { return scheme.Sign(secret, message) },
		func(message, signature []byte) bool { return scheme.Verify(public, message, signature) },
	}, err
}

// signer is a validator's key; it counts and charges what it signs.
type signer struct {
	types.PrivValidator
	processor *processor
}

func (s signer) SignVote(chain string, vote *cmtproto.Vote) error {
	// The validator verifies its own votes too when it adds them.
	s.processor.sign(vote.Height)
	return s.PrivValidator.SignVote(chain, vote)
}

func (s signer) SignProposal(chain string, proposal *cmtproto.Proposal) error {
	s.processor.sign(proposal.Height)
	return s.PrivValidator.SignProposal(chain, proposal)
}
