/* The two forms of new and delete that the signer uses. The C++ library's own would bring its
   exceptions and their unwinder, and with these a newer C library than anything else here needs. */
#include <cstddef>
#include <cstdlib>
#include <new>

void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept { return std::malloc(bytes ? bytes : 1); }

void operator delete(void *memory) noexcept { std::free(memory); }

void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
