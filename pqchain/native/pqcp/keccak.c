/* Keccak on one state and on four, compiled for the instructions of the variant. */
#include "sponge.h"

#define LANE uint64_t
#define keccak keccak_one
#define keccak_round keccak_round_one
#include "../keccak.h"
#undef LANE
#undef keccak
#undef keccak_round
#undef KECCAK_INLINE

typedef uint64_t lanes __attribute__((vector_size(32)));
#define LANE lanes
#define keccak_constants keccak_constants_x4
#include "../keccak.h"

void pqcp_keccak(uint64_t state[25]) { keccak_one(state); }

void pqcp_keccak_x4(__m256i state[25]) { keccak((lanes *)(void *)state); }
