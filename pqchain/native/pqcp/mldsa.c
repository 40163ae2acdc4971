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

#include "../pq_native.h"
#include "../shake_lanes.h"

#define SET 44
#define K 4
#define L 4
#define TAU 39
#define LARGEST ((1 << 17) - 78) /* gamma1 - beta */
#define CTILDE 32
#define W1 192
#define PACK mldsa_polyw1_pack_88
#define PUBLIC_KEY 1312
#include "mldsa_group.h"

#define SET 65
#define K 6
#define L 5
#define TAU 49
#define LARGEST ((1 << 19) - 196)
#define CTILDE 48
#define W1 128
#define PACK mldsa_polyw1_pack_32
#define PUBLIC_KEY 1952
#include "mldsa_group.h"

#define SET 87
#define K 8
#define L 7
#define TAU 60
#define LARGEST ((1 << 19) - 120)
#define CTILDE 64
#define W1 128
#define PACK mldsa_polyw1_pack_32
#define PUBLIC_KEY 2592
#include "mldsa_group.h"

#include "pqcp.h"

const pqcp_signature pqcp_mldsa[3] = {{mldsa44_keypair, mldsa44_signature, mldsa44_verify, mldsa44_verify_group},
                                      {mldsa65_keypair, mldsa65_signature, mldsa65_verify, mldsa65_verify_group},
                                      {mldsa87_keypair, mldsa87_signature, mldsa87_verify, mldsa87_verify_group}};
