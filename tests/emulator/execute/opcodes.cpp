// All opcodes, from the tables of the files that implement them.
#include "../decode/binding.hpp"

#include <unordered_map>

namespace emulator {

extern const opcode_entry integer_opcodes[], bit_opcodes[], field_opcodes[], float_opcodes[], compare_opcodes[],
    convert_opcodes[], move_opcodes[], load_store_opcodes[], control_opcodes[], call_opcodes[], barrier_opcodes[],
    warp_opcodes[], atomic_opcodes[], matrix_opcodes[], copy_opcodes[], carry_opcodes[], mbarrier_opcodes[],
    multimem_opcodes[], wgmma_opcodes[];

binder find_binder(std::string_view opcode)
{
    static const std::unordered_map<std::string_view, binder> all = [] {
        std::unordered_map<std::string_view, binder> table;
        for (const opcode_entry* list :
             {integer_opcodes, bit_opcodes, field_opcodes, float_opcodes, compare_opcodes, convert_opcodes,
              move_opcodes, load_store_opcodes, control_opcodes, call_opcodes, barrier_opcodes, warp_opcodes,
              atomic_opcodes, carry_opcodes, matrix_opcodes, copy_opcodes, mbarrier_opcodes, multimem_opcodes,
              wgmma_opcodes}) {
            for (; list->bind != nullptr; ++list) { table.emplace(list->opcode, list->bind); }
        }
        return table;
    }();
    const auto at = all.find(opcode);
    return at == all.end() ? nullptr : at->second;
}

}  // namespace emulator
