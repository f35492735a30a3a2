// An optimised std::mt19937. Tests are compiled without optimisation and linked after this file
// (poprt_library_first), and the linker keeps the first instance of a template.
#include <random>

template class std::mersenne_twister_engine<uint_fast32_t, 32, 624, 397, 31, 0x9908b0df, 11,
                                            0xffffffff, 7, 0x9d2c5680, 15, 0xefc60000, 18,
                                            1812433253>;
static_assert(
    std::is_same_v<std::mt19937, std::mersenne_twister_engine<
                                     uint_fast32_t, 32, 624, 397, 31, 0x9908b0df, 11, 0xffffffff, 7,
                                     0x9d2c5680, 15, 0xefc60000, 18, 1812433253>>);
