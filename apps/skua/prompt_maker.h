// From messages or a bare text to token ids, for the loaded model.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace skua {

class Engine;
class Tokenizer;
struct ChatRequest;
struct ChatTemplateSources;
struct Prompt;

/// Applies the chat template and the tokenizer of one model, which must outlive it.
class PromptMaker {
 public:
  /// Errors: kNotFound without a tokenizer. A model without a template makes only raw prompts; a template
  /// that cannot be read is an error when messages come.
  static Result<std::unique_ptr<PromptMaker>> make(const Tokenizer* tokenizer,
                                                   const ChatTemplateSources& templates,
                                                   const std::string& source);
  ~PromptMaker();

  /// The prompt of a chat, and its ids. Errors: kUnsupported without a template; those of the template.
  Result<Prompt> prompt(const ChatRequest& request) const;
  Result<std::vector<int32_t>> prompt_ids(const Prompt& prompt) const;
  /// The ids for these messages ({"role", "content"} objects), ready for a reply. `tools` may be null.
  Result<std::vector<int32_t>> chat_ids(const Json& messages, const Json& tools) const;

  /// The ids of a text as it is, with whatever the vocabulary puts before it.
  Result<std::vector<int32_t>> raw_ids(const std::string& text) const;

 private:
  struct State;
  explicit PromptMaker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// {"role": role, "content": content}.
Json message(const char* role, const std::string& content);

}  // namespace skua
