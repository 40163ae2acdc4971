# Find the source of a release of liboqs: a folder that a variable names, else cargo, else git, else
# say what to do. A release is a folder in sources/: its pin, its facts, its corrections.

set(PQCHAIN_LIBOQS_GIT "https://github.com/open-quantum-safe/liboqs.git")

# What to do when there is no source; reads ${release} and ${source_variable}.
macro(pqchain_remedies out)
  string(REPLACE "liboqs-" "liboqs " spoken "${release}")
  string(CONCAT ${out}
    "pqchain needs the source of ${spoken}, once. Do one of these:\n"
    "  - install cargo (Debian: apt-get install cargo) and let it reach the Rust package registry;\n"
    "  - install git and let it reach ${PQCHAIN_LIBOQS_GIT};\n"
    "  - unpack ${spoken} by hand and set ${source_variable}=<that folder>;\n"
    "  - do without native code: PQCHAIN_NATIVE=off pip install . (papers, compare and plots work).")
endmacro()

# One digest over the files that the build reads. A tree from git or from a folder must have the
# digest of the tree that the lock file's checksum stands for.
function(pqchain_digest source out)
  file(GLOB_RECURSE files RELATIVE "${source}"
    "${source}/src/*.c" "${source}/src/*.h" "${source}/src/*.S" "${source}/src/*.s"
    "${source}/src/*.inc" "${source}/src/*.i" "${source}/src/*.macros" "${source}/src/*CMakeLists.txt"
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

# Put the tree of a release into `into`, unchanged, and say where it came from.
function(pqchain_fetch release into out_origin)
  include("${PQCHAIN_NATIVE_DIR}/sources/${release}/release.cmake")
  pqchain_remedies(remedies)
  set(log "${into}.log")
  file(REMOVE "${log}")
  find_program(PQCHAIN_CARGO cargo)
  find_program(PQCHAIN_GIT git)
  if(DEFINED ENV{${source_variable}} AND NOT "$ENV{${source_variable}}" STREQUAL "")
    set(tree "$ENV{${source_variable}}")
    set(origin "the folder in ${source_variable}")
    if(NOT EXISTS "${tree}/src/oqs.h")
      message(FATAL_ERROR
        "pqchain: ${source_variable}=${tree} holds no liboqs (no src/oqs.h in it).\n${remedies}")
    endif()
  elseif(PQCHAIN_CARGO)
    message(STATUS "pqchain: cargo fetches the source of ${spoken}")
    file(COPY "${PQCHAIN_NATIVE_DIR}/sources/${release}/" DESTINATION "${into}.cargo"
      FILES_MATCHING PATTERN "*.toml" PATTERN "*.lock" PATTERN "*.rs")
    pqchain_run("${log}" "${remedies}" "${PQCHAIN_CARGO}" vendor --locked --versioned-dirs
      --manifest-path "${into}.cargo/Cargo.toml" "${into}.cargo/vendor")
    file(GLOB tree "${into}.cargo/vendor/${crate_folder}/liboqs")
    set(origin "${crate}")
  elseif(PQCHAIN_GIT)
    message(STATUS "pqchain: git fetches the source of ${spoken}")
    set(tree "${into}.git")
    string(REPLACE "liboqs-" "" tag "${release}")
    pqchain_run("${log}" "${remedies}" "${PQCHAIN_GIT}" clone --quiet --depth 1
      --branch "${tag}" "${PQCHAIN_LIBOQS_GIT}" "${tree}")
    set(origin "git tag ${tag}")
  else()
    message(FATAL_ERROR "pqchain: neither cargo nor git was found.\n${remedies}")
  endif()
  pqchain_digest("${tree}" found)
  if(NOT found STREQUAL digest)
    message(FATAL_ERROR
      "pqchain: the source of ${spoken} from ${origin} is not the pinned one.\n"
      "  digest found    ${found}\n  digest expected ${digest}\n${remedies}")
  endif()
  file(REMOVE_RECURSE "${into}")
  file(MAKE_DIRECTORY "${into}")
  file(COPY "${tree}/CMakeLists.txt" "${tree}/LICENSE.txt" "${tree}/README.md" "${tree}/.CMake"
    "${tree}/src" DESTINATION "${into}")
  if(EXISTS "${tree}/tests")
    file(COPY "${tree}/tests" DESTINATION "${into}" PATTERN "ACVP_Vectors" EXCLUDE)
  endif()
  file(REMOVE_RECURSE "${into}.cargo" "${into}.git")
  file(REMOVE "${log}")
  set(${out_origin} "${origin}" PARENT_SCOPE)
endfunction()
