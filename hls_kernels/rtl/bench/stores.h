// The storage of the engine that contains secrets during an attempt.
#ifndef FALCON_RTL_STORES_H
#define FALCON_RTL_STORES_H

#include <algorithm>
#include <iterator>

#include "chip.h"
#include "memory.h"

// Every memory and register file that contains values derived from a key or a seed.
template <class Model, class Use> void stores(Model &u, Use use) {
    const auto use_bank = [&](auto &words) { use("memory", words); };
    USE_BANKS(u.rootp, falcon_sign__DOT__u_datapath__DOT__, use_bank)
#define PORT(bank, port) \
    use("bank_" #bank, INSIDE(u_datapath__DOT__bank_##bank##__DOT__ports__BRA__##port##__KET____DOT__words));
#define BANK(bank) PORT(bank, 0) PORT(bank, 1) PORT(bank, 2) PORT(bank, 3) PORT(bank, 4)
    BANK(l) BANK(m) BANK(a)
    use("integers", INSIDE(u_datapath__DOT__integers));
    use("buffers", INSIDE(u_draws__DOT__buffers));
    use("candidates", INSIDE(u_draws__DOT__candidates));
    use("bases", INSIDE(u_draws__DOT__bases));
    use("randoms", INSIDE(u_draws__DOT__randoms));
    use("behind", INSIDE(u_draws__DOT__behind));
    use("key1", INSIDE(u_draws__DOT__generator__DOT__key1));
    use("key2", INSIDE(u_draws__DOT__generator__DOT__key2));
    use("key3", INSIDE(u_draws__DOT__generator__DOT__key3));
    use("row0", INSIDE(u_draws__DOT__generator__DOT__row0));
    use("row1", INSIDE(u_draws__DOT__generator__DOT__row1));
    use("row2", INSIDE(u_draws__DOT__generator__DOT__row2));
    use("row3", INSIDE(u_draws__DOT__generator__DOT__row3));
}

template <class Array> long nonzero_in(const Array &array) {
    const auto &words = array.m_storage;
    return std::size(words) - std::count(std::begin(words), std::end(words), 0);
}

// Number of words that are not zero: none while no attempt runs.
template <class Model> long nonzero_words(Model &u) {
    long count = 0;
    stores(u, [&](const char *, const auto &array) { count += nonzero_in(array); });
    return count;
}

#endif
