# Corrections of fetched sources. Each file is edited only if its SHA-256 is the one that the edit
# was written for, and every edit must apply exactly once; anything else stops the build.

# liboqs 0.13.0, AVX2 verifier of ML-DSA and Dilithium (pq-crystals/dilithium issue 113, commit
# bba9534): it never checks ||z|| < gamma1 - beta, and where a hint is set on a coefficient whose
# low part is 0 it adds where FIPS 204 (Algorithm 40, UseHint) subtracts. So it accepts some invalid
# signatures and rejects some valid ones. Honest signatures, keys and KAT digests do not change.
set(PQCHAIN_CORRECTION_NAME "ml-dsa-avx2-verify")

function(pqchain_edit file old new)
  file(READ "${file}" text)
  string(FIND "${text}" "${old}" first)
  string(FIND "${text}" "${old}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "pqchain: the correction does not apply exactly once to ${file}")
  endif()
  string(REPLACE "${old}" "${new}" text "${text}")
  file(WRITE "${file}" "${text}")
endfunction()

function(pqchain_guard file expected_sha256)
  if(NOT EXISTS "${file}")
    message(FATAL_ERROR "pqchain: ${file} is missing; expected the source tree of liboqs 0.13.0")
  endif()
  file(SHA256 "${file}" found)
  if(NOT found STREQUAL expected_sha256)
    message(FATAL_ERROR
      "pqchain: refuse to correct ${file}\n"
      "  SHA-256 found    ${found}\n"
      "  SHA-256 expected ${expected_sha256}\n"
      "pqchain corrects the AVX2 verifier of ML-DSA in liboqs 0.13.0 and does not know this file.\n"
      "Give it an unmodified liboqs 0.13.0 (unset PQCHAIN_LIBOQS_SOURCE to use the pinned one).")
  endif()
endfunction()

function(pqchain_correct_liboqs source)
  foreach(folder
      ml_dsa/pqcrystals-dilithium-standard_ml-dsa-44 ml_dsa/pqcrystals-dilithium-standard_ml-dsa-65
      ml_dsa/pqcrystals-dilithium-standard_ml-dsa-87 dilithium/pqcrystals-dilithium_dilithium2
      dilithium/pqcrystals-dilithium_dilithium3 dilithium/pqcrystals-dilithium_dilithium5)
    set(sign "${source}/src/sig/${folder}_avx2/sign.c")
    set(rounding "${source}/src/sig/${folder}_avx2/rounding.c")
    if(folder MATCHES "^ml_dsa")
      # Here the hash state is still allocated when the norm is checked.
      pqchain_guard("${sign}" 2e21efe52084b611734c34c536f576b4ea027df71a057e613d6f75251ac28cf5)
      set(unpack "polyz_unpack(&z.vec[i], sig + CTILDEBYTES + i*POLYZ_PACKEDBYTES);\n")
      set(release "shake256_inc_ctx_release(&state); ")
    else()
      pqchain_guard("${sign}" 2c90026301ef00699f49844df09284f2cfdb605fcee9758cadf2c6195501e11d)
      set(unpack "polyz_unpack(&z.vec[i], sig + SEEDBYTES + i*POLYZ_PACKEDBYTES);\n")
      set(release "")
    endif()
    pqchain_guard("${rounding}" 5b51d4e0bf90ddc7ae3f752b72e41d89ab0473733783254cbb8be616a948fb6b)
    pqchain_edit("${sign}" "${unpack}"
      "${unpack}    if(poly_chknorm(&z.vec[i], GAMMA1 - BETA)) { ${release}return -1; }\n")
    pqchain_edit("${rounding}" "_mm256_blendv_epi32(zero,h,f);"
      "_mm256_blendv_epi32(h,zero,_mm256_cmpgt_epi32(f,zero));")
  endforeach()
endfunction()
