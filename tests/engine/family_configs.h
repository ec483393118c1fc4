// Part of family_models(): the dense families beyond the first ones.
#pragma once

#include "engine/family_models.h"

namespace skua::test {

std::vector<FamilyModel> dense_family_models();

}  // namespace skua::test
