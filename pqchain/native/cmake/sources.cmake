# Find the source of liboqs: PQCHAIN_LIBOQS_SOURCE, else cargo, else git, else say what to do.

set(PQCHAIN_LIBOQS_TAG "0.13.0")
set(PQCHAIN_LIBOQS_GIT "https://github.com/open-quantum-safe/liboqs.git")
string(CONCAT PQCHAIN_NO_SOURCE
  "pqchain needs the source of liboqs 0.13.0, once. Any one of these mends it:\n"
  "  - install cargo (Debian: apt-get install cargo) and let it reach the Rust package registry;\n"
  "  - install git and let it reach ${PQCHAIN_LIBOQS_GIT};\n"
  "  - unpack liboqs 0.13.0 by hand and set PQCHAIN_LIBOQS_SOURCE=<that folder>;\n"
  "  - do without native code: PQCHAIN_NATIVE=off pip install . (papers, compare and plots work).")

# One digest over the files that the build reads. A tree from git or from a folder must have the
# digest of the tree that the lock file's checksum stands for.
set(PQCHAIN_LIBOQS_DIGEST 325457c29422c3a5697a39679f9a2e595e1ba6b4748341ab3ae62e0d2b96bdf5)

function(pqchain_digest source out)
  file(GLOB_RECURSE files RELATIVE "${source}"
    "${source}/src/*.c" "${source}/src/*.h" "${source}/src/*.S" "${source}/src/*.s"
    "${source}/src/*.inc" "${source}/src/*.macros" "${source}/src/*CMakeLists.txt"
    "${source}/.CMake/*" "${source}/CMakeLists.txt")
  list(SORT files)
  set(lines "")
  foreach(file IN LISTS files)
    file(SHA256 "${source}/${file}" sum)
    string(APPEND lines "${sum}  ${file}\n")
  endforeach()
  string(SHA256 digest "${lines}")
  set(${out} ${digest} PARENT_SCOPE)
endfunction()

# Put the tree into `into`, unchanged, and say where it came from.
function(pqchain_fetch_liboqs into out_origin)
  set(log "${into}.log")
  file(REMOVE "${log}")
  find_program(PQCHAIN_CARGO cargo)
  find_program(PQCHAIN_GIT git)
  if(DEFINED ENV{PQCHAIN_LIBOQS_SOURCE} AND NOT "$ENV{PQCHAIN_LIBOQS_SOURCE}" STREQUAL "")
    set(tree "$ENV{PQCHAIN_LIBOQS_SOURCE}")
    set(origin "the folder in PQCHAIN_LIBOQS_SOURCE")
    if(NOT EXISTS "${tree}/src/oqs.h")
      message(FATAL_ERROR
        "pqchain: PQCHAIN_LIBOQS_SOURCE=${tree} holds no liboqs (no src/oqs.h in it).\n"
        "${PQCHAIN_NO_SOURCE}")
    endif()
  elseif(PQCHAIN_CARGO)
    message(STATUS "pqchain: cargo fetches the source of liboqs 0.13.0")
    file(COPY "${PQCHAIN_NATIVE_DIR}/sources/" DESTINATION "${into}.cargo"
      FILES_MATCHING PATTERN "*.toml" PATTERN "*.lock" PATTERN "*.rs")
    pqchain_run("${log}" "${PQCHAIN_NO_SOURCE}" "${PQCHAIN_CARGO}" vendor --locked --versioned-dirs
      --manifest-path "${into}.cargo/Cargo.toml" "${into}.cargo/vendor")
    file(GLOB tree "${into}.cargo/vendor/oqs-sys-0.11.0*/liboqs")
    set(origin "crate oqs-sys 0.11.0+liboqs-0.13.0")
  elseif(PQCHAIN_GIT)
    message(STATUS "pqchain: git fetches the source of liboqs ${PQCHAIN_LIBOQS_TAG}")
    set(tree "${into}.git")
    pqchain_run("${log}" "${PQCHAIN_NO_SOURCE}" "${PQCHAIN_GIT}" clone --quiet --depth 1
      --branch "${PQCHAIN_LIBOQS_TAG}" "${PQCHAIN_LIBOQS_GIT}" "${tree}")
    set(origin "git tag ${PQCHAIN_LIBOQS_TAG}")
  else()
    message(FATAL_ERROR "pqchain: neither cargo nor git was found.\n${PQCHAIN_NO_SOURCE}")
  endif()
  pqchain_digest("${tree}" found)
  if(NOT found STREQUAL PQCHAIN_LIBOQS_DIGEST)
    message(FATAL_ERROR
      "pqchain: the source of liboqs from ${origin} is not the pinned one.\n"
      "  digest found    ${found}\n  digest expected ${PQCHAIN_LIBOQS_DIGEST}\n"
      "${PQCHAIN_NO_SOURCE}")
  endif()
  file(REMOVE_RECURSE "${into}")
  file(MAKE_DIRECTORY "${into}")
  file(COPY "${tree}/CMakeLists.txt" "${tree}/LICENSE.txt" "${tree}/README.md" "${tree}/.CMake"
    "${tree}/src" DESTINATION "${into}")
  file(COPY "${tree}/tests" DESTINATION "${into}" PATTERN "ACVP_Vectors" EXCLUDE)
  file(REMOVE_RECURSE "${into}.cargo" "${into}.git")
  file(REMOVE "${log}")
  set(${out_origin} "${origin}" PARENT_SCOPE)
endfunction()
