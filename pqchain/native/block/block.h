/* Decoding, hashing and execution of blocks of similar transactions, many at a time.
 *
 * Any unexpected input ends a call with an error without a reason; the caller then decodes the block
 * transaction by transaction, which finds the reason. chain/encoding.py has the format. Nothing is
 * read outside of `data`; output buffers belong to the caller and have the sizes given here. Numbers
 * are native uint64_t, offsets are into `data`.
 */
#ifndef PQ_BLOCK_H
#define PQ_BLOCK_H

#include <stdint.h>

#define PQB_API __attribute__((visibility("default")))

#define PQB_ABI 1 /* incremented with every change of this file; the loader rejects other numbers */

PQB_API int64_t pqb_abi(void);

/* SHA3-256 of `prefix` and data[starts[i]] .. data[ends[i]], for each i below count, into 32 bytes
 * each of `digests`. */
PQB_API int64_t pqb_hash(uint8_t *digests, const uint8_t *prefix, int64_t prefix_bytes,
                         const uint8_t *data, const uint64_t *starts, const uint64_t *ends,
                         int64_t count);

/* Expected form of the transactions, and output columns. A pointer takes 8 bytes also on 32-bit
 * machines, so that the layout is 13 numbers everywhere. */
#define PQB_POINTER(type) __attribute__((aligned(8))) type *
typedef struct {
    uint64_t count; /* number of transactions, and of entries below unless noted */
    uint64_t chain;
    uint64_t kind; /* identifier of the algorithm and form of the key: three bytes */
    uint64_t public_key_bytes;
    uint64_t signature_max_bytes;
    PQB_POINTER(const uint8_t) signed_prefix; /* prefix of each signed message */
    uint64_t signed_prefix_bytes;
    PQB_POINTER(uint64_t) starts;          /* starts, and the end of the last: count + 1 */
    PQB_POINTER(uint64_t) keys;            /* offset of each public key */
    PQB_POINTER(uint8_t) messages;         /* concatenated: count * signed_prefix_bytes + bytes */
    PQB_POINTER(uint64_t) message_offsets; /* count + 1 */
    PQB_POINTER(uint8_t) signatures;       /* concatenated: bytes */
    PQB_POINTER(uint64_t) signature_offsets; /* count + 1 */
} pqb_columns;

_Static_assert(sizeof(pqb_columns) == 13 * sizeof(uint64_t), "as chain/bulk.py lays it out");

/* Decode all transactions from data[at] on, each with one credential of the kind. Returns 0 if all
 * are as expected and end with the data, else -1. */
PQB_API int64_t pqb_read(const uint8_t *data, int64_t bytes, int64_t at,
                         const pqb_columns *columns);

/* Number the accounts of a decoded block in order of appearance. For transaction i, parties[2 i] is
 * the number of the sender and parties[2 i + 1] that of the recipient (2 count entries);
 * addresses[n] is the offset of the address of account n (2 count), senders[n] the offset of the key
 * of a sending account, else 0 (2 count). `table` has 2^table_bits zero entries, at least 4 count;
 * the 5 secret `seeds` prevent hash collisions by an attacker. Returns the number of accounts, or -1
 * if one sends with two keys. */
PQB_API int64_t pqb_accounts(const uint8_t *data, const pqb_columns *columns, uint64_t *parties,
                             uint64_t *addresses, uint64_t *senders, uint64_t *table,
                             int64_t table_bits, const uint64_t *seeds);

/* Apply all payments to balances and nonces. Returns 0, or -1 if one is invalid. */
PQB_API int64_t pqb_settle(const uint8_t *data, const pqb_columns *columns,
                           const uint64_t *parties, uint64_t *balances, uint64_t *nonces);

#endif
