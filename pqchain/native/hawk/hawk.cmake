# pqchain's Hawk, the same C with portable and with AVX2 kernels, the latter also compiled for AVX-512. If PQCHAIN_HAWK_SOURCE names
# its folder, the code of Hawk's authors as well.
function(pqchain_hawk name variant)
  set(flags "")
  if(NOT variant STREQUAL "ref")
    set(flags -mavx2 -mbmi2 -mpclmul)
  endif()
  if(variant STREQUAL "avx512")
    list(APPEND flags ${PQCHAIN_AVX512})
  endif()
  pqchain_library(${name} STANDARD 99 FLAGS ${flags} VARIANT ${variant}
    FILES no_kem.c hawk/hawk_glue.c hawk/sets.c ${ARGN})
endfunction()

set(hawk_common codec.c keygen.c known_keys.c modular.c ntru.c params.c points.c sign.c tables.c verify.c wide.c
  hawk_study.c)
set(hawk_kernels binary.c norm.c product.c rebuild.c sampler.c shake_x4.c)
list(TRANSFORM hawk_common PREPEND hawk/)
set(hawk_variants ${variants})
if("avx2" IN_LIST variants)
  list(APPEND hawk_variants avx512)
endif()
foreach(variant IN LISTS hawk_variants)
  string(REPLACE avx512 avx2 folder "${variant}")
  list(TRANSFORM hawk_kernels PREPEND "hawk/${folder}/" OUTPUT_VARIABLE kernels)
  pqchain_hawk(hawk-${variant} ${variant} shake.c ${hawk_common} ${kernels}
    SOURCE pqchain VERSION "Hawk specification 1.0" ORIGIN pqchain/native/hawk)
endforeach()

set(folder "$ENV{PQCHAIN_HAWK_SOURCE}")
if(NOT folder STREQUAL "")
  cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY "${CMAKE_SOURCE_DIR}" NORMALIZE)
  if(EXISTS "${folder}/src/hawk.h")
    string(APPEND folder "/src")
  endif()
  set(missing "")
  foreach(file hawk.h hawk_kgen.c hawk_sign.c hawk_vrfy.c)
    if(NOT EXISTS "${folder}/${file}")
      list(APPEND missing "${file}")
    endif()
  endforeach()
  if(missing OR NOT "avx2" IN_LIST variants)
    list(JOIN missing ", " missing)
    message(FATAL_ERROR
      "pqchain: PQCHAIN_HAWK_SOURCE='$ENV{PQCHAIN_HAWK_SOURCE}' cannot be built. Expected is an "
      "x86-64 processor and a folder with the C code of Hawk's authors, or their repository with "
      "it in src/. Not found in ${folder}: ${missing}.\n"
      "Leave the variable unset to do without; our own Hawk does not need it.")
  endif()
  file(GLOB found CONFIGURE_DEPENDS "${folder}/*.c")
  pqchain_hawk(hawk-authors-avx2 avx2 hawk/authors.c ${found}
    SOURCE "the authors of Hawk" VERSION "as found" ORIGIN PQCHAIN_HAWK_SOURCE)
  target_include_directories(hawk-authors-avx2 BEFORE PRIVATE "${folder}")
endif()
