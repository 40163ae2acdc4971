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

# One digest over files of a tree, and over every file in folders of it: ENTRIES, relative to it. A
# link is named and not followed, so that the digest covers whatever a compiler can reach.
function(pqchain_digest tree out)
  cmake_parse_arguments(PARSE_ARGV 2 OF "" "" "ENTRIES")
  set(files "")
  foreach(entry IN LISTS OF_ENTRIES)
    file(GLOB_RECURSE found LIST_DIRECTORIES true RELATIVE "${tree}" "${tree}/${entry}/*")
    list(APPEND files "${entry}" ${found})
  endforeach()
  list(SORT files)
  set(lines "")
  foreach(file IN LISTS files)
    if(IS_SYMLINK "${tree}/${file}")
      string(APPEND lines "link  ${file}\n")
    elseif(NOT EXISTS "${tree}/${file}")
      string(APPEND lines "missing  ${file}\n")
    elseif(NOT IS_DIRECTORY "${tree}/${file}")
      file(SHA256 "${tree}/${file}" sum)
      string(APPEND lines "${sum}  ${file}\n")
    endif()
  endforeach()
  string(SHA256 digest "${lines}")
  set(${out} ${digest} PARENT_SCOPE)
endfunction()

# Stop unless a tree has the pinned digest. Everything that a build reads is checked: a tree from git
# or from a folder must equal the one that the lock file's checksum stands for, and one in the cache
# may have been changed since it was put there.
function(pqchain_check_tree tree what expected remedies)
  pqchain_digest("${tree}" found ENTRIES ${ARGN})
  if(NOT found STREQUAL expected)
    message(FATAL_ERROR
      "pqchain: ${what} is not the pinned one.\n"
      "  digest found    ${found}\n  digest expected ${expected}\n${remedies}")
  endif()
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
  pqchain_check_tree("${tree}" "the source of ${spoken} from ${origin}" ${digest} "${remedies}"
    ${entries})
  file(REMOVE_RECURSE "${into}")
  # Nothing but what was checked.
  foreach(entry IN LISTS entries)
    get_filename_component(folder "${into}/${entry}" DIRECTORY)
    file(COPY "${tree}/${entry}" DESTINATION "${folder}")
  endforeach()
  file(REMOVE_RECURSE "${into}.cargo" "${into}.git")
  file(REMOVE "${log}")
  set(${out_origin} "${origin}" PARENT_SCOPE)
endfunction()
