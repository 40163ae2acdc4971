/* Configuration of mldsa-native: its AVX2 assembly, and Keccak and randomness of pqchain. */
#define MLD_CONFIG_NAMESPACE_PREFIX mldsa
#define MLD_CONFIG_FIPS202_CUSTOM_HEADER "mldsa_fips202.h"
#define MLD_CONFIG_FIPS202X4_CUSTOM_HEADER "mldsa_fips202.h"
#define MLD_CONFIG_INTERNAL_API_QUALIFIER static __attribute__((unused))
#define MLD_CONFIG_EXTERNAL_API_QUALIFIER static __attribute__((unused))
#define MLD_CONFIG_USE_NATIVE_BACKEND_ARITH
#define MLD_CONFIG_ARITH_BACKEND_FILE "native/x86_64/meta.h"
#define MLD_CONFIG_CUSTOM_RANDOMBYTES
#if !defined(__ASSEMBLER__) && !defined(MLD_CONFIG_MULTILEVEL_NO_SHARED)
#include "../pq_native.h"
static inline int mld_randombytes(uint8_t *to, size_t bytes) {
    pq_randombytes(to, bytes);
    return 0;
}
#endif
