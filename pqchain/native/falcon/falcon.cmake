# The Falcon signer of our own: host parts in C here, the kernels in C++ under hls_kernels. Key pairs
# come from the portable liboqs, which is linked in. Without a C++ compiler it is left out.
find_program(PQCHAIN_CXX_COMPILER NAMES $ENV{CXX} c++ g++ clang++)
set(kernels "${CMAKE_CURRENT_SOURCE_DIR}/../../hls_kernels/src")
if(NOT PQCHAIN_CXX_COMPILER)
  message(STATUS "pqchain: no C++ compiler; falcon/kernel is left out (Debian: apt-get install g++)")
elseif(NOT EXISTS "${kernels}/falcon_sign.cpp")
  message(STATUS "pqchain: hls_kernels is not beside the package; falcon/kernel is left out")
else()
  set(CMAKE_CXX_COMPILER "${PQCHAIN_CXX_COMPILER}")
  enable_language(CXX)
  find_package(Threads REQUIRED)
  # One arithmetic: a fused multiply-add would change bits of intermediate results.
  set(flags -O3 -ffp-contract=off -Wall -Wextra -Wno-unknown-pragmas -Wno-unused-label)
  set(kernel_sources "${kernels}/falcon_sign.cpp" "${kernels}/falcon_engine.cpp")
  add_library(falcon-kernel SHARED common.c falcon/falcon_glue.c falcon/shake.c falcon/ntt.c
    falcon/codec.c falcon/memory.cpp falcon/falcon_signer.cpp falcon/falcon_counted.cpp falcon/falcon_study.cpp
    ${kernel_sources})
  target_include_directories(falcon-kernel PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}"
    "${CMAKE_CURRENT_SOURCE_DIR}/falcon" "${kernels}" "${liboqs-0.13-ref_PREFIX}/include")
  target_compile_options(falcon-kernel PRIVATE ${flags}
    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti>)
  set_target_properties(falcon-kernel PROPERTIES
    C_STANDARD 11 CXX_STANDARD 14 CXX_STANDARD_REQUIRED ON
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON PREFIX "" OUTPUT_NAME liboqs SUFFIX .so NO_SONAME ON
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/falcon-kernel/lib")
  target_link_options(falcon-kernel PRIVATE
    LINKER:-soname,pqchain-falcon-kernel.so LINKER:-Bsymbolic LINKER:--no-undefined
    LINKER:--gc-sections LINKER:-z,noexecstack -static-libgcc -static-libstdc++)
  target_link_libraries(falcon-kernel PRIVATE
    "${liboqs-0.13-ref_PREFIX}/lib/liboqs.a" Threads::Threads m)
  file(WRITE "${CMAKE_BINARY_DIR}/falcon-kernel/build.json"
"{
  \"source\": \"pqchain\",
  \"source_version\": \"Falcon specification 1.2 (round 3)\",
  \"source_origin\": \"hls_kernels and pqchain/native/falcon; key generation by liboqs 0.13.0\",
  \"source_digest\": \"\",
  \"variant\": \"kernel\",
  \"corrections\": [],
  \"algorithms\": \"default\",
  \"compiler\": \"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\",
  \"flags\": \"-O3 -ffp-contract=off\",
  \"processor\": \"${CMAKE_SYSTEM_PROCESSOR}\"
}
")
  install(TARGETS falcon-kernel LIBRARY DESTINATION _native/falcon-kernel/lib COMPONENT pqchain)
  install(FILES "${CMAKE_BINARY_DIR}/falcon-kernel/build.json"
    DESTINATION _native/falcon-kernel COMPONENT pqchain)
endif()
