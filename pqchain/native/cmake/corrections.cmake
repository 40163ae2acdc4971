# Corrections of fetched sources. Each file is edited only if its SHA-256 is the one that the edit
# was written for, and every edit must apply exactly once; anything else stops the build. What is
# corrected, and why, stands in sources/<release>/corrections.cmake; paths there start in ${source}.

function(pqchain_edit file old new)
  file(READ "${source}/${file}" text)
  string(FIND "${text}" "${old}" first)
  string(FIND "${text}" "${old}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "pqchain: the correction does not apply exactly once to ${source}/${file}")
  endif()
  string(REPLACE "${old}" "${new}" text "${text}")
  file(WRITE "${source}/${file}" "${text}")
endfunction()

function(pqchain_guard file expected_sha256)
  if(NOT EXISTS "${source}/${file}")
    message(FATAL_ERROR "pqchain: ${source}/${file} is missing; expected the tree of ${release}")
  endif()
  file(SHA256 "${source}/${file}" found)
  if(NOT found STREQUAL expected_sha256)
    message(FATAL_ERROR
      "pqchain: refuse to correct ${source}/${file}\n"
      "  SHA-256 found    ${found}\n"
      "  SHA-256 expected ${expected_sha256}\n"
      "pqchain corrects known defects of ${release} and does not know this file.\n"
      "Give it an unmodified ${release} (unset ${source_variable} to use the pinned one).")
  endif()
endfunction()

# The AVX2 verifier of Dilithium and ML-DSA, in one folder: check the norm of z while it is
# unpacked, and round down where a hint meets a low part of 0.
function(pqchain_correct_dilithium folder sign_sha256 challenge_bytes release_state)
  pqchain_guard("${folder}/sign.c" ${sign_sha256})
  pqchain_guard("${folder}/rounding.c"
    5b51d4e0bf90ddc7ae3f752b72e41d89ab0473733783254cbb8be616a948fb6b)
  set(unpack "polyz_unpack(&z.vec[i], sig + ${challenge_bytes} + i*POLYZ_PACKEDBYTES);\n")
  pqchain_edit("${folder}/sign.c" "${unpack}"
    "${unpack}    if(poly_chknorm(&z.vec[i], GAMMA1 - BETA)) { ${release_state}return -1; }\n")
  pqchain_edit("${folder}/rounding.c" "_mm256_blendv_epi32(zero,h,f);"
    "_mm256_blendv_epi32(h,zero,_mm256_cmpgt_epi32(f,zero));")
endfunction()

# Correct the tree in ${source}.
function(pqchain_correct release source)
  include("${PQCHAIN_NATIVE_DIR}/sources/${release}/release.cmake")
  include("${PQCHAIN_NATIVE_DIR}/sources/${release}/corrections.cmake")
endfunction()
