# A shared object: some code, the C interface of pqchain (pq_native.h), and build.json with the
# sources of the build.
#
#   pqchain_library(<target> FILES ... FOLDERS ... FLAGS ... LIBRARIES ... LINK ... STANDARD 11
#     VARIANT avx2 SOURCE liboqs VERSION 0.13.0 ORIGIN ... DIGEST ... CORRECTIONS ... SELECTION all)
#
# FILES and FOLDERS are relative to pqchain/native, or absolute. SELECTION defaults to "default".
find_package(Threads REQUIRED)

# Install build.json with the size and SHA-256 digest of the installed library, which pqchain compares
# before it loads the library. They are read after installation, because stripping changes the file.
function(pqchain_install_record name library record)
  install(CODE "
    set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/_native/${name}\")
    file(SIZE \"\${folder}/lib/${library}\" size)
    file(SHA256 \"\${folder}/lib/${library}\" digest)
    file(READ \"${record}\" text)
    string(REGEX REPLACE \"\n}\n$\" \",\n  \\\"library_bytes\\\": \${size},\n  \\\"library_sha256\\\": \\\"\${digest}\\\"\n}\n\" text \"\${text}\")
    file(WRITE \"\${folder}/build.json\" \"\${text}\")" COMPONENT pqchain)
endfunction()

function(pqchain_library target)
  cmake_parse_arguments(PARSE_ARGV 1 BUILT ""
    "STANDARD;VARIANT;SOURCE;VERSION;ORIGIN;DIGEST;SELECTION"
    "FILES;FOLDERS;FLAGS;LIBRARIES;LINK;CORRECTIONS")
  if(NOT BUILT_SELECTION)
    set(BUILT_SELECTION "default")
  endif()
  foreach(paths BUILT_FILES BUILT_FOLDERS)
    list(TRANSFORM ${paths} PREPEND "${PQCHAIN_NATIVE_DIR}/" REGEX "^[^/]")
  endforeach()
  list(PREPEND BUILT_FLAGS -O3 -Wall -Wextra)
  add_library(${target} SHARED "${PQCHAIN_NATIVE_DIR}/common.c" ${BUILT_FILES})
  target_include_directories(${target} PRIVATE "${PQCHAIN_NATIVE_DIR}" ${BUILT_FOLDERS})
  target_compile_options(${target} PRIVATE ${BUILT_FLAGS} ${PQCHAIN_SANITIZE}
    $<$<COMPILE_LANGUAGE:C>:-Werror=implicit-function-declaration>
    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti>)
  set_target_properties(${target} PROPERTIES
    C_STANDARD ${BUILT_STANDARD} CXX_STANDARD 14 CXX_STANDARD_REQUIRED ON
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON PREFIX "" OUTPUT_NAME liboqs SUFFIX .so NO_SONAME ON
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${target}/lib")
  target_link_options(${target} PRIVATE
    "LINKER:-soname,pqchain-${target}.so" LINKER:-Bsymbolic LINKER:--no-undefined
    LINKER:-z,noexecstack ${BUILT_LINK} ${PQCHAIN_SANITIZE})
  target_link_libraries(${target} PRIVATE ${BUILT_LIBRARIES} Threads::Threads m)

  list(JOIN BUILT_FLAGS " " BUILT_FLAGS)
  list(TRANSFORM BUILT_CORRECTIONS REPLACE "(.+)" "\"\\1\"")
  list(JOIN BUILT_CORRECTIONS ", " BUILT_CORRECTIONS)
  set(record "${CMAKE_BINARY_DIR}/${target}/build.json")
  configure_file("${PQCHAIN_NATIVE_DIR}/build.json.in" "${record}" @ONLY)
  install(TARGETS ${target} LIBRARY DESTINATION "_native/${target}/lib" COMPONENT pqchain)
  pqchain_install_record(${target} liboqs.so "${record}")
endfunction()
