/* Decoding and execution of blocks; see block.h. */
#include "block.h"

#include "int128.h"

#include <string.h>

enum {
    VERSION = 1,
    ADDRESS = 32,
    SENDER = 1 + 4,
    RECIPIENT = SENDER + ADDRESS,
    AMOUNT = RECIPIENT + ADDRESS,
    NONCE = AMOUNT + 8,
    FREE_DATA = NONCE + 8,
    FIXED = FREE_DATA + 2,
    KIND = 1 + 2 + 1 /* number of credentials; algorithm and form of the only one */
};

static uint64_t number(const uint8_t *at, int width) {
    uint64_t value = 0;
    for (int i = 0; i < width; i++) {
        value = value << 8 | at[i];
    }
    return value;
}

PQB_API int64_t pqb_abi(void) { return PQB_ABI; }

PQB_API int64_t pqb_read(const uint8_t *data, int64_t bytes, int64_t at,
                         const pqb_columns *columns) {
    const uint64_t end = (uint64_t)bytes, key_bytes = columns->public_key_bytes;
    const uint64_t prefix_bytes = columns->signed_prefix_bytes;
    uint64_t p = (uint64_t)at, messages = 0, signatures = 0;
    if (p > end) {
        return -1;
    }
    for (uint64_t i = 0; i < columns->count; i++) {
        const uint64_t start = p;
        /* Each sum is below 2^64: lengths have at most 4 bytes, and p is at most end. */
        if (end - p < FIXED || data[p] != VERSION || number(data + p + 1, 4) != columns->chain) {
            return -1;
        }
        p += FIXED + number(data + p + FREE_DATA, 2);
        if (p > end || end - p < KIND + 4 + key_bytes + 4 || data[p] != 1 ||
            number(data + p + 1, KIND - 1) != columns->kind ||
            number(data + p + KIND, 4) != key_bytes) {
            return -1;
        }
        p += KIND;
        const uint64_t body = p - start;
        columns->starts[i] = start;
        columns->keys[i] = p + 4;
        columns->message_offsets[i] = messages;
        memcpy(columns->messages + messages, columns->signed_prefix, prefix_bytes);
        memcpy(columns->messages + messages + prefix_bytes, data + start, body);
        messages += prefix_bytes + body;
        p += 4 + key_bytes;
        const uint64_t length = number(data + p, 4);
        p += 4;
        if (length == 0 || length > columns->signature_max_bytes || length > end - p) {
            return -1;
        }
        columns->signature_offsets[i] = signatures;
        memcpy(columns->signatures + signatures, data + p, length);
        signatures += length;
        p += length;
    }
    columns->starts[columns->count] = p;
    columns->message_offsets[columns->count] = messages;
    columns->signature_offsets[columns->count] = signatures;
    return p == end ? 0 : -1;
}

/* NH, the universal hash of UMAC (RFC 4418), with its halves multiplied. */
static uint64_t place_of(const uint8_t *address, const uint64_t *seeds) {
    uint64_t w[ADDRESS / 8];
    memcpy(w, address, ADDRESS);
    const int128 sum = int128_sum(int128_unsigned_product(w[0] + seeds[0], w[1] + seeds[1]),
                                  int128_unsigned_product(w[2] + seeds[2], w[3] + seeds[3]));
    return (uint64_t)(int128_shifted(sum, 64) ^ int128_shifted(sum, 0)) * (seeds[4] | 1);
}

PQB_API int64_t pqb_accounts(const uint8_t *data, const pqb_columns *columns, uint64_t *parties,
                             uint64_t *addresses, uint64_t *senders, uint64_t *table,
                             int64_t table_bits, const uint64_t *seeds) {
    const uint64_t mask = ((uint64_t)1 << table_bits) - 1;
    uint64_t known = 0;
    for (uint64_t i = 0; i < 2 * columns->count; i++) {
        const uint64_t transaction = i / 2, sends = i % 2 == 0;
        const uint64_t address = columns->starts[transaction] + (sends ? SENDER : RECIPIENT);
        uint64_t place = place_of(data + address, seeds) >> (64 - table_bits);
        while (table[place] != 0 &&
               memcmp(data + addresses[table[place] - 1], data + address, ADDRESS) != 0) {
            place = (place + 1) & mask;
        }
        if (table[place] == 0) {
            addresses[known] = address;
            senders[known] = 0;
            table[place] = ++known;
        }
        const uint64_t account = table[place] - 1;
        parties[i] = account;
        if (!sends) {
            continue;
        }
        const uint64_t key = columns->keys[transaction];
        if (senders[account] == 0) {
            senders[account] = key;
        } else if (memcmp(data + senders[account], data + key, columns->public_key_bytes) != 0) {
            return -1;
        }
    }
    return (int64_t)known;
}

PQB_API int64_t pqb_settle(const uint8_t *data, const pqb_columns *columns,
                           const uint64_t *parties, uint64_t *balances, uint64_t *nonces) {
    for (uint64_t i = 0; i < columns->count; i++) {
        const uint8_t *transaction = data + columns->starts[i];
        const uint64_t sender = parties[2 * i], recipient = parties[2 * i + 1];
        const uint64_t amount = number(transaction + AMOUNT, 8);
        if (number(transaction + NONCE, 8) != nonces[sender] || amount > balances[sender]) {
            return -1;
        }
        nonces[sender]++;
        balances[sender] -= amount;
        balances[recipient] += amount; /* the sum of all balances is below 2^64 */
    }
    return 0;
}
