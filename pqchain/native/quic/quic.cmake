# QUIC: a Rust crate that cargo builds, once per pins, sources and compiler; later builds reuse it.
# Without cargo, or with a Rust that is too old, the library is left out, and a file gives the reason.
#
# PQCHAIN_QUIC=off leaves it out.
set(QUIC_RUST 1.85)
set(folder "${CMAKE_BINARY_DIR}/quic")
file(MAKE_DIRECTORY "${folder}")
file(REMOVE "${folder}/reason.txt")

pqchain_rust(${QUIC_RUST} reason rust release QUIC_TARGET)
if("$ENV{PQCHAIN_QUIC}" STREQUAL "off")
  set(reason "it was built with PQCHAIN_QUIC=off")
elseif(CMAKE_SIZEOF_VOID_P EQUAL 4)
  set(reason "it is for processors of 64 bits; replay over aioquic here")
endif()

if(reason)
  message(STATUS "pqchain: the QUIC library is left out: ${reason}")
  file(WRITE "${folder}/reason.txt" "${reason}\n")
  install(FILES "${folder}/reason.txt" DESTINATION "_native/quic" COMPONENT pqchain)
  return()
endif()

set(QUIC_CRATE "${PQCHAIN_NATIVE_DIR}/quic")
pqchain_crate_digest("${QUIC_CRATE}" "${rust}" "${QUIC_TARGET}" "${CMAKE_CURRENT_LIST_FILE}" digest pins)
file(SHA256 "${QUIC_CRATE}/Cargo.lock" lock)
string(SUBSTRING "${digest}" 0 16 key)
set(QUIC_PREFIX "${PQCHAIN_CACHE_DIR}/built/quic-${key}")

# Cargo's build folder depends on the pins only, so that a change of this crate costs seconds.
set(QUIC_COMPILED "${PQCHAIN_CACHE_DIR}/cargo/quic-${pins}")
pqchain_cargo_command("${QUIC_CRATE}" "${QUIC_TARGET}" "${QUIC_COMPILED}" QUIC_BUILD)
if(NOT EXISTS "${QUIC_PREFIX}/libpqchain_quic.so")
  message(STATUS "pqchain: cargo builds the QUIC library, once; this takes a minute or two")
  pqchain_cargo_begin(${QUIC_BUILD})
endif()

function(pqchain_quic)
  if(NOT EXISTS "${QUIC_PREFIX}/libpqchain_quic.so")
    file(MAKE_DIRECTORY "${PQCHAIN_CACHE_DIR}/built")
    file(LOCK "${QUIC_PREFIX}.lock" GUARD FUNCTION TIMEOUT 3600)
  endif()
  if(NOT EXISTS "${QUIC_PREFIX}/libpqchain_quic.so")
    set(log "${QUIC_PREFIX}.log")
    file(REMOVE "${log}")
    file(REMOVE_RECURSE "${QUIC_PREFIX}.part")
    file(MAKE_DIRECTORY "${QUIC_PREFIX}.part")
    set(advice "Let cargo reach the Rust package registry, and give it a C compiler; or do without: PQCHAIN_QUIC=off make")
    pqchain_run("${log}" "${advice}" ${QUIC_BUILD})
    pqchain_run("${log}" "${advice}" "${Python3_EXECUTABLE}" "${QUIC_CRATE}/licences.py"
      "${PQCHAIN_CARGO}" "${PQCHAIN_RUSTC}" "${QUIC_CRATE}/Cargo.toml" "${QUIC_TARGET}" "${QUIC_PREFIX}.part/LICENSE-quic.txt"
      "The QUIC library")
    file(COPY "${QUIC_COMPILED}/${QUIC_TARGET}/release/libpqchain_quic.so" DESTINATION "${QUIC_PREFIX}.part")
    file(RENAME "${QUIC_PREFIX}.part" "${QUIC_PREFIX}")
  endif()
endfunction()

file(STRINGS "${QUIC_CRATE}/Cargo.lock" pinned REGEX "^(name|version) = ")
list(FIND pinned "name = \"quinn-proto\"" at)
math(EXPR at "${at} + 1")
list(GET pinned ${at} version)
string(REGEX REPLACE "version = \"(.*)\"" "\\1" version "${version}")
file(WRITE "${folder}/build.json" "{
  \"source\": \"quinn-proto\",
  \"source_version\": \"${version}\",
  \"source_origin\": \"Cargo.lock, SHA-256 ${lock}\",
  \"source_digest\": \"${digest}\",
  \"variant\": \"quic\",
  \"corrections\": [],
  \"algorithms\": \"default\",
  \"compiler\": \"rustc ${release}\",
  \"flags\": \"cargo build --release --locked --target ${QUIC_TARGET}\",
  \"processor\": \"${CMAKE_SYSTEM_PROCESSOR}\"
}
")
install(PROGRAMS "${QUIC_PREFIX}/libpqchain_quic.so" DESTINATION "_native/quic/lib" COMPONENT pqchain)
pqchain_install_record(quic libpqchain_quic.so "${folder}/build.json")
install(FILES "${QUIC_PREFIX}/LICENSE-quic.txt" DESTINATION "${PQCHAIN_LICENCES_DIR}" COMPONENT pqchain)
