# QUIC: a Rust crate that cargo builds, once per pins, sources and compiler; later builds reuse it.
# Without cargo, or with a Rust that is too old, the library is left out, and a file gives the reason.
#
# PQCHAIN_QUIC=off leaves it out.
set(QUIC_RUST 1.85)
set(folder "${CMAKE_BINARY_DIR}/quic")
file(MAKE_DIRECTORY "${folder}")
file(REMOVE "${folder}/reason.txt")

find_program(PQCHAIN_CARGO cargo)
find_program(PQCHAIN_RUSTC rustc)
set(reason "")
set(rust "")
if("$ENV{PQCHAIN_QUIC}" STREQUAL "off")
  set(reason "it was built with PQCHAIN_QUIC=off")
elseif(CMAKE_SIZEOF_VOID_P EQUAL 4)
  set(reason "it is for processors of 64 bits; replay over aioquic here")
elseif(NOT PQCHAIN_CARGO OR NOT PQCHAIN_RUSTC)
  set(reason "cargo was not found when it was built: install Rust ${QUIC_RUST} or newer")
else()
  execute_process(COMMAND "${PQCHAIN_RUSTC}" --version --verbose OUTPUT_VARIABLE rust ERROR_QUIET)
  string(REGEX MATCH "release: ([0-9.]+)" release "${rust}")
  set(release "${CMAKE_MATCH_1}")
  string(REGEX MATCH "host: ([^\n]+)" host "${rust}")
  set(host "${CMAKE_MATCH_1}")
  if(NOT release OR release VERSION_LESS QUIC_RUST)
    set(reason "it was built with Rust '${release}': install ${QUIC_RUST} or newer")
  endif()
endif()

# Cargo's name of the target; a toolchain file sets it for another processor.
if(NOT reason AND CMAKE_CROSSCOMPILING)
  set(QUIC_TARGET "${CMAKE_SYSTEM_PROCESSOR}-unknown-linux-gnu")
  execute_process(COMMAND "${PQCHAIN_RUSTC}" --print target-libdir --target "${QUIC_TARGET}"
    OUTPUT_VARIABLE libdir OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT libdir OR NOT EXISTS "${libdir}")
    set(reason "Rust has no standard library for ${QUIC_TARGET}: rustup target add ${QUIC_TARGET}")
  endif()
else()
  set(QUIC_TARGET "${host}")
endif()

if(reason)
  message(STATUS "pqchain: the QUIC library is left out: ${reason}")
  file(WRITE "${folder}/reason.txt" "${reason}\n")
  install(FILES "${folder}/reason.txt" DESTINATION "_native/quic" COMPONENT pqchain)
  return()
endif()

set(QUIC_CRATE "${PQCHAIN_NATIVE_DIR}/quic")
file(SHA256 "${QUIC_CRATE}/Cargo.lock" lock)
string(SHA256 pins "${lock} ${rust} ${QUIC_TARGET}")
string(SUBSTRING "${pins}" 0 16 pins)
file(GLOB files RELATIVE "${QUIC_CRATE}" CONFIGURE_DEPENDS "${QUIC_CRATE}/src/*.rs" "${QUIC_CRATE}/Cargo.toml" "${QUIC_CRATE}/licences.py")
list(SORT files)
# quic.cmake is an input of the build.
file(SHA256 "${CMAKE_CURRENT_LIST_FILE}" recipe)
set(text "${pins} ${recipe}")
foreach(file IN LISTS files)
  file(SHA256 "${QUIC_CRATE}/${file}" sum)
  string(APPEND text "\n${sum} ${file}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${QUIC_CRATE}/${file}")
endforeach()
string(SHA256 digest "${text}")
string(SUBSTRING "${digest}" 0 16 key)
set(QUIC_PREFIX "${PQCHAIN_CACHE_DIR}/built/quic-${key}")

# Cargo's build folder depends on the pins only, so that a change of this crate costs seconds. Panic
# messages contain file names; prefixes of this machine are removed.
set(QUIC_COMPILED "${PQCHAIN_CACHE_DIR}/cargo/quic-${pins}")
set(home "$ENV{HOME}/.cargo")
if(DEFINED ENV{CARGO_HOME})
  set(home "$ENV{CARGO_HOME}")
endif()
string(TOUPPER "${QUIC_TARGET}" linker)
string(REPLACE "-" "_" linker "${linker}")
set(QUIC_BUILD "${CMAKE_COMMAND}" -E env
  "CARGO_TARGET_DIR=${QUIC_COMPILED}" "CC_${QUIC_TARGET}=${CMAKE_C_COMPILER}"
  "RUSTFLAGS=--remap-path-prefix=${home}=/cargo --remap-path-prefix=${QUIC_CRATE}=/quic"
  "CARGO_TARGET_${linker}_LINKER=${CMAKE_C_COMPILER}"
  "${PQCHAIN_CARGO}" build --release --locked --target "${QUIC_TARGET}"
  --manifest-path "${QUIC_CRATE}/Cargo.toml")

# The build begins here, in parallel with others, and pqchain_quic() waits for it: cargo allows one
# build at a time in a folder, and the second has nothing to do.
if(NOT EXISTS "${QUIC_PREFIX}/libpqchain_quic.so")
  message(STATUS "pqchain: cargo builds the QUIC library, once; this takes a minute or two")
  execute_process(COMMAND sh -c "\"$@\" >/dev/null 2>&1 &" cargo ${QUIC_BUILD})
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
      "${PQCHAIN_CARGO}" "${PQCHAIN_RUSTC}" "${QUIC_CRATE}/Cargo.toml" "${QUIC_TARGET}" "${QUIC_PREFIX}.part/LICENSE-quic.txt")
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
