# liboqs 0.7.1, the last that has Rainbow-I: the third round of NIST's process, 2020 to 2022.
set(library liboqs-0.7.1)
set(crate_folder "oqs-sys-0.7.1")
set(crate "crate oqs-sys 0.7.1")
set(source_variable PQCHAIN_LIBOQS_0_7_1_SOURCE)
set(digest a420d417d68cc464210c31c11f6b14803e4dd455167267b4bbc30957d45c7b55)
set(build_name_prefix "OQS_ENABLE_")
# It asks for -Werror, and compilers that came after it know more warnings.
set(extra_flags "-DCMAKE_C_FLAGS=$ENV{CFLAGS} -w")
set(corrections "dilithium-avx2-verify" "falcon-unique-encoding")
set(licences "common|kem/(kyber|ntru|saber|classic_mceliece)|sig/(dilithium|falcon|rainbow)")
