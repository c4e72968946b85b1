// f32 and f64 arithmetic with every rounding, .ftz, .sat, NaN, infinities and denormals, against the host's.
#include "programs/instruction.hpp"

#include <cfenv>

using u32 = std::uint32_t;

#define F32_2(name, ptx) DEFINE_2(name, ptx " %0, %1, %2;", float, "f", float, "f")
#define F64_2(name, ptx) DEFINE_2(name, ptx " %0, %1, %2;", double, "d", double, "d")
F32_2(add_rn, "add.rn.f32")
F32_2(add_rz, "add.rz.f32")
F32_2(add_rm, "add.rm.f32")
F32_2(add_rp, "add.rp.f32") F32_2(add_ftz, "add.ftz.f32") F32_2(add_sat, "add.sat.f32") F32_2(sub_rn, "sub.f32") F32_2(
    mul_rn, "mul.f32") F32_2(mul_rz, "mul.rz.f32") F32_2(mul_ftz_sat, "mul.ftz.sat.f32") F32_2(div_rn, "div.rn.f32")
    F32_2(div_rz, "div.rz.f32") F32_2(min_f, "min.f32") F32_2(max_f, "max.f32") F32_2(min_nan, "min.NaN.f32") F32_2(
        copysign_f, "copysign.f32") F32_2(div_approx, "div.approx.f32") DEFINE_3(fma_rn, "fma.rn.f32 %0, %1, %2, %3;",
                                                                                 float, "f", float, "f")
        DEFINE_3(fma_rz, "fma.rz.f32 %0, %1, %2, %3;", float, "f", float, "f") DEFINE_3(
            fma_rp,
            "fma.rp.f32 %0, %1, %2, %3;",
            float, "f",
            float,
            "f") DEFINE_3(fma_ftz, "fma.rn.ftz.f32 %0, %1, %2, %3;", float, "f", float,
                          "f") F64_2(add_d, "add.f64")
            F64_2(add_rm_d, "add.rm.f64") F64_2(mul_d, "mul.rn.f64") F64_2(div_d, "div.rn.f64") F64_2(min_d, "min.f64")
                DEFINE_3(fma_d, "fma.rn.f64 %0, %1, %2, %3;", double, "d", double,
                         "d") DEFINE_3(fma_rz_d, "fma.rz.f64 %0, %1, %2, %3;", double, "d", double,
                                       "d") DEFINE_1(sqrt_rn, "sqrt.rn.f32 %0, %1;", float, "f", float, "f")
                    DEFINE_1(sqrt_rz, "sqrt.rz.f32 %0, %1;", float, "f", float,
                             "f") DEFINE_1(rcp_rn, "rcp.rn.f32 %0, %1;", float, "f", float, "f")
                        DEFINE_1(sqrt_d, "sqrt.rn.f64 %0, %1;", double, "d", double, "d") DEFINE_1(
                            neg_f, "neg.f32 %0, %1;",
                            float, "f",
                            float,
                            "f") DEFINE_1(abs_ftz, "abs.ftz.f32 %0, %1;", float, "f", float,
                                          "f") DEFINE_1(ex2, "ex2.approx.f32 %0, %1;", float, "f", float, "f")
                            DEFINE_1(lg2, "lg2.approx.f32 %0, %1;", float, "f", float,
                                     "f") DEFINE_1(sine, "sin.approx.f32 %0, %1;", float, "f", float, "f")
                                DEFINE_1(tanh_f, "tanh.approx.f32 %0, %1;", float, "f", float,
                                         "f") DEFINE_1(rsqrt_f, "rsqrt.approx.f32 %0, %1;", float, "f", float, "f")
                                    DEFINE_1(rcp_approx, "rcp.approx.ftz.f32 %0, %1;", float, "f", float, "f") DEFINE_2(
                                        lt_f, "{.reg .pred p; setp.lt.f32 p, %1, %2; selp.u32 %0, 1, 0, p;}", u32, "r",
                                        float,
                                        "f") DEFINE_2(ltu_f,
                                                      "{.reg .pred p; setp.ltu.f32 p, %1, %2; selp.u32 %0, 1, 0, p;}",
                                                      u32, "r", float, "f")
                                        DEFINE_2(ne_f, "{.reg .pred p; setp.ne.f32 p, %1, %2; selp.u32 %0, 1, 0, p;}",
                                                 u32, "r", float, "f")
                                            DEFINE_2(neu_f,
                                                     "{.reg .pred p; setp.neu.f32 p, %1, %2; selp.u32 %0, 1, 0, p;}",
                                                     u32, "r", float, "f")
                                                DEFINE_2(
                                                    nan_f,
                                                    "{.reg .pred p; setp.nan.f32 p, %1, %2; selp.u32 %0, 1, 0, p;}",
                                                    u32, "r", float, "f")
                                                    DEFINE_2(ge_and,
                                                             "{.reg .pred p, q; setp.gt.f32 q, %1, 0f00000000; "
                                                             "setp.ge.and.f32 p, %1, %2, q; selp.u32 %0, 1, 0, p;}",
                                                             u32, "r", float, "f")
                                                        DEFINE_1(subnormal,
                                                                 "{.reg .pred p; testp.subnormal.f32 p, %1; selp.u32 "
                                                                 "%0, 1, 0, p;}",
                                                                 u32, "r", float, "f")

                                                            template <class F>
                                                            auto rounded(int mode, F f)
{
    return [=](auto... x) {
        std::fesetround(mode);
        const volatile auto r = f(*const_cast<volatile decltype(x)*>(&x)...);
        std::fesetround(FE_TONEAREST);
        return static_cast<std::common_type_t<decltype(x)...>>(r);
    };
}

float flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
float saturate(float x) { return std::isnan(x) || x <= 0 ? 0.0f : x > 1 ? 1.0f : x; }
float minimum(float a, float b) { return a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b); }

void test_f32()
{
    const auto f = check::floats();
    const auto plus = [](auto a, auto b) { return a + b; };
    const auto times = [](auto a, auto b) { return a * b; };
    const auto over = [](auto a, auto b) { return a / b; };
    const auto fused = [](auto a, auto b, auto c) { return std::fma(a, b, c); };
    TEST_2(add_rn, f, plus);
    TEST_2(add_rz, f, rounded(FE_TOWARDZERO, plus));
    TEST_2(add_rm, f, rounded(FE_DOWNWARD, plus));
    TEST_2(add_rp, f, rounded(FE_UPWARD, plus));
    TEST_2(add_ftz, f, [](float a, float b) { return flush(flush(a) + flush(b)); });
    TEST_2(add_sat, f, [](float a, float b) { return saturate(a + b); });
    TEST_2(sub_rn, f, [](float a, float b) { return a - b; });
    TEST_2(mul_rn, f, times);
    TEST_2(mul_rz, f, rounded(FE_TOWARDZERO, times));
    TEST_2(mul_ftz_sat, f, [](float a, float b) { return saturate(flush(flush(a) * flush(b))); });
    TEST_2(div_rn, f, over);
    TEST_2(div_rz, f, rounded(FE_TOWARDZERO, over));
    TEST_3(fma_rn, f, fused);
    TEST_3(fma_rz, f, rounded(FE_TOWARDZERO, fused));
    TEST_3(fma_rp, f, rounded(FE_UPWARD, fused));
    TEST_3(fma_ftz, f, [](float a, float b, float c) { return flush(std::fma(flush(a), flush(b), flush(c))); });
    TEST_2(min_f, f, minimum);
    TEST_2(max_f, f, [](float a, float b) { return -minimum(-a, -b); });
    TEST_2(min_nan, f, [](float a, float b) { return std::isnan(a) || std::isnan(b) ? NAN : minimum(a, b); });
    TEST_2(copysign_f, f, [](float a, float b) { return std::copysign(b, a); });
    TEST_1(sqrt_rn, f, [](float a) { return std::sqrt(a); });
    TEST_1(sqrt_rz, f, rounded(FE_TOWARDZERO, [](auto a) { return std::sqrt(a); }));
    TEST_1(rcp_rn, f, [](float a) { return 1 / a; });
    TEST_1(neg_f, f, [](float a) { return -a; });
    TEST_1(abs_ftz, f, [](float a) { return flush(std::fabs(a)); });
}

