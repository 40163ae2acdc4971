/* Blocks of transactions that are alike, read, hashed and settled many at a time.
 *
 * All that is not expected ends a call with a refusal and no reason: whoever called then takes the
 * block apart one transaction after the other, which finds the reason. chain/encoding.py has the
 * format. Nothing is read outside of `data`; what is written to belongs to the caller and has the
 * room that is said here. Numbers are uint64_t of the machine, offsets are into `data`.
 */
#ifndef PQ_BLOCK_H
#define PQ_BLOCK_H

#include <stdint.h>

#define PQB_API __attribute__((visibility("default")))

#define PQB_ABI 1 /* raised with every change of this file; the loader refuses another number */

PQB_API int64_t pqb_abi(void);

/* SHA3-256 of `prefix` and data[starts[i]] .. data[ends[i]], for each i below count, into 32 bytes
 * each of `digests`. */
PQB_API int64_t pqb_hash(uint8_t *digests, const uint8_t *prefix, int64_t prefix_bytes,
                         const uint8_t *data, const uint64_t *starts, const uint64_t *ends,
                         int64_t count);

/* What transactions are to be, and where what is found of them goes. A pointer takes 8 bytes also
 * where it has 4, so that callers lay out the same 13 numbers everywhere. */
#define PQB_POINTER(type) __attribute__((aligned(8))) type *
typedef struct {
    uint64_t count; /* of transactions, and of entries below if not said otherwise */
    uint64_t chain;
    uint64_t kind; /* identifier of the algorithm and form of the key: three bytes */
    uint64_t public_key_bytes;
    uint64_t signature_max_bytes;
    PQB_POINTER(const uint8_t) signed_prefix; /* stands before each message that is signed */
    uint64_t signed_prefix_bytes;
    PQB_POINTER(uint64_t) starts;          /* of each transaction, and the end of the last: count + 1 */
    PQB_POINTER(uint64_t) keys;            /* where each public key is */
    PQB_POINTER(uint8_t) messages;         /* in a row: count * signed_prefix_bytes + bytes */
    PQB_POINTER(uint64_t) message_offsets; /* count + 1 */
    PQB_POINTER(uint8_t) signatures;       /* in a row: bytes */
    PQB_POINTER(uint64_t) signature_offsets; /* count + 1 */
} pqb_columns;

_Static_assert(sizeof(pqb_columns) == 13 * sizeof(uint64_t), "as chain/bulk.py lays it out");

/* Read all transactions from data[at] on: one credential each, of that kind. Returns 0 if they are
 * all that is expected and end with the data, else -1. */
PQB_API int64_t pqb_read(const uint8_t *data, int64_t bytes, int64_t at,
                         const pqb_columns *columns);

/* Number the accounts of a block that was read, in the order in which they appear. Of transaction
 * i, parties[2 i] is the number of the sender, parties[2 i + 1] of the recipient (2 count entries);
 * addresses[n] is where the address of account n is (2 count), senders[n] where the key of an
 * account that sends is, else 0 (2 count). `table` has 2^table_bits entries, at least 4 count, which
 * are 0; `seeds` are 5 secret numbers, without which nobody can fill one place of the table. Returns
 * how many accounts there are, or -1 if one sends with two keys. */
PQB_API int64_t pqb_accounts(const uint8_t *data, const pqb_columns *columns, uint64_t *parties,
                             uint64_t *addresses, uint64_t *senders, uint64_t *table,
                             int64_t table_bits, const uint64_t *seeds);

/* Carry out all payments on the accounts' balances and nonces. Returns 0, or -1 if one may not be. */
PQB_API int64_t pqb_settle(const uint8_t *data, const pqb_columns *columns,
                           const uint64_t *parties, uint64_t *balances, uint64_t *nonces);

#endif
