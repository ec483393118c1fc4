// Parts of family_models(): the families beyond the first ones.
#pragma once

#include "engine/family_models.h"

namespace skua::test {

/// A common base of odd sizes (2 layers, d_model 48, 3 heads, 1 kv head) with the keys of `own` set.
FamilyModel tiny(std::string name, std::string family, const char* own, Format format);

std::vector<FamilyModel> dense_family_models();
std::vector<FamilyModel> moe_family_models();
std::vector<FamilyModel> recurrent_sample_models();  // one of each kind
std::vector<FamilyModel> recurrent_family_models();  // the others

/// Sinks, chunks, experts beside a dense MLP.
std::vector<FamilyModel> mixed_attention_models();

}  // namespace skua::test
