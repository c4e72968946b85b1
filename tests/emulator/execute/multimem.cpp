// multimem (PTX ISA, "multimem.ld_reduce, multimem.st, multimem.red"): decoded, as code for devices with multicast
// memory holds it, but no device here has any: executing it is an access to no memory.
#include "../check/report.hpp"
#include "../decode/binding.hpp"

namespace emulator {
namespace {

void access_nothing(context& c, const instruction& i)
{
    make_report(c, i, static_cast<unsigned>(std::countr_zero(c.mask)), rule::bounds,
                "a multimem instruction, but no multicast memory is there");
    throw kernel_fault{700};  // cudaErrorIllegalAddress
}

void bind_multimem(binding& b)
{
    for (const std::string& m : b.statement().modifiers) { b.has(m); }
    b.out.kind = instruction_class::memory;
    b.out.execute = &access_nothing;
}

}  // namespace

extern const opcode_entry multimem_opcodes[] = {
    {"multimem", bind_multimem},
    {{}, nullptr},
};

}  // namespace emulator
