# pqchain's SLH-DSA: the same C with vectors of 16 bytes (SSE2, NEON or none), with AVX2 and with
# AVX-512, and the last two with the SHA instructions of x86 as well.
set(slhdsa_files fors.c keccak_lanes.c message.c sets.c sha2.c sha512_lanes.c shrincs.c
  shrincs_glue.c sign.c slhdsa_glue.c tree.c xmss.c)
set(slhdsa_variants ${variants})
if("avx2" IN_LIST variants)
  list(APPEND slhdsa_variants sha-ni avx512 avx512-sha-ni)
endif()
foreach(variant IN LISTS slhdsa_variants)
  set(kernel sha256_lanes.c)
  set(flags "")
  if(NOT variant STREQUAL "ref")
    set(flags -mavx2 -DSLH_VECTOR_BYTES=32)
  endif()
  if(variant MATCHES "avx512")
    set(flags -mavx2 ${PQCHAIN_AVX512} -DSLH_VECTOR_BYTES=64)
  endif()
  if(variant MATCHES "sha-ni")
    set(kernel sha256_ni.c)
    list(APPEND flags -msha -DSLH_SHA_NI)
  endif()
  list(TRANSFORM slhdsa_files PREPEND slhdsa/ OUTPUT_VARIABLE files)
  pqchain_library(slhdsa-${variant} STANDARD 11 FLAGS ${flags} VARIANT ${variant}
    FILES no_kem.c ${files} slhdsa/${kernel} shake.c
    SOURCE pqchain VERSION "FIPS 205" ORIGIN pqchain/native/slhdsa)
endforeach()
