// Numbering of added tokens.
#include "text/sources/added_token_list.h"

#include <algorithm>

namespace skua::text {

Status AddedTokenList::add(AddedToken token, std::optional<int64_t> file_id) {
  const AddedToken* known = find(token.content);
  token.id = known != nullptr ? known->id : model_.find(token.content).value_or(next_);
  if (model_.contains(token.id) && model_.spelling(token.id) != token.content) {
    return invalid_argument("[added_tokens] \"" + token.content + "\" and \"" +
                            std::string(model_.spelling(token.id)) + "\" would both have id " +
                            std::to_string(token.id));
  }
  if (file_id && token.id != *file_id) {
    notes_.push_back("Added token \"" + token.content + "\" has id " + std::to_string(token.id) +
                     ", as HF tokenizers numbers it, though the file says " + std::to_string(*file_id) + ".");
  }
  if (token.content.empty()) return ok_status();  // HF leaves those out
  next_ = std::max(next_, token.id + 1);
  places_[token.content] = tokens_.size();
  tokens_.push_back(std::move(token));
  return ok_status();
}

AddedToken* AddedTokenList::find(const std::string& content) {
  const auto place = places_.find(content);
  return place == places_.end() ? nullptr : &tokens_[place->second];
}

}  // namespace skua::text
