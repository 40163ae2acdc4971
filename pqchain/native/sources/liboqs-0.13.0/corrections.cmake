# liboqs 0.13.0, AVX2 verifier of ML-DSA and Dilithium (pq-crystals/dilithium issue 113, commit
# bba9534): it never checks ||z|| < gamma1 - beta, and where a hint is set on a coefficient whose
# low part is 0 it adds where FIPS 204 (Algorithm 40, UseHint) subtracts. So it accepts some invalid
# signatures and rejects some valid ones. Honest signatures, keys and KAT digests do not change.
foreach(folder
    ml_dsa/pqcrystals-dilithium-standard_ml-dsa-44 ml_dsa/pqcrystals-dilithium-standard_ml-dsa-65
    ml_dsa/pqcrystals-dilithium-standard_ml-dsa-87 dilithium/pqcrystals-dilithium_dilithium2
    dilithium/pqcrystals-dilithium_dilithium3 dilithium/pqcrystals-dilithium_dilithium5)
  if(folder MATCHES "^ml_dsa")
    # Here the hash state is still allocated when the norm is checked.
    pqchain_correct_dilithium("src/sig/${folder}_avx2"
      2e21efe52084b611734c34c536f576b4ea027df71a057e613d6f75251ac28cf5
      CTILDEBYTES "shake256_inc_ctx_release(&state); ")
  else()
    pqchain_correct_dilithium("src/sig/${folder}_avx2"
      2c90026301ef00699f49844df09284f2cfdb605fcee9758cadf2c6195501e11d SEEDBYTES "")
  endif()
endforeach()
