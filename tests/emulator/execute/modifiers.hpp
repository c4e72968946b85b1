// Modifiers that several memory instructions share.
#pragma once

#include "../decode/binding.hpp"

namespace emulator {

/// .global, .shared, .local, .const, .param, or generic when there is none.
inline space take_access_space(binding& b)
{
    if (b.has("global")) { return space::global; }
    if (b.has("shared") || b.has("shared::cta")) { return space::shared; }
    if (b.has("local")) { return space::local; }
    if (b.has("const")) { return space::constant; }
    if (b.has("param") || b.has("param::func") || b.has("param::entry")) { return space::parameter; }
    return space::generic;
}

inline void take_scope(binding& b, instruction& out)
{
    const int s = b.one_of({"cta", "cluster", "gpu", "sys"});
    if (s >= 0) { out.scope = static_cast<scope>(s + 1); }
}

/// .weak .volatile .relaxed .acquire .release .acq_rel .sc, and the scope.
inline void take_order(binding& b, instruction& out)
{
    const int order = b.one_of({"weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "sc"});
    if (order >= 0) { out.order = static_cast<ordering>(order); }
    take_scope(b, out);
    if (out.order == ordering::is_volatile) {
        if (out.scope != scope::none) { b.refuse(".volatile takes no scope"); }
        out.scope = scope::system;
    }
    if (out.order >= ordering::relaxed && out.scope == scope::none) { b.refuse("a scope expected"); }
}

}  // namespace emulator
