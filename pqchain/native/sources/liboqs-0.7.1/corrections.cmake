# liboqs 0.7.1, AVX2 verifier of Dilithium: the same two defects as in 0.13.0, see there.
pqchain_correct_dilithium(src/sig/dilithium/pqcrystals-dilithium_dilithium2_avx2
  ddc67430a9bd5a6bf647e78dcd61061decff062923fd470042ca3774d3e6aaf5 SEEDBYTES "")

# liboqs 0.7.1, Falcon: its decoder accepts a coefficient "-0" and unused bits that are not zero, so
# whoever sees a signature can write it in other ways that verify too. Specification 1.2 (section
# 3.11.2) demands one encoding only, and later code refuses the others. Honest signatures stay.
set(sha256_clean fc296794fbc225dd90d6c62dec369c4d577dc8496215856327bcf72313055c1d)
set(sha256_avx2 090fb1417f92333392fd1e4183da0afdcad1cceeb2888cf8a9cfed1e49e4b0b0)
foreach(variant clean avx2)
  set(codec "src/sig/falcon/pqclean_falcon-512_${variant}/codec.c")
  pqchain_guard("${codec}" "${sha256_${variant}}")
  pqchain_edit("${codec}"
    "        x[u] = (int16_t) m;\n"
    "        if (s && m == 0) {\n            return 0;\n        }\n        x[u] = (int16_t) m;\n")
  pqchain_edit("${codec}"
    "            x[u] = (int16_t) - x[u];\n        }\n    }\n"
    "            x[u] = (int16_t) - x[u];\n        }\n    }\n    if ((acc & ((1U << acc_len) - 1U)) != 0) {\n        return 0;\n    }\n")
endforeach()
