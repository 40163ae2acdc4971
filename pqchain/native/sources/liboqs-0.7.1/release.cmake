# liboqs 0.7.1, the last that has Rainbow-I: the third round of NIST's process, 2020 to 2022.
set(library liboqs-0.7.1)
set(crate_folder "oqs-sys-0.7.1")
set(crate "crate oqs-sys 0.7.1")
set(source_variable PQCHAIN_LIBOQS_0_7_1_SOURCE)
# What a build reads, and the digest of that, as released and with our corrections.
set(entries .CMake src CMakeLists.txt LICENSE.txt)
set(digest 12852a6013f0c437dc2028fd2ecc4c425464b82fccffd469e4b3a118e84dbb8a)
set(corrected_digest d797f0e269aceb139ea206e77285f9445b26e0128dee3bf3e8c5c07ec80a8b5d)
set(build_name_prefix "OQS_ENABLE_")
# It asks for -Werror, and compilers that came after it know more warnings.
set(extra_flags "-DCMAKE_C_FLAGS=$ENV{CFLAGS} -w")
set(corrections "dilithium-avx2-verify" "falcon-unique-encoding")
set(licences "common|kem/(kyber|ntru|saber|classic_mceliece)|sig/(dilithium|falcon|rainbow)")
