# liboqs 0.13.0, the main library: Dilithium beside ML-DSA, Kyber beside ML-KEM.
set(library liboqs-0.13)
set(crate_folder "oqs-sys-0.11.0*")
set(crate "crate oqs-sys 0.11.0+liboqs-0.13.0")
set(source_variable PQCHAIN_LIBOQS_SOURCE)
# What a build reads, and the digest of that, as released and with our corrections.
set(entries .CMake src tests/ds_benchmark.h tests/speed_sig.c tests/system_info.c CMakeLists.txt LICENSE.txt)
set(digest 580b14ecd90a72b848c2367250bdc0000ed5d6987e451c54f13e5d92fa5decdd)
set(corrected_digest 1ea5d7408becf41efd6c77d397b03567374dc956a853c308a04a8cda27f2263b)
set(build_name_prefix "")
set(extra_flags "")
set(corrections "ml-dsa-avx2-verify")
set(licences "common|kem/(kyber|ml_kem|classic_mceliece)|sig/(dilithium|ml_dsa|falcon|sphincs|mayo|cross)")
