/* Tells libFuzzer which blocks of the kernel ran, where the compiler is gcc: it calls one function in each block, while
   libFuzzer wants counters that clang would put there.  A counter stands for the blocks whose addresses fall on it. */
#include <stdint.h>

#define SIZE (1 << 14)

static uint8_t counters[SIZE];
static uintptr_t table[2 * SIZE];

__attribute__((weak)) void __sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop);
__attribute__((weak)) void __sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *stop);

__attribute__((constructor)) static void begin(void) {
    for (uintptr_t i = 0; i < SIZE; i++)
        table[2 * i] = (uintptr_t)counters + i; /* libFuzzer wants an address for each counter, and only counts them */
    if (__sanitizer_cov_8bit_counters_init && __sanitizer_cov_pcs_init) {
        __sanitizer_cov_8bit_counters_init(counters, counters + SIZE);
        __sanitizer_cov_pcs_init(table, table + 2 * SIZE);
    }
}

void __sanitizer_cov_trace_pc(void) {
    uintptr_t here = (uintptr_t)__builtin_return_address(0);
    counters[(here ^ here >> 15) & (SIZE - 1)]++;
}

/* gcc tells of comparisons of floating-point numbers, too; libFuzzer takes none. */
void __sanitizer_cov_trace_cmpf(float left, float right) { (void)left, (void)right; }
void __sanitizer_cov_trace_cmpd(double left, double right) { (void)left, (void)right; }
