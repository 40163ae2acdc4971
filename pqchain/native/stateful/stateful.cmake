# XMSS and LMS of liboqs 0.13.0, from its source and with its SHA-256. They are a library of their
# own: the option of liboqs would change the machine code of every scheme that is timed.
set(prefix "${liboqs-0.13-ref_PREFIX}")
set(source "${liboqs-0.13-ref_SOURCE}")
pqchain_check_source(liboqs-0.13.0 ON "${source}")
file(GLOB lms_files "${source}/src/sig_stfl/lms/external/*.c")
list(FILTER lms_files EXCLUDE REGEX "hss_thread_pthread")
file(GLOB xmss_files "${source}/src/sig_stfl/xmss/external/*.c")
set_source_files_properties(${lms_files} PROPERTIES COMPILE_OPTIONS -w)
set_source_files_properties(${xmss_files} PROPERTIES
  COMPILE_OPTIONS "-w;-DHASH=3")
# Headers that liboqs includes and does not install.
foreach(header sha2/sha2.h sha3/sha3.h)
  file(COPY "${source}/src/common/${header}" DESTINATION "${CMAKE_BINARY_DIR}/stateful/oqs")
endforeach()
pqchain_library(liboqs-0.13-stateful STANDARD 11
  FLAGS -DXMSS_PARAMS_NAMESPACE=xmss_sha256 -DOQS_ALLOW_STFL_KEY_AND_SIG_GEN
    -DOQS_ALLOW_XMSS_KEY_AND_SIG_GEN -DOQS_ALLOW_LMS_KEY_AND_SIG_GEN
  FILES no_kem.c oqs_random.c stateful/stateful_glue.c ${lms_files} ${xmss_files}
  FOLDERS "${source}/src/sig_stfl" "${prefix}/include" "${CMAKE_BINARY_DIR}/stateful"
  LIBRARIES "${prefix}/lib/liboqs.a" LINK LINKER:--gc-sections
  VARIANT stateful SOURCE liboqs VERSION 0.13.0
  ORIGIN "src/sig_stfl of liboqs 0.13.0; parameter sets and lengths are checked by pqchain")
