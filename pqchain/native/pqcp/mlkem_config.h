/* Configuration of mlkem-native: its AVX2 assembly, and Keccak and randomness of pqchain. */
#define MLK_CONFIG_NAMESPACE_PREFIX mlkem
#define MLK_CONFIG_FIPS202_CUSTOM_HEADER "mlkem_fips202.h"
#define MLK_CONFIG_FIPS202X4_CUSTOM_HEADER "mlkem_fips202.h"
#define MLK_CONFIG_INTERNAL_API_QUALIFIER static __attribute__((unused))
#define MLK_CONFIG_EXTERNAL_API_QUALIFIER static __attribute__((unused))
#define MLK_CONFIG_USE_NATIVE_BACKEND_ARITH
#define MLK_CONFIG_ARITH_BACKEND_FILE "native/x86_64/meta.h"
#define MLK_CONFIG_MULTILEVEL_BUILD
#define MLK_CONFIG_CUSTOM_RANDOMBYTES
#if !defined(__ASSEMBLER__) && !defined(MLK_CONFIG_MULTILEVEL_NO_SHARED)
#include "../pq_native.h"
static inline int mlk_randombytes(uint8_t *to, size_t bytes) {
    pq_randombytes(to, bytes);
    return 0;
}
#endif
