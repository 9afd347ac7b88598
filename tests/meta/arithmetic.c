/* Changes the floating-point environment of the thread that calls it, as some libraries do. */
#include <fenv.h>
int flush(void)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#elif defined(__aarch64__)
    __builtin_aarch64_set_fpcr(__builtin_aarch64_get_fpcr() | 1u << 24);
#else
#error "no way is known here to flush subnormal numbers"
#endif
    return 0;
}
int upward(void) { return fesetround(FE_UPWARD); }
int downward(void) { return fesetround(FE_DOWNWARD); }
int toward_zero(void) { return fesetround(FE_TOWARDZERO); }
