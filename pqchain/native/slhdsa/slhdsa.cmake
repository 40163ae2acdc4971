# pqchain's SLH-DSA: the same C with vectors of 16 bytes (SSE2, NEON or none) and with AVX2.
set(slhdsa_files fors.c keccak_lanes.c message.c sets.c sha256_lanes.c sha2.c sha512_lanes.c sign.c
  slhdsa_glue.c tree.c xmss.c)
list(TRANSFORM slhdsa_files PREPEND slhdsa/)
foreach(variant IN LISTS variants)
  set(flags "")
  if(variant STREQUAL "avx2")
    set(flags -mavx2 -DSLH_VECTOR_BYTES=32)
  endif()
  pqchain_library(slhdsa-${variant} STANDARD 11 FLAGS ${flags} VARIANT ${variant}
    FILES no_kem.c ${slhdsa_files} hawk/shake.c
    SOURCE pqchain VERSION "FIPS 205" ORIGIN pqchain/native/slhdsa)
endforeach()
