// Arithmetic with .rz, .rm and .rp: the host rounds so while the lanes are computed. Built with -frounding-math.
#include "floating.hpp"

#include <cfenv>

namespace emulator {
namespace {

class rounding_scope {
  public:
    explicit rounding_scope(rounding mode) : before_{std::fegetround()}
    {
        std::fesetround(mode == rounding::zero ? FE_TOWARDZERO : mode == rounding::down ? FE_DOWNWARD : FE_UPWARD);
    }
    ~rounding_scope() { std::fesetround(before_); }

  private:
    int before_;
};

template <class Op, int Arity, bool Flush, bool Saturate, class T>
void directed(context& c, const instruction& i)
{
    const rounding_scope scope(static_cast<rounding>(i.variant2));
    constexpr auto run = execution<T, Op, Arity, Flush, Saturate>();
    run(c, i);
}

template <class Op, int Arity>
auto choose(type t, float_modifiers m) -> void (*)(context&, const instruction&)
{
    if (t == type::f64) { return &directed<Op, Arity, false, false, double>; }
    if (m.ftz) { return m.sat ? &directed<Op, Arity, true, true, float> : &directed<Op, Arity, true, false, float>; }
    return m.sat ? &directed<Op, Arity, false, true, float> : &directed<Op, Arity, false, false, float>;
}

}  // namespace

void (*directed_execution(float_operation op, type t, float_modifiers m))(context&, const instruction&)
{
    switch (op) {
    case float_operation::add: return choose<plus, 2>(t, m);
    case float_operation::sub: return choose<minus, 2>(t, m);
    case float_operation::mul: return choose<times, 2>(t, m);
    case float_operation::div: return choose<over, 2>(t, m);
    case float_operation::fma: return choose<fused, 3>(t, m);
    case float_operation::sqrt: return choose<root, 1>(t, m);
    case float_operation::rcp: return choose<reciprocal, 1>(t, m);
    }
    return nullptr;
}

}  // namespace emulator
