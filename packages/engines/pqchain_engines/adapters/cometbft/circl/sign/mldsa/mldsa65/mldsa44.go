//go:build mldsa44

package mldsa65

// Sizes of ML-DSA-44.
const (
	scheme         = "ML-DSA-44"
	publicKeyBytes = 1312
	secretKeyBytes = 2560
	signatureBytes = 2420
)
