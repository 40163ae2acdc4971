//go:build falcon512

package mldsa65

// Sizes of Falcon-512 with padded signatures.
const (
	scheme         = "Falcon-padded-512"
	publicKeyBytes = 897
	secretKeyBytes = 1281
	signatureBytes = 666
)
