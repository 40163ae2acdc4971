// The netlist as a shared library: its registers, the memory that its bus sees, and its clock.
#include "stores.h"

extern "C" {

// Counters of profile(): kernels by number, then other causes; names end with null.
static const char *const others[] = {"verdicts", "random bits", "transfers", "wiping", "sequencing"};

void *falcon_rtl_open() { return new Chip; }
void falcon_rtl_close(void *chip) { delete static_cast<Chip *>(chip); }

// Map these bytes at this address of the bus; other addresses answer with an error.
void falcon_rtl_map(void *chip, uint64_t address, uint8_t *memory, uint64_t bytes) {
    static_cast<Chip *>(chip)->bus.map(address, memory, bytes);
}
void falcon_rtl_unmap(void *chip, uint64_t address) {
    static_cast<Chip *>(chip)->bus.unmap(address);
}

// Memory that takes `read_delay` cycles to its first word and withholds READY or VALID `stall` times of 256.
void falcon_rtl_behave(void *chip, uint32_t read_delay, uint32_t stall) {
    Manners manners;
    manners.read_delay = read_delay;
    manners.stall = stall;
    static_cast<Chip *>(chip)->bus.behave(manners);
}

void falcon_rtl_write(void *chip, uint32_t at, uint32_t value) {
    static_cast<Chip *>(chip)->write(at, value);
}
uint32_t falcon_rtl_read(void *chip, uint32_t at) { return static_cast<Chip *>(chip)->read(at); }

// Run until the attempt has ended or the maximum is reached; return the number of cycles.
uint64_t falcon_rtl_run(void *chip, uint64_t most) { return static_cast<Chip *>(chip)->run(most); }

// Reset the core and its bus for some cycles, and run until the core has wiped its memory.
void falcon_rtl_reset(void *chip, uint32_t cycles) {
    Chip *const c = static_cast<Chip *>(chip);
    c->reset(cycles);
    for (unsigned k = 0; k < Chip::WIPE_CYCLES; k++) c->tick();
}

// Number of words of memory, registers and buffers that are not zero.
uint64_t falcon_rtl_nonzero_words(void *chip) { return nonzero_words(static_cast<Chip *>(chip)->u); }

// Number of violations of the bus protocol so far.
uint32_t falcon_rtl_violations(void *chip) {
    return static_cast<Chip *>(chip)->bus.violations.size();
}

// Profile since the last call: name of a counter, its cycles and starts.
const char *falcon_rtl_spent(void *chip, uint32_t place, uint64_t *cycles, uint64_t *starts) {
    Chip *const c = static_cast<Chip *>(chip);
    if (place >= PLACES) return nullptr;
    *cycles = c->spent[place];
    *starts = place < KERNELS ? c->starts[place] : 0;
    c->spent[place] = 0;
    if (place < KERNELS) c->starts[place] = 0;
    return place < KERNELS ? kernel_names[place] : others[place - KERNELS];
}
}
