// What options ask of each other.
#pragma once

#include "base/options.h"

namespace skua {

/// Checks options that go together. Errors: kInvalidArgument naming both; it is wrong usage.
Status check_option_rules(const OptionValues& options);

}  // namespace skua
