/* What the crate here offers to C; src/ describes the functions. */
#ifndef CRATES_H
#define CRATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void falcon_rs_keypair(uint32_t logn, uint8_t *public_key, uint8_t *secret_key);
bool falcon_rs_sign(uint32_t logn, uint8_t *signature, const uint8_t *message,
                    size_t message_bytes, const uint8_t *secret_key);
bool falcon_rs_decode(uint32_t logn, uint16_t *decoded, const uint8_t *public_key);
bool falcon_rs_verify(uint32_t logn, const uint8_t *message, size_t message_bytes,
                      const uint8_t *signature, size_t signature_bytes, const uint16_t *decoded,
                      const uint16_t *hashed);

void ed25519_keypair(uint8_t *public_key, uint8_t *secret_key);
void ed25519_sign(uint8_t *signature, const uint8_t *message, size_t message_bytes,
                  const uint8_t *secret_key);
size_t ed25519_decoded_bytes(void);
bool ed25519_decode(void *decoded, const uint8_t *public_key);
bool ed25519_verify(const uint8_t *message, size_t message_bytes, const uint8_t *signature,
                    const void *decoded);

#endif
