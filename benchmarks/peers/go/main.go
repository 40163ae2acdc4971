// ML-DSA of circl as a C archive.
package main

// #include <stddef.h>
import "C"

import (
	"unsafe"

	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
)

func bytes(at *C.uchar, count C.size_t) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(at)), int(count))
}

func answer(ok bool) C.uchar {
	if ok {
		return 1
	}
	return 0
}

//export circl_sign
func circl_sign(set C.uint, signature *C.uchar, signatureBytes C.size_t, message *C.uchar, messageBytes C.size_t, key *C.uchar, keyBytes C.size_t) C.uchar {
	to, text := bytes(signature, signatureBytes), bytes(message, messageBytes)
	if set == 44 {
		var secret mldsa44.PrivateKey
		return answer(secret.UnmarshalBinary(bytes(key, keyBytes)) == nil && mldsa44.SignTo(&secret, text, nil, true, to) == nil)
	}
	var secret mldsa65.PrivateKey
	return answer(secret.UnmarshalBinary(bytes(key, keyBytes)) == nil && mldsa65.SignTo(&secret, text, nil, true, to) == nil)
}

//export circl_verify
func circl_verify(set C.uint, signature *C.uchar, signatureBytes C.size_t, message *C.uchar, messageBytes C.size_t, key *C.uchar, keyBytes C.size_t) C.uchar {
	from, text := bytes(signature, signatureBytes), bytes(message, messageBytes)
	if set == 44 {
		var public mldsa44.PublicKey
		return answer(public.UnmarshalBinary(bytes(key, keyBytes)) == nil && mldsa44.Verify(&public, text, nil, from))
	}
	var public mldsa65.PublicKey
	return answer(public.UnmarshalBinary(bytes(key, keyBytes)) == nil && mldsa65.Verify(&public, text, nil, from))
}

func main() {}
