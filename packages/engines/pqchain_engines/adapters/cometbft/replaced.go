//go:build mldsa44 || falcon512 || slhdsa128f

package main

import "github.com/cloudflare/circl/sign/mldsa/mldsa65"

// In this build ml_dsa_65 is another scheme, of a native library of pqchain (see circl).
func init() { loadReplacement = mldsa65.Load }
