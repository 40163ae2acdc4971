/* QUIC for pqchain: hosts on a modelled network, or one host on a socket.
 *
 * Every function returns a number from 0 up, or an error code: -1 for an invalid argument, -2 for a
 * failure of the system, -3 for a bug; pqq_error then gives the text, on the same thread. Handles
 * are numbers that are looked up. Pointers refer to as many elements as the length gives; a pointer
 * with length 0 may be null. Calls on a closed session have no effect, because its end may be an
 * event that the caller has not read yet. A session whose send queue exceeds its limits is closed.
 *
 * Streams are numbered as in RFC 9000: bit 0 is set for the server's, bit 1 for one-way streams. */
#ifndef PQCHAIN_QUIC_H
#define PQCHAIN_QUIC_H
#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint64_t time_ns; /* of the modelled clock */
  uint64_t stream;
  uint64_t count;   /* bytes of pqq_data or pqq_filled */
  uint32_t host;
  uint32_t kind;
  uint32_t session;
  int32_t peer;     /* -1 if unknown */
  uint32_t flags;   /* 1: the last bytes of their stream */
  uint32_t length;  /* bytes of this event in the data of all events */
} pqq_event;

/* A client's hello was parsed; `peer` is the client if it has resumed an authenticated session. | A
 * dialled session may send in 0-RTT. | Bytes of a stream. | Bytes were written to the memory named
 * for them. | A session has ended; its bytes are the reason. */
enum { pqq_hello = 1, pqq_early = 2, pqq_data = 3, pqq_filled = 4, pqq_closed = 5 };

int64_t pqq_abi(void);
int64_t pqq_error(uint8_t *out, size_t length);

/* A modelled network: hosts, picoseconds per byte, delay in ns, loss in units of 2^-53, bytes of a
 * queue, coalescing time in ns, processor time of a datagram in ns, bytes of overhead of a datagram,
 * seed, whether all datagrams are hashed. Returns a handle. */
int64_t pqq_network(const uint64_t *numbers, size_t count);

/* A host: index, bytes of a datagram, congestion control (0 NewReno, 1 Cubic, 2 BBR), whether
 * datagrams are sent in bursts, send window, receive window, idle time in ns, time limit for the
 * authentication of a client in ns, bytes that a client may send before it; limits of the send queue
 * of a session: pieces, and bytes that are copied or lent as owned; limits on the cost of waiting
 * events in bytes, for a session and for all, above which sessions are not read. An identity is a
 * list of records: index, length (both 4 bytes, little endian) and bytes. The first record is the
 * key of the host (PKCS #8), the others are the certificates of all hosts (DER). */
int64_t pqq_start(int64_t network, const uint64_t *numbers, size_t count,
                  const uint8_t *identity, size_t length);
int64_t pqq_stop_host(int64_t network, uint64_t host);
int64_t pqq_socket(const uint64_t *numbers, size_t count, const uint8_t *identity, size_t length,
                   const uint8_t *address, size_t address_length); /* "127.0.0.1:0"; a handle */
int64_t pqq_port(int64_t socket);
int64_t pqq_descriptor(int64_t socket); /* readable when there are events */
/* Wait until the thread of the handle and all other calls on it have ended. Afterwards no memory of
 * the caller is used. */
int64_t pqq_free(int64_t handle);

/* Operations of a node; `host` is used with a network only. */
int64_t pqq_dial(int64_t handle, uint64_t host, uint64_t peer, uint64_t early,
                 const uint8_t *address, size_t length); /* a session */
int64_t pqq_open(int64_t handle, uint64_t host, uint64_t session, uint64_t one_way); /* a stream */
int64_t pqq_send(int64_t handle, uint64_t host, uint64_t session, uint64_t stream,
                 const uint8_t *at, size_t length, uint64_t end);
/* Send without a copy: the memory must not change, and must not be freed, until pqq_returned gives
 * its token. `owned` memory is kept for this transmission only, and counts against the limit. */
int64_t pqq_lend(int64_t handle, uint64_t host, uint64_t session, uint64_t stream,
                 const uint8_t *at, size_t length, uint64_t end, uint64_t owned, uint64_t token);
int64_t pqq_returned(int64_t handle, uint64_t *out, size_t length);
/* Write the bytes of a stream from `offset` on to memory, or discard them if it is null. */
int64_t pqq_place(int64_t handle, uint64_t host, uint64_t session, uint64_t stream, uint64_t offset,
                  uint8_t *at, size_t length);
int64_t pqq_stop(int64_t handle, uint64_t host, uint64_t session, uint64_t stream);
int64_t pqq_prove(int64_t handle, uint64_t host, uint64_t session, uint64_t peer);
int64_t pqq_close(int64_t handle, uint64_t host, uint64_t session, uint64_t code,
                  const uint8_t *reason, size_t length);
int64_t pqq_queued(int64_t handle, uint64_t host);

/* Return the number of events. Data longer than the buffer is divided. */
int64_t pqq_events(int64_t handle, pqq_event *events, size_t most, uint8_t *data, size_t length);
/* Datagrams sent, received, bytes sent, packets lost, congestion events, sending calls. */
int64_t pqq_statistics(int64_t handle, uint64_t host, uint64_t *out, size_t length);

/* Operations of a modelled network: advance until there are events or until a time, and return the
 * time; get datagrams sent, dropped, lost, and the time; get the SHA-256 of all datagrams. */
int64_t pqq_run(int64_t network, uint64_t until_ns);
int64_t pqq_totals(int64_t network, uint64_t *out, size_t length);
int64_t pqq_digest(int64_t network, uint8_t *out, size_t length);
/* For tests: send bytes in the name of a host; record datagrams, and take the first recorded one
 * (time, sender, receiver, bytes), returning its length. */
int64_t pqq_inject(int64_t network, uint64_t from, uint64_t to, const uint8_t *at, size_t length);
int64_t pqq_tap(int64_t network, uint64_t on);
int64_t pqq_tapped(int64_t network, uint64_t *numbers, size_t count, uint8_t *out, size_t length);
#endif
