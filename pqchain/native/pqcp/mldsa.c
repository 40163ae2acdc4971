/* The three parameter sets of mldsa-native in one file, as its monolithic build has them. */
#define MLD_CONFIG_FILE "mldsa_config.h"
#define MLD_CONFIG_MONOBUILD_KEEP_SHARED_HEADERS
#define MLD_CONFIG_PARAMETER_SET 44
#define MLD_CONFIG_MULTILEVEL_WITH_SHARED
#include <mldsa_native_bcm.c>
#undef MLD_CONFIG_PARAMETER_SET
#define MLD_CONFIG_PARAMETER_SET 65
#define MLD_CONFIG_MULTILEVEL_NO_SHARED
#include <mldsa_native_bcm.c>
#undef MLD_CONFIG_MONOBUILD_KEEP_SHARED_HEADERS
#undef MLD_CONFIG_PARAMETER_SET
#define MLD_CONFIG_PARAMETER_SET 87
#include <mldsa_native_bcm.c>

#include "pqcp.h"

const pqcp_signature pqcp_mldsa[3] = {{mldsa44_keypair, mldsa44_signature, mldsa44_verify},
                                      {mldsa65_keypair, mldsa65_signature, mldsa65_verify},
                                      {mldsa87_keypair, mldsa87_signature, mldsa87_verify}};
