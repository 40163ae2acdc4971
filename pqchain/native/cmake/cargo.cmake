# Crates of ours, which cargo builds.

# Why no crate can be built here, or empty; the compiler's description, its release, and cargo's name
# of the target, which a toolchain file sets for another processor.
function(pqchain_rust oldest out_reason out_rust out_release out_target)
  find_program(PQCHAIN_CARGO cargo)
  find_program(PQCHAIN_RUSTC rustc)
  set(reason "")
  set(rust "")
  set(release "")
  set(target "")
  if(NOT PQCHAIN_CARGO OR NOT PQCHAIN_RUSTC)
    set(reason "cargo was not found when it was built: install Rust ${oldest} or newer")
  else()
    execute_process(COMMAND "${PQCHAIN_RUSTC}" --version --verbose OUTPUT_VARIABLE rust ERROR_QUIET)
    string(REGEX MATCH "release: ([0-9.]+)" release "${rust}")
    set(release "${CMAKE_MATCH_1}")
    string(REGEX MATCH "host: ([^\n]+)" host "${rust}")
    set(target "${CMAKE_MATCH_1}")
    if(NOT release OR release VERSION_LESS oldest)
      set(reason "it was built with Rust '${release}': install ${oldest} or newer")
    endif()
  endif()
  if(NOT reason AND CMAKE_CROSSCOMPILING)
    set(target "${CMAKE_SYSTEM_PROCESSOR}-unknown-linux-gnu")
    execute_process(COMMAND "${PQCHAIN_RUSTC}" --print target-libdir --target "${target}"
      OUTPUT_VARIABLE libdir OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT libdir OR NOT EXISTS "${libdir}")
      set(reason "Rust has no standard library for ${target}: rustup target add ${target}")
    endif()
  endif()
  foreach(name reason rust release target)
    set(${out_${name}} "${${name}}" PARENT_SCOPE)
  endforeach()
endfunction()

# The digest of a crate's files and what builds it, and that of its pins only.
function(pqchain_crate_digest crate rust target recipe out_digest out_pins)
  file(SHA256 "${crate}/Cargo.lock" lock)
  string(SHA256 pins "${lock} ${rust} ${target}")
  string(SUBSTRING "${pins}" 0 16 pins)
  file(GLOB files RELATIVE "${crate}" CONFIGURE_DEPENDS "${crate}/src/*.rs" "${crate}/Cargo.toml"
    "${crate}/licences.py")
  list(SORT files)
  # The recipe is an input of the build.
  file(SHA256 "${recipe}" text)
  string(PREPEND text "${pins} ")
  foreach(file IN LISTS files)
    file(SHA256 "${crate}/${file}" sum)
    string(APPEND text "\n${sum} ${file}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${crate}/${file}")
  endforeach()
  string(SHA256 digest "${text}")
  set(${out_digest} ${digest} PARENT_SCOPE)
  set(${out_pins} ${pins} PARENT_SCOPE)
endfunction()

# The command that builds a crate into a folder. Panic messages contain file names; prefixes of this
# machine are removed.
function(pqchain_cargo_command crate target folder out)
  set(home "$ENV{HOME}/.cargo")
  if(DEFINED ENV{CARGO_HOME})
    set(home "$ENV{CARGO_HOME}")
  endif()
  get_filename_component(name "${crate}" NAME)
  string(TOUPPER "${target}" linker)
  string(REPLACE "-" "_" linker "${linker}")
  set(${out} "${CMAKE_COMMAND}" -E env
    "CARGO_TARGET_DIR=${folder}" "CC_${target}=${CMAKE_C_COMPILER}"
    "RUSTFLAGS=--remap-path-prefix=${home}=/cargo --remap-path-prefix=${crate}=/${name}"
    "CARGO_TARGET_${linker}_LINKER=${CMAKE_C_COMPILER}"
    "${PQCHAIN_CARGO}" build --release --locked --target "${target}"
    --manifest-path "${crate}/Cargo.toml" PARENT_SCOPE)
endfunction()

# Build in the background, in parallel with others: cargo allows one build at a time in a folder, and
# a later one has nothing to do.
function(pqchain_cargo_begin)
  execute_process(COMMAND sh -c "\"$@\" >/dev/null 2>&1 &" cargo ${ARGN})
endfunction()
