# pqchain's Hawk, the same C twice: with portable and with AVX2 kernels.
set(hawk_common codec.c keygen.c known_keys.c modular.c ntru.c params.c points.c sign.c tables.c verify.c wide.c
  hawk_study.c)
set(hawk_kernels binary.c norm.c product.c rebuild.c sampler.c shake_x4.c)
list(TRANSFORM hawk_common PREPEND hawk/)
foreach(variant IN LISTS variants)
  list(TRANSFORM hawk_kernels PREPEND "hawk/${variant}/" OUTPUT_VARIABLE kernels)
  set(flags "")
  if(variant STREQUAL "avx2")
    set(flags -mavx2 -mbmi2 -mpclmul)
  endif()
  pqchain_library(hawk-${variant} STANDARD 99 FLAGS ${flags} VARIANT ${variant}
    FILES no_kem.c hawk/hawk_glue.c hawk/sets.c shake.c ${hawk_common} ${kernels}
    SOURCE pqchain VERSION "Hawk specification 1.0" ORIGIN pqchain/native/hawk)
endforeach()
