# Build liboqs as a static library, once per set of pins and flags; later builds reuse it.

# Everything that a built library depends on goes into its key; a changed recipe is a new key.
function(pqchain_recipe_key out release)
  include("${PQCHAIN_NATIVE_DIR}/sources/${release}/release.cmake")
  set(text "")
  foreach(file
      sources/${release}/Cargo.lock sources/${release}/release.cmake
      sources/${release}/corrections.cmake
      cmake/sources.cmake cmake/corrections.cmake cmake/liboqs.cmake)
    file(SHA256 "${PQCHAIN_NATIVE_DIR}/${file}" sum)
    string(APPEND text "${sum} ${file}\n")
  endforeach()
  string(APPEND text
    "${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION} ${CMAKE_SYSTEM_NAME} "
    "${CMAKE_SYSTEM_PROCESSOR} local source: $ENV{${source_variable}}\n${ARGN}\n")
  string(SHA256 key "${text}")
  string(SUBSTRING "${key}" 0 16 key)
  set(${out} ${key} PARENT_SCOPE)
endfunction()

# Stop unless a tree in the cache has the digest that is pinned for it.
function(pqchain_check_source release corrected folder)
  include("${PQCHAIN_NATIVE_DIR}/sources/${release}/release.cmake")
  if(corrected)
    set(digest ${corrected_digest})
  endif()
  pqchain_check_tree("${folder}" "the source of ${release} in ${folder}" ${digest}
    "Delete that folder; the next build fetches it again." ${entries})
endfunction()

# The source tree, corrected or as fetched, in the cache. Only one build at a time makes it.
function(pqchain_source release corrected out_folder)
  pqchain_recipe_key(key ${release} "source" "corrected ${corrected}")
  set(folder "${PQCHAIN_CACHE_DIR}/sources/${release}-${key}")
  if(NOT EXISTS "${folder}/ORIGIN")
    file(MAKE_DIRECTORY "${PQCHAIN_CACHE_DIR}/sources")
    file(LOCK "${folder}.lock" GUARD FUNCTION TIMEOUT 1800)
    if(NOT EXISTS "${folder}/ORIGIN")
      pqchain_fetch(${release} "${folder}.part" origin)
      if(corrected)
        pqchain_correct(${release} "${folder}.part")
      endif()
      pqchain_check_source(${release} ${corrected} "${folder}.part")
      file(WRITE "${folder}.part/ORIGIN" "${origin}\n")
      file(REMOVE_RECURSE "${folder}")
      file(RENAME "${folder}.part" "${folder}")
    endif()
  endif()
  set(${out_folder} "${folder}" PARENT_SCOPE)
endfunction()

# Build the variant `avx2` or `ref` and give the folder that holds lib/liboqs.a and include/.
function(pqchain_liboqs release variant corrected algorithms out_prefix out_source)
  include("${PQCHAIN_NATIVE_DIR}/sources/${release}/release.cmake")
  set(flags
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF
    -DOQS_BUILD_ONLY_LIB=ON -DOQS_USE_OPENSSL=OFF)
  if(variant STREQUAL "avx2")
    list(APPEND flags -DOQS_DIST_BUILD=ON)
  else()
    list(APPEND flags -DOQS_DIST_BUILD=OFF -DOQS_OPT_TARGET=generic)
  endif()
  pqchain_recipe_key(key ${release} ${variant} ${corrected} "${algorithms}" ${flags})
  set(prefix "${PQCHAIN_CACHE_DIR}/built/${library}-${variant}-${key}")
  pqchain_source(${release} ${corrected} source)
  if(NOT EXISTS "${prefix}/lib/liboqs.a")
    file(MAKE_DIRECTORY "${PQCHAIN_CACHE_DIR}/built")
    file(LOCK "${prefix}.lock" GUARD FUNCTION TIMEOUT 3600)
    if(NOT EXISTS "${prefix}/lib/liboqs.a")
      message(STATUS "pqchain: build ${release} (${variant}), once; this takes a minute or two")
      pqchain_check_source(${release} ${corrected} "${source}")
      set(build "${prefix}.build")
      set(log "${prefix}.log")
      file(REMOVE_RECURSE "${build}" "${prefix}.part")
      file(REMOVE "${log}")
      set(generator "")
      if(CMAKE_GENERATOR STREQUAL "Ninja")
        set(generator -G Ninja "-DCMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM}")
      endif()
      set(minimal "")
      if(NOT algorithms STREQUAL "all")
        list(TRANSFORM algorithms PREPEND "${build_name_prefix}")
        set(minimal "-DOQS_MINIMAL_BUILD=${algorithms}")
      endif()
      cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
      set(advice "Check the C compiler, the free memory and the free disk, then run it again.")
      # A quoted ";" list must reach cmake as one argument, so this call is not pqchain_run().
      execute_process(
        COMMAND "${CMAKE_COMMAND}" ${generator} -S "${source}" -B "${build}" ${flags}
          "-DCMAKE_C_COMPILER=${CMAKE_C_COMPILER}" "-DCMAKE_INSTALL_PREFIX=${prefix}.part"
          -DCMAKE_INSTALL_LIBDIR=lib ${extra_flags} "${minimal}"
        RESULT_VARIABLE code OUTPUT_FILE "${log}" ERROR_FILE "${log}")
      if(NOT code EQUAL 0)
        file(READ "${log}" text)
        message(FATAL_ERROR "pqchain: ${release} does not configure.\n${text}\n${advice}")
      endif()
      pqchain_run("${log}" "${advice}" "${CMAKE_COMMAND}" --build "${build}" --parallel ${cores})
      pqchain_run("${log}" "${advice}" "${CMAKE_COMMAND}" --install "${build}")
      file(RENAME "${prefix}.part" "${prefix}")
      file(REMOVE_RECURSE "${build}")
    endif()
  endif()
  set(${out_prefix} "${prefix}" PARENT_SCOPE)
  set(${out_source} "${source}" PARENT_SCOPE)
endfunction()
