# BLS12-381 by blst, whose C and assembly are in a crate. Cargo fetches it once and checks it against
# Cargo.lock; later builds find it in the cache. Without cargo or network the library is left out,
# and a file gives the reason.
#
# PQCHAIN_BLST=off leaves it out.
set(BLST_RELEASE blst-0.3.17)
set(BLST_DIGEST 9cb42485a852ebe0ce3b4a04326ff8dcd0d0cd718551f6788d43b37d997f1f93)
set(CMAKE_ASM_COMPILER "${CMAKE_C_COMPILER}")
enable_language(ASM)

# Put the crate and its licence into ${folder}; on failure set ${reason}.
function(pqchain_blst_fetch folder out_reason)
  set(work "${folder}.part")
  file(REMOVE_RECURSE "${work}" "${folder}")
  file(COPY "${PQCHAIN_NATIVE_DIR}/sources/${BLST_RELEASE}/" DESTINATION "${work}/cargo")
  message(STATUS "pqchain: cargo fetches the source of ${BLST_RELEASE}")
  execute_process(
    COMMAND "${PQCHAIN_CARGO}" vendor --locked --versioned-dirs
      --manifest-path "${work}/cargo/Cargo.toml" "${work}/vendor"
    RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE said)
  # The crate names its licence, Apache 2.0, without the text; another crate has the text.
  file(GLOB licence "${work}/vendor/zeroize-*/LICENSE-APACHE")
  if(NOT code EQUAL 0 OR NOT licence)
    string(REGEX MATCH "error: [^\n]*" error "${said}")
    set(${out_reason} "cargo could not fetch ${BLST_RELEASE} when it was built (${error})" PARENT_SCOPE)
    return()
  endif()
  file(READ "${licence}" text)
  file(RENAME "${work}/vendor/${BLST_RELEASE}/blst" "${work}/source")
  file(WRITE "${work}/source/LICENSE-${BLST_RELEASE}.txt"
    "${BLST_RELEASE}. Copyright Supranational LLC. Licensed under the Apache License, version 2.0:\n\n${text}")
  file(RENAME "${work}/source" "${folder}")
  file(REMOVE_RECURSE "${work}")
endfunction()

function(pqchain_blst)
  set(record "${CMAKE_BINARY_DIR}/blst/reason.txt")
  file(REMOVE "${record}")
  file(SHA256 "${PQCHAIN_NATIVE_DIR}/sources/${BLST_RELEASE}/Cargo.lock" lock)
  string(SUBSTRING "${lock}" 0 16 key)
  set(source "${PQCHAIN_CACHE_DIR}/sources/${BLST_RELEASE}-${key}")
  find_program(PQCHAIN_CARGO cargo)
  set(reason "")
  if("$ENV{PQCHAIN_BLST}" STREQUAL "off")
    set(reason "it was built with PQCHAIN_BLST=off")
  elseif(NOT EXISTS "${source}")
    file(MAKE_DIRECTORY "${PQCHAIN_CACHE_DIR}/sources")
    file(LOCK "${source}.lock" GUARD FUNCTION TIMEOUT 600)
    if(EXISTS "${source}")
      # A concurrent build has created it.
    elseif(NOT PQCHAIN_CARGO)
      set(reason "cargo was not found when it was built: install it")
    else()
      pqchain_blst_fetch("${source}" reason)
    endif()
  endif()
  if(reason)
    message(STATUS "pqchain: BLS12-381 is left out: ${reason}")
    file(WRITE "${record}" "${reason}\n")
    install(FILES "${record}" DESTINATION "_native/blst-assembly" COMPONENT pqchain)
    return()
  endif()

  pqchain_check_tree("${source}" "the source of ${BLST_RELEASE} in ${source}" ${BLST_DIGEST}
    "Delete that folder; the next build fetches it again." bindings build src)
  # Flags of blst's own build. It selects assembly at run time by the processor's features.
  add_library(blst STATIC "${source}/src/server.c" "${source}/build/assembly.S")
  set_target_properties(blst PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
  target_compile_definitions(blst PRIVATE __BLST_PORTABLE__)
  target_compile_options(blst PRIVATE -O2 -fno-builtin -Wno-unused-function)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(blst PRIVATE -mno-avx)
  endif()
  file(STRINGS "${PQCHAIN_NATIVE_DIR}/sources/${BLST_RELEASE}/Cargo.lock" pinned
    REGEX "^(name|version|checksum) = ")
  list(FIND pinned "name = \"blst\"" at)
  math(EXPR at "${at} + 2")
  list(GET pinned ${at} checksum)
  string(REGEX REPLACE "checksum = \"(.*)\"" "\\1" checksum "${checksum}")
  string(REPLACE "blst-" "" version "${BLST_RELEASE}")
  pqchain_library(blst-assembly STANDARD 11
    FILES no_kem.c blst/blst_glue.c FOLDERS "${source}/bindings" LIBRARIES blst
    VARIANT assembly SOURCE blst VERSION "${version}" ORIGIN "crate blst ${version}"
    DIGEST "${checksum}")
  install(FILES "${source}/LICENSE-${BLST_RELEASE}.txt"
    DESTINATION "${PQCHAIN_LICENCES_DIR}" COMPONENT pqchain)
endfunction()

pqchain_blst()
