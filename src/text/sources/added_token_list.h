// Added tokens on their way from a file into a pipeline: they are numbered here, as HF tokenizers numbers
// them.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/added_vocabulary.h"
#include "text/components.h"

namespace skua::text {

/// Ids that a file may name.
constexpr int64_t kIdLimit = 1 << 28;

/// A token that the model has keeps the model's id; others are counted on from the end of the vocabulary,
/// whatever id the file gives.
class AddedTokenList {
 public:
  /// Both must outlive this. `notes` gets a line for each token whose id is not the file's.
  AddedTokenList(const Model& model, std::vector<std::string>& notes)
      : model_(model), notes_(notes), next_(model.size()) {}

  /// `token.id` is set here; `file_id` is what the file says. Tokens without text are left out.
  /// Errors: kInvalidArgument (the id belongs to another token).
  Status add(AddedToken token, std::optional<int64_t> file_id);

  /// The last token of this text, or null.
  AddedToken* find(const std::string& content);

  std::vector<AddedToken> take() { return std::move(tokens_); }

 private:
  const Model& model_;
  std::vector<std::string>& notes_;
  std::vector<AddedToken> tokens_;
  std::unordered_map<std::string, size_t> places_;
  int32_t next_;
};

}  // namespace skua::text
