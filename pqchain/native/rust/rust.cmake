# Ed25519 of ed25519-dalek and Falcon of fn-dsa: crates that one static library of ours collects, built
# with the AVX2 code of fn-dsa and without. ed25519-dalek chooses its code at run time.
#
# PQCHAIN_RUST=off leaves them out.
set(CRATES_FOLDER "${PQCHAIN_NATIVE_DIR}/rust")
pqchain_rust(1.85 CRATES_REASON rust release CRATES_TARGET)
if("$ENV{PQCHAIN_RUST}" STREQUAL "off")
  set(CRATES_REASON "it was built with PQCHAIN_RUST=off")
elseif(CMAKE_SIZEOF_VOID_P EQUAL 4)
  set(CRATES_REASON "it is for processors of 64 bits")
endif()
if(NOT CRATES_REASON)
  pqchain_crate_digest("${CRATES_FOLDER}" "${rust}" "${CRATES_TARGET}" "${CMAKE_CURRENT_LIST_FILE}"
    CRATES_DIGEST pins)
  string(SUBSTRING "${CRATES_DIGEST}" 0 16 key)
  set(CRATES_PREFIX "${PQCHAIN_CACHE_DIR}/built/crates-${key}")
  set(CRATES_COMPILED "${PQCHAIN_CACHE_DIR}/cargo/crates-${pins}")
  pqchain_cargo_command("${CRATES_FOLDER}" "${CRATES_TARGET}" "${CRATES_COMPILED}" CRATES_BUILD)
  if(NOT EXISTS "${CRATES_PREFIX}")
    message(STATUS "pqchain: cargo builds ed25519-dalek and fn-dsa, once; this takes half a minute")
    pqchain_cargo_begin(${CRATES_BUILD})
  endif()
endif()

function(pqchain_crates)
  set(stems ed25519-dalek-dispatch)
  foreach(variant IN LISTS variants)
    list(APPEND stems fn-dsa-${variant})
  endforeach()
  if(CRATES_REASON)
    foreach(stem IN LISTS stems)
      pqchain_leave_out(${stem} "${CRATES_REASON}")
    endforeach()
    return()
  endif()
  if(NOT EXISTS "${CRATES_PREFIX}")
    file(MAKE_DIRECTORY "${PQCHAIN_CACHE_DIR}/built")
    file(LOCK "${CRATES_PREFIX}.lock" GUARD FUNCTION TIMEOUT 3600)
  endif()
  if(NOT EXISTS "${CRATES_PREFIX}")
    set(log "${CRATES_PREFIX}.log")
    set(part "${CRATES_PREFIX}.part")
    file(REMOVE "${log}")
    file(REMOVE_RECURSE "${part}")
    set(advice "Let cargo reach the Rust package registry, and give it a C compiler; or do without: PQCHAIN_RUST=off make")
    foreach(variant avx2 ref)
      set(features "")
      if(variant STREQUAL "ref")
        set(features --features portable)
      endif()
      pqchain_run("${log}" "${advice}" ${CRATES_BUILD} ${features})
      file(COPY "${CRATES_COMPILED}/${CRATES_TARGET}/release/libpqchain_crates.a"
        DESTINATION "${part}/${variant}")
    endforeach()
    pqchain_run("${log}" "${advice}" "${Python3_EXECUTABLE}" "${PQCHAIN_NATIVE_DIR}/quic/licences.py"
      "${PQCHAIN_CARGO}" "${PQCHAIN_RUSTC}" "${CRATES_FOLDER}/Cargo.toml" "${CRATES_TARGET}"
      "${part}/LICENSE-crates.txt" "The libraries ed25519-dalek and fn-dsa")
    file(RENAME "${part}" "${CRATES_PREFIX}")
  endif()
  # The symbols of Rust's own library stay inside.
  set(rust LINK LINKER:--gc-sections LINKER:--exclude-libs,ALL DIGEST "${CRATES_DIGEST}")
  pqchain_library(ed25519-dalek-dispatch STANDARD 11 FILES no_kem.c rust/ed25519_glue.c FOLDERS rust
    LIBRARIES "${CRATES_PREFIX}/avx2/libpqchain_crates.a" ${CMAKE_DL_LIBS} ${rust}
    VARIANT dispatch SOURCE ed25519-dalek VERSION 3.0.0 ORIGIN "crate ed25519-dalek 3.0.0")
  foreach(variant IN LISTS variants)
    set(flags "")
    if(variant STREQUAL "avx2")
      set(flags -mavx2) # for the hashes of several signatures
    endif()
    pqchain_library(fn-dsa-${variant} STANDARD 11 FLAGS ${flags}
      FILES no_kem.c large_stack.c shake.c rust/falcon_glue.c falcon/codec.c falcon/ntt.c falcon/whole_key.c
      FOLDERS rust LIBRARIES "${CRATES_PREFIX}/${variant}/libpqchain_crates.a" ${CMAKE_DL_LIBS} ${rust}
      VARIANT ${variant} SOURCE fn-dsa VERSION 0.3.0 ORIGIN "crate fn-dsa 0.3.0")
  endforeach()
  install(FILES "${CRATES_PREFIX}/LICENSE-crates.txt"
    DESTINATION "${PQCHAIN_LICENCES_DIR}" COMPONENT pqchain)
endfunction()
