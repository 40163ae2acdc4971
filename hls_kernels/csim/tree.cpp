// Signatures with the tree of a key made once, compared with those that make it anew for each: the
// hardware may keep the tree only if every bit is equal. One tree per recorded key; new messages and
// seeds.
//   tree <attempts per key> <recorded 512> <recorded 1024>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "falcon_sign.h"
#include "sign_kernel.h"

using namespace falcon;
typedef std::vector<double> Polynomial;
static Workspace work;
static double *const memory = work.engine.memory;

// l10 of every node and deviations of the leaves, in the order of the walk, right before left.
class Tree {
  public:
    // The transformed basis is at the beginning of the memory.
    explicit Tree(unsigned degree) : logn(degree) {
        const unsigned n = 1u << logn;
        for (unsigned k = 0; k < 4; k++) {
            basis[k].assign(memory + k * n, memory + (k + 1) * n);
        }
        Polynomial g00 = basis[0], g01 = basis[1], g11 = basis[2], other = basis[0], b01 = basis[1],
                   b11 = basis[3];
        multiply_adjoint(other.data(), basis[2].data(), logn);
        multiply_own_adjoint(g00.data(), logn);
        multiply_own_adjoint(b01.data(), logn);
        add_to(g00.data(), b01.data(), logn);
        multiply_adjoint(g01.data(), basis[3].data(), logn);
        add_to(g01.data(), other.data(), logn);
        multiply_own_adjoint(g11.data(), logn);
        multiply_own_adjoint(b11.data(), logn);
        add_to(g11.data(), b11.data(), logn);
        expand(g00, g01, g11, logn);
    }

    // Samples replace t0 and t1.
    bool sample(double *t0, double *t1) {
        next = leaf = 0;
        return sample(t0, t1, logn);
    }

    Polynomial basis[4];

  private:
    void expand(const Polynomial &g00, Polynomial g01, const Polynomial &g11, unsigned level) {
        if (level == 0) {
            deviations.push_back(DirectSteps(&work).inverse_deviation(place(g00[0]), logn));
            return;
        }
        const unsigned half = 1u << (level - 1);
        Polynomial l10(2 * half), even(half), odd(half);
        decompose(l10.data(), g00.data(), g01.data(), g11.data(), level);
        l10s.push_back(l10);
        split(even.data(), odd.data(), g01.data(), level);
        expand(even, odd, even, level - 1);
        split(even.data(), odd.data(), g00.data(), level);
        expand(even, odd, even, level - 1);
    }

    bool sample(double *t0, double *t1, unsigned level) {
        DirectSteps steps(&work);
        if (level == 0) {
            const double deviation = deviations[leaf++];
            for (double *t : {t0, t1}) {
                if (!steps.sample(place(*t), deviation, logn)) {
                    return false;
                }
                *t = memory[0];
            }
            return true;
        }
        const unsigned half = 1u << (level - 1);
        const Polynomial &l10 = l10s[next++];
        Polynomial even(half), odd(half), z(2 * half);
        split(even.data(), odd.data(), t1, level);
        if (!sample(even.data(), odd.data(), level - 1)) return false;
        merge(z.data(), even.data(), odd.data(), level);
        correct(t0, t1, z.data(), l10.data(), level);
        split(even.data(), odd.data(), t0, level);
        if (!sample(even.data(), odd.data(), level - 1)) return false;
        merge(t0, even.data(), odd.data(), level);
        return true;
    }

    static unsigned place(double value) {   // steps work on words of the memory
        memory[0] = value;
        return 0;
    }

    unsigned logn;
    size_t next = 0, leaf = 0;
    std::vector<Polynomial> l10s;
    std::vector<double> deviations;
};

static Status attempt(Tree &tree, const uint8_t *request, int16_t *s2, unsigned logn) {
    const unsigned n = 1u << logn;
    for (unsigned k = 0; k < n; k++) {
        work.target[k] = (uint16_t)(request[4 * n + 2 * k] | request[4 * n + 2 * k + 1] << 8);
    }
    seed_generator(&work.generator, request + 6 * n);
    DirectSteps(&work).load_target(0, logn);
    Polynomial t0(memory, memory + n);
    forward_transform(t0.data(), logn);
    Polynomial t1 = t0;
    multiply(t1.data(), tree.basis[1].data(), logn);
    scale(t1.data(), -falcon_tables::inverse_q, logn);
    multiply(t0.data(), tree.basis[3].data(), logn);
    scale(t0.data(), falcon_tables::inverse_q, logn);
    if (!tree.sample(t0.data(), t1.data())) return STATUS_REFUSED;
    Polynomial v0 = t0, v1 = t0, w0 = t1;
    multiply(v0.data(), tree.basis[0].data(), logn);
    multiply(w0.data(), tree.basis[2].data(), logn);
    add_to(v0.data(), w0.data(), logn);
    multiply(v1.data(), tree.basis[1].data(), logn);
    multiply(t1.data(), tree.basis[3].data(), logn);
    add_to(t1.data(), v1.data(), logn);
    inverse_transform(v0.data(), logn);
    inverse_transform(t1.data(), logn);
    round_to_integers(work.v0, v0.data(), logn);
    round_to_integers(work.v1, t1.data(), logn);
    return close_enough(s2, work.target, work.v0, work.v1, logn) ? STATUS_SIGNED : STATUS_RETRY;
}

int main(int argc, char **argv) {
    if (argc != 4) return std::fprintf(stderr, "tree <attempts> <recorded 512> <recorded 1024>\n"), 2;
    std::mt19937_64 random(40);
    unsigned wrong = 0, total = 0, keys = 0;
    for (unsigned logn : {9u, 10u}) {
        const unsigned n = 1u << logn;
        FILE *file = std::fopen(argv[logn - 7], "rb");
        if (!file) return std::perror(argv[logn - 7]), 2;
        std::vector<uint8_t> request(request_bytes(logn)), answer(2 * n);
        std::vector<int16_t> want(n), got(n);
        while (std::fgetc(file) == (int)logn &&
               std::fread(request.data(), 1, request.size(), file) == request.size() &&
               std::fread(answer.data(), 1, answer.size(), file) == answer.size()) {
            keys++;
            for (unsigned k = 0; k < 4 * n; k++) work.key[k] = (int8_t)request[k];
            DirectSteps steps(&work);
            load_basis(steps, Layout(logn), logn);
            Tree tree(logn);
            for (int k = 0; k < std::atoi(argv[1]); k++) {
                for (unsigned j = 0; j < 56; j++) request[6 * n + j] = random();
                for (unsigned j = 0; j < n; j++) {
                    const unsigned c = random() % 12289;
                    request[4 * n + 2 * j] = c;
                    request[4 * n + 2 * j + 1] = c >> 8;
                }
                uint32_t status, version;
                falcon_sign(request.data(), want.data(), logn, &status, &version);
                const Status kept = attempt(tree, request.data(), got.data(), logn);
                wrong += kept != (Status)status || (status == STATUS_SIGNED && got != want);
                total++;
            }
        }
        std::fclose(file);
    }
    std::printf("tree: %u attempts with %u kept trees, %u differ\n", total, keys, wrong);
    return wrong != 0 || total == 0;
}
