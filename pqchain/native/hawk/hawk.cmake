# Hawk of our own, the same C twice: with portable kernels and with AVX2 ones. Beside it, where
# PQCHAIN_HAWK_SOURCE names their folder, the code of Hawk's authors.
function(pqchain_hawk name variant source version origin)
  set(flags -O3 -Wall -Wextra)
  if(variant STREQUAL "avx2")
    list(APPEND flags -mavx2 -mbmi2 -mpclmul)
  endif()
  add_library(${name} SHARED common.c hawk/hawk_glue.c hawk/sets.c ${ARGN})
  target_include_directories(${name} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_compile_options(${name} PRIVATE ${flags})
  set_target_properties(${name} PROPERTIES
    C_STANDARD 99 C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON
    PREFIX "" OUTPUT_NAME liboqs SUFFIX .so NO_SONAME ON
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${name}/lib")
  target_link_options(${name} PRIVATE
    LINKER:-soname,pqchain-${name}.so LINKER:-Bsymbolic LINKER:--no-undefined LINKER:-z,noexecstack)
  list(JOIN flags " " written)
  file(WRITE "${CMAKE_BINARY_DIR}/${name}/build.json"
"{
  \"source\": \"${source}\",
  \"source_version\": \"${version}\",
  \"source_origin\": \"${origin}\",
  \"source_digest\": \"\",
  \"variant\": \"${variant}\",
  \"corrections\": [],
  \"algorithms\": \"default\",
  \"compiler\": \"${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}\",
  \"flags\": \"${written}\",
  \"processor\": \"${CMAKE_SYSTEM_PROCESSOR}\"
}
")
  install(TARGETS ${name} LIBRARY DESTINATION "_native/${name}/lib" COMPONENT pqchain)
  install(FILES "${CMAKE_BINARY_DIR}/${name}/build.json"
    DESTINATION "_native/${name}" COMPONENT pqchain)
endfunction()

set(hawk_common codec.c keygen.c modular.c ntru.c params.c points.c shake.c sign.c tables.c verify.c
  wide.c hawk_study.c)
set(hawk_kernels binary.c norm.c product.c rebuild.c sampler.c shake_x4.c)
list(TRANSFORM hawk_common PREPEND hawk/)
foreach(variant IN LISTS variants)
  list(TRANSFORM hawk_kernels PREPEND "hawk/${variant}/" OUTPUT_VARIABLE kernels)
  pqchain_hawk(hawk-${variant} ${variant} "pqchain" "Hawk specification 1.0" "pqchain/native/hawk"
    ${hawk_common} ${kernels})
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
  pqchain_hawk(hawk-authors-avx2 avx2 "the authors of Hawk" "as found" "PQCHAIN_HAWK_SOURCE"
    hawk/authors.c ${found})
  target_include_directories(hawk-authors-avx2 BEFORE PRIVATE "${folder}")
endif()
