# To build for 64-bit ARM boards on another machine: `make wheel-aarch64`. liboqs is built by a cmake
# of its own, which finds this file through the environment variable CMAKE_TOOLCHAIN_FILE.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# Interpreters and tools are those of the machine that builds.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# liboqs runs a program to learn what the processor has. Where that cannot run, 0.13.0 assumes
# nothing; 0.7.1 has to be told to. So both are portable C; on a board, both add their NEON code.
set(RUN_RESULT 0 CACHE STRING "")
set(RUN_RESULT__TRYRUN_OUTPUT "" CACHE STRING "")
