# Rainbow-I-Classic of our own: signing and verification with AVX2 tables, which liboqs has not. Key
# pairs come from liboqs 0.7.1, which is linked in.
if("avx2" IN_LIST variants)
  set(flags -O3 -Wall -Wextra -mavx2 -maes)
  set(prefix "${liboqs-0.7.1-ref_PREFIX}")
  find_package(Threads REQUIRED)
  add_library(rainbow-avx2 SHARED common.c rainbow/rainbow_glue.c rainbow/drbg.c rainbow/sha256.c
    rainbow/sign.c rainbow/verify.c)
  target_include_directories(rainbow-avx2 PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}"
    "${CMAKE_CURRENT_SOURCE_DIR}/rainbow" "${prefix}/include")
  target_compile_options(rainbow-avx2 PRIVATE ${flags})
  set_target_properties(rainbow-avx2 PROPERTIES
    C_STANDARD 11 C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON
    PREFIX "" OUTPUT_NAME liboqs SUFFIX .so NO_SONAME ON
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/rainbow-avx2/lib")
  target_link_options(rainbow-avx2 PRIVATE
    LINKER:-soname,pqchain-rainbow-avx2.so LINKER:-Bsymbolic LINKER:--no-undefined
    LINKER:--gc-sections LINKER:-z,noexecstack)
  target_link_libraries(rainbow-avx2 PRIVATE "${prefix}/lib/liboqs.a" Threads::Threads m)
  list(JOIN flags " " written)
  file(WRITE "${CMAKE_BINARY_DIR}/rainbow-avx2/build.json"
"{
  \"source\": \"pqchain\",
  \"source_version\": \"Rainbow specification, third round (2020-10)\",
  \"source_origin\": \"pqchain/native/rainbow; key generation by liboqs 0.7.1\",
  \"source_digest\": \"\",
  \"variant\": \"avx2\",
  \"corrections\": [],
  \"algorithms\": \"default\",
  \"compiler\": \"${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}\",
  \"flags\": \"${written}\",
  \"processor\": \"${CMAKE_SYSTEM_PROCESSOR}\"
}
")
  install(TARGETS rainbow-avx2 LIBRARY DESTINATION _native/rainbow-avx2/lib COMPONENT pqchain)
  install(FILES "${CMAKE_BINARY_DIR}/rainbow-avx2/build.json"
    DESTINATION _native/rainbow-avx2 COMPONENT pqchain)
endif()
