//go:build slhdsa128f

package mldsa65

// Sizes of SLH-DSA-SHA2-128f.
const (
	scheme         = "SLH-DSA-SHA2-128f"
	publicKeyBytes = 32
	secretKeyBytes = 64
	signatureBytes = 17088
)
