/* mldsa-native and mlkem-native as tables of functions, by parameter set in ascending order. */
#ifndef PQCP_H
#define PQCP_H

#include "../pq_native.h"

typedef struct {
    int (*keypair)(uint8_t *public_key, uint8_t *secret_key);
    int (*sign)(uint8_t *signature, const uint8_t *message, size_t message_bytes,
                const uint8_t *context, size_t context_bytes, const uint8_t *secret_key);
    int (*verify)(const uint8_t *signature, const uint8_t *message, size_t message_bytes,
                  const uint8_t *context, size_t context_bytes, const uint8_t *public_key);
    void (*verify_group)(size_t count, const pq_signed signed_by[], uint8_t valid[]);
} pqcp_signature;

typedef struct {
    int (*keypair)(uint8_t *public_key, uint8_t *secret_key);
    int (*encapsulate)(uint8_t *ciphertext, uint8_t *secret, const uint8_t *public_key);
    int (*decapsulate)(uint8_t *secret, const uint8_t *ciphertext, const uint8_t *secret_key);
} pqcp_kem;

extern const pqcp_signature pqcp_mldsa[3];
extern const pqcp_kem pqcp_mlkem[3];

#endif
