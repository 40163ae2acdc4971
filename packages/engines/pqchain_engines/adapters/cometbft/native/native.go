// Package native is a signature scheme of a native library of pqchain (pq_native.h).
package native

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    uint64_t kind, nist_level, public_key_bytes, secret_key_bytes, signature_max_bytes;
    uint64_t ciphertext_bytes, shared_secret_bytes, context;
} sizes_t;
typedef int keypair_t(const void *, uint8_t *, uint8_t *);
typedef int sign_t(const void *, uint8_t *, size_t *, const uint8_t *, size_t, const uint8_t *, size_t,
                   const uint8_t *);
typedef int verify_t(const void *, const uint8_t *, size_t, const uint8_t *, size_t, const uint8_t *,
                     size_t, const uint8_t *);
typedef struct {
    void *scheme;
    keypair_t *keypair;
    sign_t *sign;
    verify_t *verify;
    sizes_t sizes;
} library_t;

// Returns what is wrong, or NULL.
static const char *load(const char *path, const char *name, int abi, library_t *library) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return dlerror();
    int (*version)(void) = (int (*)(void))dlsym(handle, "pq_abi");
    void *(*open)(const char *) = (void *(*)(const char *))dlsym(handle, "pq_open");
    void (*measure)(const void *, sizes_t *) = (void (*)(const void *, sizes_t *))dlsym(handle, "pq_sizes");
    library->keypair = (keypair_t *)dlsym(handle, "pq_keypair");
    library->sign = (sign_t *)dlsym(handle, "pq_sign");
    library->verify = (verify_t *)dlsym(handle, "pq_verify");
    if (!version || !open || !measure || !library->keypair || !library->sign || !library->verify)
        return "not a native library of pqchain";
    if (version() != abi) return "the library has another version of pq_native.h";
    library->scheme = open(name);
    if (library->scheme == NULL) return "the library lacks the scheme";
    measure(library->scheme, &library->sizes);
    return NULL;
}
static int keypair(const library_t *l, uint8_t *public_key, uint8_t *secret_key) {
    return l->keypair(l->scheme, public_key, secret_key);
}
static int sign(const library_t *l, uint8_t *signature, size_t *bytes, const uint8_t *message,
                size_t length, const uint8_t *secret_key) {
    return l->sign(l->scheme, signature, bytes, message, length, NULL, 0, secret_key);
}
static int verify(const library_t *l, const uint8_t *message, size_t length, const uint8_t *signature,
                  size_t bytes, const uint8_t *public_key) {
    return l->verify(l->scheme, message, length, signature, bytes, NULL, 0, public_key);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

const abi = 5

// Scheme is immutable; any goroutine may use it.
type Scheme struct {
	library                                        *C.library_t
	PublicKeyBytes, SecretKeyBytes, SignatureBytes int
}

// Open returns a scheme of a library.
func Open(path, name string) (*Scheme, error) {
	cPath, cName := C.CString(path), C.CString(name)
	defer C.free(unsafe.Pointer(cPath))
	defer C.free(unsafe.Pointer(cName))
	library := (*C.library_t)(C.calloc(1, C.sizeof_library_t))
	if reason := C.load(cPath, cName, abi, library); reason != nil {
		return nil, fmt.Errorf("%s in %s: %s", name, path, C.GoString(reason))
	}
	sizes := library.sizes
	return &Scheme{
		library, int(sizes.public_key_bytes), int(sizes.secret_key_bytes), int(sizes.signature_max_bytes),
	}, nil
}

func pointer(data []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(data))) }

// Keypair returns a public key and a secret key, with randomness of the system.
func (s *Scheme) Keypair() (public, secret []byte, err error) {
	public, secret = make([]byte, s.PublicKeyBytes), make([]byte, s.SecretKeyBytes)
	if C.keypair(s.library, pointer(public), pointer(secret)) != 0 {
		return nil, nil, errors.New("key generation failed")
	}
	return public, secret, nil
}

// Sign returns a signature.
func (s *Scheme) Sign(secret, message []byte) ([]byte, error) {
	signature := make([]byte, s.SignatureBytes)
	bytes := C.size_t(s.SignatureBytes)
	if C.sign(s.library, pointer(signature), &bytes, pointer(message), C.size_t(len(message)), pointer(secret)) != 0 {
		return nil, errors.New("signing failed")
	}
	return signature[:bytes], nil
}

// Verify returns true if the signature is valid.
func (s *Scheme) Verify(public, message, signature []byte) bool {
	return len(public) == s.PublicKeyBytes && len(signature) <= s.SignatureBytes && C.verify(
		s.library, pointer(message), C.size_t(len(message)), pointer(signature), C.size_t(len(signature)),
		pointer(public)) == 0
}
