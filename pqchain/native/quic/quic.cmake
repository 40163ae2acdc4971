# QUIC: a Rust crate that cargo builds, once per pins, sources and compiler; later builds reuse it.
# Without cargo, or with a Rust that is too old, the library is left out, and a file says why.
#
# PQCHAIN_QUIC=off leaves it out on purpose.
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

# Cargo's name of what is built for; a toolchain file says it for another processor.
if(NOT reason AND CMAKE_CROSSCOMPILING)
  set(target "${CMAKE_SYSTEM_PROCESSOR}-unknown-linux-gnu")
  execute_process(COMMAND "${PQCHAIN_RUSTC}" --print target-libdir --target "${target}"
    OUTPUT_VARIABLE libdir OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT libdir OR NOT EXISTS "${libdir}")
    set(reason "Rust has no standard library for ${target}: rustup target add ${target}")
  endif()
else()
  set(target "${host}")
endif()

if(reason)
  message(STATUS "pqchain: the QUIC library is left out: ${reason}")
  file(WRITE "${folder}/reason.txt" "${reason}\n")
  install(FILES "${folder}/reason.txt" DESTINATION "_native/quic" COMPONENT pqchain)
  return()
endif()

set(crate "${PQCHAIN_NATIVE_DIR}/quic")
file(SHA256 "${crate}/Cargo.lock" lock)
string(SHA256 pins "${lock} ${rust} ${target}")
string(SUBSTRING "${pins}" 0 16 pins)
file(GLOB files RELATIVE "${crate}" CONFIGURE_DEPENDS "${crate}/src/*.rs" "${crate}/Cargo.toml" "${crate}/licences.py")
list(SORT files)
# quic.cmake itself says how it is built.
file(SHA256 "${CMAKE_CURRENT_LIST_FILE}" recipe)
set(text "${pins} ${recipe}")
foreach(file IN LISTS files)
  file(SHA256 "${crate}/${file}" sum)
  string(APPEND text "\n${sum} ${file}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${crate}/${file}")
endforeach()
string(SHA256 digest "${text}")
string(SUBSTRING "${digest}" 0 16 key)
set(prefix "${PQCHAIN_CACHE_DIR}/built/quic-${key}")

if(NOT EXISTS "${prefix}/libpqchain_quic.so")
  file(MAKE_DIRECTORY "${PQCHAIN_CACHE_DIR}/built")
  file(LOCK "${prefix}.lock" GUARD FILE TIMEOUT 3600)
  if(NOT EXISTS "${prefix}/libpqchain_quic.so")
    message(STATUS "pqchain: cargo builds the QUIC library, once; this takes a minute or two")
    # What cargo compiled stays under its pins, so that a change of ours costs seconds.
    set(compiled "${PQCHAIN_CACHE_DIR}/cargo/quic-${pins}")
    set(log "${prefix}.log")
    file(REMOVE "${log}")
    file(REMOVE_RECURSE "${prefix}.part")
    file(MAKE_DIRECTORY "${prefix}.part")
    # Messages of panics name files; those of this machine are nobody's business.
    set(home "$ENV{HOME}/.cargo")
    if(DEFINED ENV{CARGO_HOME})
      set(home "$ENV{CARGO_HOME}")
    endif()
    set(remap "--remap-path-prefix=${home}=/cargo --remap-path-prefix=${crate}=/quic")
    string(TOUPPER "${target}" linker)
    string(REPLACE "-" "_" linker "${linker}")
    set(advice "Let cargo reach the Rust package registry, and give it a C compiler; or do without: PQCHAIN_QUIC=off make")
    pqchain_run("${log}" "${advice}" "${CMAKE_COMMAND}" -E env
      "CARGO_TARGET_DIR=${compiled}" "RUSTFLAGS=${remap}" "CC_${target}=${CMAKE_C_COMPILER}"
      "CARGO_TARGET_${linker}_LINKER=${CMAKE_C_COMPILER}"
      "${PQCHAIN_CARGO}" build --release --locked --target "${target}"
      --manifest-path "${crate}/Cargo.toml")
    pqchain_run("${log}" "${advice}" "${Python3_EXECUTABLE}" "${crate}/licences.py"
      "${PQCHAIN_CARGO}" "${crate}/Cargo.toml" "${target}" "${prefix}.part/LICENSE-quic.txt")
    file(COPY "${compiled}/${target}/release/libpqchain_quic.so" DESTINATION "${prefix}.part")
    file(RENAME "${prefix}.part" "${prefix}")
  endif()
  file(LOCK "${prefix}.lock" RELEASE)
endif()

file(STRINGS "${crate}/Cargo.lock" pinned REGEX "^(name|version) = ")
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
  \"flags\": \"cargo build --release --locked --target ${target}\",
  \"processor\": \"${CMAKE_SYSTEM_PROCESSOR}\"
}
")
install(FILES "${folder}/build.json" DESTINATION "_native/quic" COMPONENT pqchain)
install(PROGRAMS "${prefix}/libpqchain_quic.so" DESTINATION "_native/quic/lib" COMPONENT pqchain)
install(FILES "${prefix}/LICENSE-quic.txt" DESTINATION "${PQCHAIN_LICENCES_DIR}" COMPONENT pqchain)
