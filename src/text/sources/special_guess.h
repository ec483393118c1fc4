// Which tokens begin and end a text, when a vocabulary file does not say.
#pragma once

#include "text/tokenizer.h"

namespace skua::text {

/// Fills the roles that are still open from tokens whose well-known names are in the vocabulary.
void guess_special_ids(const Tokenizer& tokenizer, SpecialIds& ids);

/// Adds to ids.eos every control token that is known to end a turn in some family.
void add_end_of_turn_ids(const Tokenizer& tokenizer, SpecialIds& ids);

}  // namespace skua::text
