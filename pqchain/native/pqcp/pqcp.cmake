# ML-DSA and ML-KEM by mldsa-native and mlkem-native of the PQ Code Package with their AVX2 assembly,
# from the sources of AWS-LC, which are in a crate. Keccak is pqchain's, once with AVX2 and once with
# AVX-512, whose rotations and three-operand logic halve it.
function(pqchain_pqcp)
  set(dsa crypto/fipsmodule/ml_dsa/mldsa)
  set(kem crypto/fipsmodule/ml_kem/mlkem)
  set(assembly third_party/s2n-bignum/s2n-bignum-imported/include)
  pqchain_crate(aws-lc-0.47.0 source reason CRATE aws-lc-sys FOLDER aws-lc-sys-0.47.0/aws-lc
    LICENCE aws-lc-sys-0.47.0/aws-lc/LICENSE
    NOTICE "mldsa-native, mlkem-native and macros of s2n-bignum, as in AWS-LC of crate aws-lc-sys 0.47.0."
    DIGEST 350766eb54962060d721f0788d8b9692e77e0d17b734f268a9b1e98717dcb757
    ENTRIES ${dsa} ${kem} ${assembly})
  if(reason)
    foreach(variant avx2 avx512)
      pqchain_leave_out(pqcp-${variant} "${reason}")
    endforeach()
    return()
  endif()
  # The assembly's header includes a file for prefixes of AWS-LC's own build.
  file(WRITE "${CMAKE_BINARY_DIR}/pqcp/openssl/boringssl_prefix_symbols_asm.h" "")
  file(GLOB kernels "${source}/${dsa}/native/x86_64/src/*.S" "${source}/${kem}/native/x86_64/src/*.S")
  set(flags_avx2 -mavx2 -mbmi -mbmi2 -mpopcnt -DS2N_BN_HIDE_SYMBOLS)
  set(flags_avx512 ${flags_avx2} ${PQCHAIN_AVX512} -DPQ_VECTOR_BYTES=64)
  foreach(variant avx2 avx512)
    pqchain_library(pqcp-${variant} STANDARD 11 FLAGS ${flags_${variant}} VARIANT ${variant}
      FILES large_stack.c pqcp/keccak.c pqcp/mldsa.c pqcp/mlkem.c pqcp/pqcp_glue.c ${kernels}
      FOLDERS pqcp "${source}/${dsa}" "${source}/${kem}" "${source}/${assembly}"
        "${CMAKE_BINARY_DIR}/pqcp"
      SOURCE "mldsa-native and mlkem-native" VERSION "AWS-LC of aws-lc-sys 0.47.0"
      ORIGIN "crate aws-lc-sys 0.47.0" DIGEST "${source_CHECKSUM}")
  endforeach()
endfunction()

if("avx2" IN_LIST variants)
  pqchain_pqcp()
endif()
