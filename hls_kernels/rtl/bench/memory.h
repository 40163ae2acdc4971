// The engine's memory: banks of 1,024 words, which Verilator makes separate arrays.
#ifndef FALCON_RTL_MEMORY_H
#define FALCON_RTL_MEMORY_H

#include "kernel_numbers.h"

static const unsigned BANKS = BANK_COUNT, BANK_SIZE = 1024;

// Call `use` with each bank. `prefix` is the flattened path of the datapath:
// datapath__DOT__ or falcon_sign__DOT__u_datapath__DOT__.
#define USE_BANK(root, prefix, b, use) use(root->prefix##banks__BRA__##b##__KET____DOT__bank__DOT__words);
#define USE_BANKS_0_TO_6(root, prefix, use) \
    USE_BANK(root, prefix, 0, use) USE_BANK(root, prefix, 1, use) USE_BANK(root, prefix, 2, use) \
    USE_BANK(root, prefix, 3, use) USE_BANK(root, prefix, 4, use) USE_BANK(root, prefix, 5, use) \
    USE_BANK(root, prefix, 6, use)
#define USE_BANKS_7_TO_9(root, prefix, use) \
    USE_BANK(root, prefix, 7, use) USE_BANK(root, prefix, 8, use) USE_BANK(root, prefix, 9, use)
#define USE_BANKS_10_TO_13(root, prefix, use) \
    USE_BANK(root, prefix, 10, use) USE_BANK(root, prefix, 11, use) \
    USE_BANK(root, prefix, 12, use) USE_BANK(root, prefix, 13, use)
#define USE_BANKS_14_TO_18(root, prefix, use) \
    USE_BANK(root, prefix, 14, use) USE_BANK(root, prefix, 15, use) USE_BANK(root, prefix, 16, use) \
    USE_BANK(root, prefix, 17, use) USE_BANK(root, prefix, 18, use)
#if BANK_COUNT == 7
#define USE_BANKS(root, prefix, use) USE_BANKS_0_TO_6(root, prefix, use)
#elif BANK_COUNT == 10
#define USE_BANKS(root, prefix, use) \
    USE_BANKS_0_TO_6(root, prefix, use) USE_BANKS_7_TO_9(root, prefix, use)
#elif BANK_COUNT == 14
#define USE_BANKS(root, prefix, use) USE_BANKS_0_TO_6(root, prefix, use) \
    USE_BANKS_7_TO_9(root, prefix, use) USE_BANKS_10_TO_13(root, prefix, use)
#elif BANK_COUNT == 19
#define USE_BANKS(root, prefix, use) USE_BANKS_0_TO_6(root, prefix, use) \
    USE_BANKS_7_TO_9(root, prefix, use) USE_BANKS_10_TO_13(root, prefix, use) \
    USE_BANKS_14_TO_18(root, prefix, use)
#else
#error "list the banks here"
#endif

#endif
