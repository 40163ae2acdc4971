// An AXI4 memory with delays, back-pressure and errors, and a monitor of the protocol.
#ifndef FALCON_RTL_BUS_H
#define FALCON_RTL_BUS_H

#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

// Behaviour of the memory.
struct Manners {
    unsigned read_delay = 12;    // cycles from an address to its first word
    unsigned stall = 0;          // how often READY or VALID is withheld, of 256 times
    int fail_read = -1;          // index of the failing word read; -1 for none
    int fail_write = -1;         // index of the failing burst write; -1 for none
    int odd_last = -1;           // index of the word read with a wrong RLAST; -1 for none
    uint64_t seed = 1;
};

class Bus {
  public:
    Manners manners;
    std::vector<std::string> violations;
    uint64_t reads = 0, writes = 0, bursts = 0, words_after_error = 0;

    void map(uint64_t address, uint8_t *memory, uint64_t bytes) {
        regions[address] = {memory, bytes};
    }
    void unmap(uint64_t address) { regions.erase(address); }
    void behave(const Manners &how) {
        manners = how;
        random.seed(how.seed);
        reads = writes = bursts = words_after_error = 0;
        failed = false;
    }

    // A reset of the master lets it withdraw what it offers; one of the memory ends its transfers.
    void reset(bool memory_too) {
        ar = aw = w = Offer();
        if (memory_too) reading = read_shown = writing = answer_shown = failed = false;
    }

    // Before the rising edge: outputs of the memory. `Model` has the core's ports.
    template <class Model> void offer(Model &u) {
        u.m_axi_gmem_ARREADY = !reading && chance();
        if (!read_shown) {
            read_shown = reading && wait == 0 && chance();
            if (read_shown) {
                uint32_t data = 0;
                const bool here = access(read_at, [&](uint8_t *p) { std::memcpy(&data, p, 4); });
                u.m_axi_gmem_RDATA = data;
                const bool wrong = !here || (int)reads == manners.fail_read;
                u.m_axi_gmem_RRESP = wrong ? (here ? 2 : 3) : 0;
                u.m_axi_gmem_RLAST = (read_left <= 1) != ((int)reads == manners.odd_last);
                failed |= wrong || (int)reads == manners.odd_last;
            }
        }
        u.m_axi_gmem_RVALID = read_shown;
        if (!read_shown) u.m_axi_gmem_RDATA = 0;
        u.m_axi_gmem_AWREADY = !writing && chance();
        u.m_axi_gmem_WREADY = writing && write_left > 0 && chance();
        if (!answer_shown) {
            answer_shown = writing && write_left == 0 && chance();
            const bool wrong = write_outside || (int)writes == manners.fail_write;
            u.m_axi_gmem_BRESP = answer_shown && wrong ? 2 : 0;
            failed |= answer_shown && wrong;
        }
        u.m_axi_gmem_BVALID = answer_shown;
        u.eval();
        watch(u);
    }

    // At the rising edge: accepted transfers.
    template <class Model> void take(Model &u) {
        if (wait > 0) wait--;
        if (u.m_axi_gmem_RVALID && u.m_axi_gmem_RREADY) {
            read_shown = false;
            reads++;
            read_at += 4;
            read_left -= read_left > 0;
            reading = !u.m_axi_gmem_RLAST;
        }
        if (u.m_axi_gmem_ARVALID && u.m_axi_gmem_ARREADY) {
            burst(u.m_axi_gmem_ARADDR, u.m_axi_gmem_ARLEN, u.m_axi_gmem_ARSIZE,
                  u.m_axi_gmem_ARBURST, "AR");
            reading = true;
            read_at = u.m_axi_gmem_ARADDR;
            read_left = u.m_axi_gmem_ARLEN + 1;
            wait = manners.read_delay;
        }
        if (u.m_axi_gmem_WVALID && u.m_axi_gmem_WREADY) {
            const uint32_t data = u.m_axi_gmem_WDATA;
            write_outside |= !access(write_at, [&](uint8_t *p) { std::memcpy(p, &data, 4); });
            write_at += 4;
            write_left--;
            if (u.m_axi_gmem_WLAST != (write_left == 0)) complain("WLAST on the wrong beat");
            if (u.m_axi_gmem_WSTRB != 15) complain("WSTRB");
        }
        if (u.m_axi_gmem_BVALID && u.m_axi_gmem_BREADY) {
            answer_shown = writing = false;
            writes++;
        }
        if (u.m_axi_gmem_AWVALID && u.m_axi_gmem_AWREADY) {
            burst(u.m_axi_gmem_AWADDR, u.m_axi_gmem_AWLEN, u.m_axi_gmem_AWSIZE,
                  u.m_axi_gmem_AWBURST, "AW");
            writing = true;
            write_outside = false;
            write_at = u.m_axi_gmem_AWADDR;
            write_left = u.m_axi_gmem_AWLEN + 1;
        }
    }

  private:
    struct Region {
        uint8_t *memory;
        uint64_t bytes;
    };
    struct Offer {
        bool valid = false, ready = false;
        uint64_t what = 0;
    };
    std::map<uint64_t, Region> regions;
    std::mt19937_64 random{1};
    bool reading = false, read_shown = false, writing = false, answer_shown = false;
    bool write_outside = false, failed = false;
    unsigned wait = 0, read_left = 0, write_left = 0;
    uint64_t read_at = 0, write_at = 0;
    Offer ar, aw, w;

    bool chance() { return manners.stall == 0 || (random() & 255) >= manners.stall; }
    void complain(const std::string &what) {
        if (violations.size() < 20) violations.push_back(what);
    }
    template <class Use> bool access(uint64_t at, Use use) {
        auto it = regions.upper_bound(at);
        if (it == regions.begin()) return false;
        --it;
        if (at + 4 > it->first + it->second.bytes) return false;
        use(it->second.memory + (at - it->first));
        return true;
    }
    void burst(uint64_t address, unsigned length, unsigned size, unsigned kind, const char *name) {
        bursts++;
        words_after_error += failed;
        if (length > 15) complain(std::string(name) + ": more than 16 beats");
        if (size != 2 || kind != 1) complain(std::string(name) + ": not words that count up");
        if (address % 4 != 0) complain(std::string(name) + ": not aligned");
        if (address / 4096 != (address + 4 * length) / 4096)
            complain(std::string(name) + ": over a page");
    }
    // VALID and its payload are stable until the transfer is accepted.
    void held(Offer &last, bool valid, bool ready, uint64_t what, const char *name) {
        if (last.valid && !last.ready && (!valid || what != last.what))
            complain(std::string(name) + " was withdrawn or changed");
        last.valid = valid;
        last.ready = ready;
        last.what = what;
    }
    template <class Model> void watch(Model &u) {
        if (!u.ap_rst_n) return;
        held(ar, u.m_axi_gmem_ARVALID, u.m_axi_gmem_ARREADY,
             u.m_axi_gmem_ARADDR ^ (uint64_t)u.m_axi_gmem_ARLEN << 48, "AR");
        held(aw, u.m_axi_gmem_AWVALID, u.m_axi_gmem_AWREADY,
             u.m_axi_gmem_AWADDR ^ (uint64_t)u.m_axi_gmem_AWLEN << 48, "AW");
        held(w, u.m_axi_gmem_WVALID, u.m_axi_gmem_WREADY,
             u.m_axi_gmem_WDATA ^ (uint64_t)u.m_axi_gmem_WLAST << 48, "W");
    }
};

#endif
