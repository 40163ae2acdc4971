# Hawk of our own: the same C twice, with portable kernels and with AVX2 ones.
set(hawk_common codec.c keygen.c modular.c ntru.c params.c points.c shake.c sign.c tables.c verify.c
  wide.c hawk_glue.c hawk_study.c)
set(hawk_kernels binary.c norm.c product.c rebuild.c sampler.c shake_x4.c)
list(TRANSFORM hawk_common PREPEND hawk/)
foreach(variant IN LISTS variants)
  set(name "hawk-${variant}")
  set(flags -O3 -Wall -Wextra)
  if(variant STREQUAL "avx2")
    list(APPEND flags -mavx2 -mbmi2 -mpclmul)
  endif()
  set(sources ${hawk_kernels})
  list(TRANSFORM sources PREPEND "hawk/${variant}/")
  add_library(${name} SHARED common.c ${hawk_common} ${sources})
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
  \"source\": \"pqchain\",
  \"source_version\": \"Hawk specification 1.0\",
  \"source_origin\": \"pqchain/native/hawk\",
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
endforeach()
