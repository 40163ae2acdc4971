/* The three parameter sets of mlkem-native in one file, as its monolithic build has them. */
#define MLK_CONFIG_FILE "mlkem_config.h"
#define MLK_CONFIG_MONOBUILD_KEEP_SHARED_HEADERS
#define MLK_CONFIG_PARAMETER_SET 512
#define MLK_CONFIG_MULTILEVEL_WITH_SHARED
#include <mlkem_native_bcm.c>
#undef MLK_CONFIG_PARAMETER_SET
#define MLK_CONFIG_PARAMETER_SET 768
#define MLK_CONFIG_MULTILEVEL_NO_SHARED
#include <mlkem_native_bcm.c>
#undef MLK_CONFIG_MONOBUILD_KEEP_SHARED_HEADERS
#undef MLK_CONFIG_PARAMETER_SET
#define MLK_CONFIG_PARAMETER_SET 1024
#include <mlkem_native_bcm.c>

#include "pqcp.h"

const pqcp_kem pqcp_mlkem[3] = {{mlkem512_keypair, mlkem512_enc, mlkem512_dec},
                                {mlkem768_keypair, mlkem768_enc, mlkem768_dec},
                                {mlkem1024_keypair, mlkem1024_enc, mlkem1024_dec}};
