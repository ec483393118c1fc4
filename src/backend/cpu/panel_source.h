// What a stored row holds, in the form that panels want: codes four to a word, and the bytes of its numbers.
#pragma once

#include <cstdint>

#include "backend/cpu/panels.h"

namespace skua::cpu {

/// The 32 codes of a block, unsigned: word v holds columns 4v..4v+3, one byte each.
struct BlockCodes {
  uint32_t words[8];
};

/// Codes of block `block` (of 32 columns) of a row; `row` is the row's first plane.
BlockCodes read_codes(const Format& format, const std::byte* row, int64_t block);

/// Copies the codes of a row whose bytes already lie as a panel wants them: blocks of 32 nibbles (whose order
/// is that of panels) and 8-bit codes. `to` is the row's place in its panel. False for other formats.
bool copy_codes(const Format& format, const std::byte* row, int64_t n_blocks, std::byte* to);

/// Writes the numbers of stored row `row` to place `r` of a panel, whose second and third part these are.
void put_numbers(const EncodedMatrix& source, const PanelFormat& shape, int64_t row, int64_t r,
                 std::byte* second, std::byte* third);

}  // namespace skua::cpu
