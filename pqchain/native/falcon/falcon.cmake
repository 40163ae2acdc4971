# The Falcon signer of pqchain: host parts in C here, the kernels in C++ under hls_kernels. Key pairs
# come from the portable liboqs, which is linked in. Without a C++ compiler it is left out.
find_program(PQCHAIN_CXX_COMPILER NAMES $ENV{CXX} c++ g++ clang++)
set(kernels "${CMAKE_CURRENT_SOURCE_DIR}/../../hls_kernels/src")
if(NOT PQCHAIN_CXX_COMPILER)
  message(STATUS "pqchain: no C++ compiler; falcon/kernel is left out (Debian: apt-get install g++)")
elseif(NOT EXISTS "${kernels}/falcon_sign.cpp")
  message(STATUS "pqchain: hls_kernels is not next to the package; falcon/kernel is left out")
else()
  set(CMAKE_CXX_COMPILER "${PQCHAIN_CXX_COMPILER}")
  enable_language(CXX)
  set(prefix "${liboqs-0.13-ref_PREFIX}")
  set(falcon_files falcon_glue.c ntt.c codec.c recovery.c memory.cpp
    falcon_signer.cpp falcon_counted.cpp falcon_study.cpp)
  list(TRANSFORM falcon_files PREPEND falcon/)
  # One arithmetic: a fused multiply-add would change bits of intermediate results.
  pqchain_library(falcon-kernel STANDARD 11
    FLAGS -ffp-contract=off -Wno-unknown-pragmas -Wno-unused-label
    FILES no_kem.c oqs_random.c shake.c ${falcon_files} "${kernels}/falcon_sign.cpp"
      "${kernels}/falcon_engine.cpp"
    FOLDERS falcon "${kernels}" "${prefix}/include"
    LIBRARIES "${prefix}/lib/liboqs.a"
    LINK LINKER:--gc-sections -static-libgcc -static-libstdc++
    VARIANT kernel SOURCE pqchain VERSION "Falcon specification 1.2 (round 3)"
    ORIGIN "hls_kernels and pqchain/native/falcon; key generation by liboqs 0.13.0")
endif()
