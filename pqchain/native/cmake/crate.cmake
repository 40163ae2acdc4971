# Sources in a crate, which Rust does not compile. Cargo fetches it once, pinned by
# sources/<release>/Cargo.lock, and checks it; later builds find it in the cache.
#
#   pqchain_crate(<release> <out_source> <out_reason> CRATE <name> FOLDER <folder of the crate>
#     LICENCE <glob in the vendored crates> NOTICE <first line> DIGEST <of the entries> ENTRIES ...)
#
# Without cargo or network ${out_reason} says why there is no source. ${out_source}_CHECKSUM is the
# checksum of the crate. The licence is LICENSE-<release>.txt in the source's folder.
function(pqchain_crate release out_source out_reason)
  cmake_parse_arguments(PARSE_ARGV 3 OF "" "CRATE;FOLDER;LICENCE;NOTICE;DIGEST" "ENTRIES")
  set(pins "${PQCHAIN_NATIVE_DIR}/sources/${release}")
  file(SHA256 "${pins}/Cargo.lock" key)
  string(SUBSTRING "${key}" 0 16 key)
  set(source "${PQCHAIN_CACHE_DIR}/sources/${release}-${key}")
  set(reason "")
  find_program(PQCHAIN_CARGO cargo)
  if(NOT EXISTS "${source}")
    file(MAKE_DIRECTORY "${PQCHAIN_CACHE_DIR}/sources")
    file(LOCK "${source}.lock" GUARD FUNCTION TIMEOUT 600)
    if(EXISTS "${source}")
      # A concurrent build has created it.
    elseif(NOT PQCHAIN_CARGO)
      set(reason "cargo was not found when it was built: install it")
    else()
      set(work "${source}.part")
      file(REMOVE_RECURSE "${work}")
      file(COPY "${pins}/" DESTINATION "${work}/cargo")
      message(STATUS "pqchain: cargo fetches the source of ${release}")
      execute_process(
        COMMAND "${PQCHAIN_CARGO}" vendor --locked --versioned-dirs
          --manifest-path "${work}/cargo/Cargo.toml" "${work}/vendor"
        RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE said)
      file(GLOB licence "${work}/vendor/${OF_LICENCE}")
      if(NOT code EQUAL 0 OR NOT licence)
        string(REGEX MATCH "error: [^\n]*" error "${said}")
        set(reason "cargo could not fetch ${release} when it was built (${error})")
      else()
        file(READ "${licence}" text)
        foreach(entry IN LISTS OF_ENTRIES)
          get_filename_component(folder "${work}/source/${entry}" DIRECTORY)
          file(COPY "${work}/vendor/${OF_FOLDER}/${entry}" DESTINATION "${folder}")
        endforeach()
        file(WRITE "${work}/source/LICENSE-${release}.txt" "${OF_NOTICE}\n\n${text}")
        file(RENAME "${work}/source" "${source}")
      endif()
      file(REMOVE_RECURSE "${work}")
    endif()
  endif()
  if(NOT reason)
    pqchain_check_tree("${source}" "the source of ${release} in ${source}" ${OF_DIGEST}
      "Delete that folder; the next build fetches it again." ${OF_ENTRIES})
    file(STRINGS "${pins}/Cargo.lock" pinned REGEX "^(name|version|checksum) = ")
    list(FIND pinned "name = \"${OF_CRATE}\"" at)
    math(EXPR at "${at} + 2")
    list(GET pinned ${at} checksum)
    string(REGEX REPLACE "checksum = \"(.*)\"" "\\1" checksum "${checksum}")
    set(${out_source}_CHECKSUM "${checksum}" PARENT_SCOPE)
    install(FILES "${source}/LICENSE-${release}.txt"
      DESTINATION "${PQCHAIN_LICENCES_DIR}" COMPONENT pqchain)
  endif()
  set(${out_source} "${source}" PARENT_SCOPE)
  set(${out_reason} "${reason}" PARENT_SCOPE)
endfunction()

# Leave a library out: the installation says why.
function(pqchain_leave_out target reason)
  message(STATUS "pqchain: ${target} is left out: ${reason}")
  file(WRITE "${CMAKE_BINARY_DIR}/${target}/reason.txt" "${reason}\n")
  install(FILES "${CMAKE_BINARY_DIR}/${target}/reason.txt" DESTINATION "_native/${target}"
    COMPONENT pqchain)
endfunction()
