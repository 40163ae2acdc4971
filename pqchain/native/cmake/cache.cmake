# Folder of built libraries and fetched sources, shared by builds and checkouts.

if(DEFINED ENV{PQCHAIN_CACHE} AND NOT "$ENV{PQCHAIN_CACHE}" STREQUAL "")
  file(REAL_PATH "$ENV{PQCHAIN_CACHE}" PQCHAIN_CACHE_DIR EXPAND_TILDE)
elseif(DEFINED ENV{XDG_CACHE_HOME} AND NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
  set(PQCHAIN_CACHE_DIR "$ENV{XDG_CACHE_HOME}/pqchain")
elseif(DEFINED ENV{HOME} AND NOT "$ENV{HOME}" STREQUAL "")
  set(PQCHAIN_CACHE_DIR "$ENV{HOME}/.cache/pqchain")
else()
  set(PQCHAIN_CACHE_DIR "${CMAKE_BINARY_DIR}/cache")
endif()
file(MAKE_DIRECTORY "${PQCHAIN_CACHE_DIR}")

# Run a command with its output in a log; on failure stop with the end of the log and advice.
function(pqchain_run log advice)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  file(APPEND "${log}" "${text}\n")
  if(NOT code EQUAL 0)
    string(LENGTH "${text}" length)
    if(length GREATER 3000)
      math(EXPR from "${length} - 3000")
      string(SUBSTRING "${text}" ${from} -1 text)
    endif()
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR
      "pqchain: a step of the native build failed.\n  ${command}\n"
      "${text}\n${advice}\nThe whole output is in ${log}")
  endif()
endfunction()
