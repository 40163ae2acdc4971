# BLS12-381 by blst, whose C and assembly are in a crate. PQCHAIN_BLST=off leaves it out.
set(CMAKE_ASM_COMPILER "${CMAKE_C_COMPILER}")
enable_language(ASM)

function(pqchain_blst)
  set(reason "it was built with PQCHAIN_BLST=off")
  if(NOT "$ENV{PQCHAIN_BLST}" STREQUAL "off")
    # The crate names its licence, Apache 2.0, without the text; another crate has the text.
    pqchain_crate(blst-0.3.17 source reason CRATE blst FOLDER blst-0.3.17/blst
      LICENCE "zeroize-*/LICENSE-APACHE"
      NOTICE "blst-0.3.17. Copyright Supranational LLC. Licensed under the Apache License, version 2.0:"
      DIGEST 9cb42485a852ebe0ce3b4a04326ff8dcd0d0cd718551f6788d43b37d997f1f93
      ENTRIES bindings build src)
  endif()
  if(reason)
    pqchain_leave_out(blst-assembly "${reason}")
    return()
  endif()
  # Flags of blst's own build. It selects assembly at run time by the processor's features.
  add_library(blst STATIC "${source}/src/server.c" "${source}/build/assembly.S")
  set_target_properties(blst PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
  target_compile_definitions(blst PRIVATE __BLST_PORTABLE__)
  target_compile_options(blst PRIVATE -O2 -fno-builtin -Wno-unused-function)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(blst PRIVATE -mno-avx)
  endif()
  pqchain_library(blst-assembly STANDARD 11
    FILES no_kem.c blst/blst_glue.c FOLDERS "${source}/bindings" LIBRARIES blst
    VARIANT assembly SOURCE blst VERSION 0.3.17 ORIGIN "crate blst 0.3.17"
    DIGEST "${source_CHECKSUM}")
endfunction()

pqchain_blst()
