# pqchain's Rainbow-I-Classic: signing and verification with AVX2 tables, which liboqs lacks. Key
# pairs come from liboqs 0.7.1, which is linked in.
if("avx2" IN_LIST variants)
  set(prefix "${liboqs-0.7.1-ref_PREFIX}")
  set(rainbow_files rainbow_glue.c drbg.c sign.c verify.c)
  list(TRANSFORM rainbow_files PREPEND rainbow/)
  pqchain_library(rainbow-avx2 STANDARD 11 FLAGS -mavx2 -maes
    FILES no_kem.c oqs_random.c slhdsa/sha2.c ${rainbow_files} FOLDERS rainbow "${prefix}/include"
    LIBRARIES "${prefix}/lib/liboqs.a" LINK LINKER:--gc-sections
    VARIANT avx2 SOURCE pqchain VERSION "Rainbow specification, third round (2020-10)"
    ORIGIN "pqchain/native/rainbow; key generation by liboqs 0.7.1")
endif()