void test_f64()
{
    const auto d = check::doubles();
    TEST_2(add_d, d, [](double a, double b) { return a + b; });
    TEST_2(add_rm_d, d, rounded(FE_DOWNWARD, [](auto a, auto b) { return a + b; }));
    TEST_2(mul_d, d, [](double a, double b) { return a * b; });
    TEST_2(div_d, d, [](double a, double b) { return a / b; });
    TEST_2(min_d, d, [](double a, double b) { return a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b); });
    TEST_3(fma_d, d, [](double a, double b, double c) { return std::fma(a, b, c); });
    TEST_3(fma_rz_d, d, rounded(FE_TOWARDZERO, [](auto a, auto b, auto c) { return std::fma(a, b, c); }));
    TEST_1(sqrt_d, d, [](double a) { return std::sqrt(a); });
}

void test_comparisons()
{
    const auto f = check::floats();
    TEST_2(lt_f, f, [](float a, float b) { return u32{a < b}; });
    TEST_2(ltu_f, f, [](float a, float b) { return u32{!(a >= b)}; });
    TEST_2(ne_f, f, [](float a, float b) { return u32{a < b || a > b}; });
    TEST_2(neu_f, f, [](float a, float b) { return u32{a != b}; });
    TEST_2(nan_f, f, [](float a, float b) { return u32{std::isnan(a) || std::isnan(b)}; });
    TEST_2(ge_and, f, [](float a, float b) { return u32{a >= b && a > 0}; });
    TEST_1(subnormal, f, [](float a) { return u32{std::fpclassify(a) == FP_SUBNORMAL}; });
}

/// Within an error that PTX documents, relative or absolute.
template <class K, class F>
void close(const char* name, K kernel, const std::vector<float>& values, double relative, double absolute, F expected)
{
    check::device_array<float> a(values), out(values.size());
    kernel<<<1, static_cast<unsigned>(values.size())>>>(out, a, static_cast<int>(values.size()));
    const auto got = out.host();
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double want = expected(static_cast<double>(values[i]));
        const double error = std::fabs(got[i] - want);
        const bool ok = (std::isnan(want) && std::isnan(got[i])) || static_cast<float>(want) == got[i] ||
                        error <= absolute || error <= relative * std::fabs(want);
        check::that(ok, name, __FILE__, __LINE__);
    }
}

void test_approximate()
{
    std::vector<float> f;
    for (float x : check::floats()) {
        if (std::fabs(x) < 100 || x != x) { f.push_back(x); }
    }
    close("ex2", ex2, f, 0x1p-22, 0, [](double x) { return std::exp2(x); });
    close("lg2", lg2, f, 0x1p-22, 0x1p-22, [](double x) { return std::log2(x); });
    close("sin", sine, f, 0, 0x1p-20, [](double x) { return std::sin(x); });
    close("tanh", tanh_f, f, 0x1p-11, 0, [](double x) { return std::tanh(x); });
    close("rsqrt", rsqrt_f, f, 0x1p-22, 0, [](double x) { return 1 / std::sqrt(x); });
    close("rcp", rcp_approx, {1.0f, 3.0f, -7.5f, 1e-30f, 1e30f, INFINITY, 0.0f}, 0x1p-23, 0,
          [](double x) { return 1 / x; });
    TEST_2(div_approx, (std::vector<float>{1.0f, -3.0f, 7.5f, 0.0f}), [](float a, float b) { return a / b; });
}

int main()
{
    test_f32();
    test_f64();
    test_comparisons();
    test_approximate();
    CHECK(emulator_report_count() == 0);
    return check::result();
}
