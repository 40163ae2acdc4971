# To build for 32-bit ARM boards with hard floats, as the PYNQ-Z2, on another machine: `make
# wheel-armv7l`. liboqs is built by a cmake of its own, which finds this file through the environment
# variable CMAKE_TOOLCHAIN_FILE.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR armv7l)
set(CMAKE_C_COMPILER arm-linux-gnueabihf-gcc)
set(CMAKE_CXX_COMPILER arm-linux-gnueabihf-g++)
# What every ARMv7-A with a floating-point unit has: no NEON, and no fused multiply-add, which would
# change Falcon's bits.
set(flags "-march=armv7-a -mfpu=vfpv3-d16 -mfloat-abi=hard")
set(CMAKE_C_FLAGS_INIT "${flags}")
set(CMAKE_CXX_FLAGS_INIT "${flags}")
set(CMAKE_ASM_FLAGS_INIT "${flags}")
# Interpreters and tools are those of the machine that builds.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# liboqs 0.7.1 runs a program to learn what the processor has; it has to be told: nothing.
set(RUN_RESULT 0 CACHE STRING "")
set(RUN_RESULT__TRYRUN_OUTPUT "" CACHE STRING "")
