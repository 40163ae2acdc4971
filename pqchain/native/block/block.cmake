# Decoding, hashing and execution of blocks. It contains no scheme, hence no pqchain_library().
add_library(block SHARED "${PQCHAIN_NATIVE_DIR}/block/block.c" "${PQCHAIN_NATIVE_DIR}/block/sha3.c")
set(BUILT_FLAGS -O3 -Wall -Wextra)
target_include_directories(block PRIVATE "${PQCHAIN_NATIVE_DIR}")
target_compile_options(block PRIVATE ${BUILT_FLAGS})
set_target_properties(block PROPERTIES
  C_STANDARD 11 C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON
  OUTPUT_NAME pqchain_block NO_SONAME ON LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/block/lib")
target_link_options(block PRIVATE LINKER:-Bsymbolic LINKER:--no-undefined LINKER:-z,noexecstack)

file(SHA256 "${PQCHAIN_NATIVE_DIR}/block/block.c" reading)
file(SHA256 "${PQCHAIN_NATIVE_DIR}/block/sha3.c" hashing)
file(SHA256 "${PQCHAIN_NATIVE_DIR}/int128.h" numbers)
string(SHA256 BUILT_DIGEST "${reading} ${hashing} ${numbers}")
set(BUILT_SOURCE pqchain)
set(BUILT_VERSION "encoding 1")
set(BUILT_ORIGIN pqchain/native/block)
set(BUILT_VARIANT block)
set(BUILT_CORRECTIONS "")
set(BUILT_SELECTION "none")
list(JOIN BUILT_FLAGS " " BUILT_FLAGS)
configure_file("${PQCHAIN_NATIVE_DIR}/build.json.in" "${CMAKE_BINARY_DIR}/block/build.json" @ONLY)
install(TARGETS block LIBRARY DESTINATION _native/block/lib COMPONENT pqchain)
pqchain_install_record(block libpqchain_block.so "${CMAKE_BINARY_DIR}/block/build.json")
