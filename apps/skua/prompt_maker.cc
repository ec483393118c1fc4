// Chat template and tokenizer behind one door.
#include "skua/prompt_maker.h"

#include <optional>

#include "text/prompt.h"

namespace skua {

struct PromptMaker::State {
  const Tokenizer& tokenizer;
  std::optional<PromptBuilder> builder;
  Status problem;  // why there is no builder

  Result<Prompt> render(const ChatRequest& request) const {
    if (!builder) return problem;
    return builder->render(request);
  }
};

PromptMaker::PromptMaker(std::unique_ptr<State> state) : state_(std::move(state)) {}
PromptMaker::~PromptMaker() = default;

Result<std::unique_ptr<PromptMaker>> PromptMaker::make(const Tokenizer* tokenizer,
                                                       const ChatTemplateSources& templates,
                                                       const std::string& source) {
  if (tokenizer == nullptr) {
    return not_found(source +
                     " has no tokenizer: expected tokenizer.json (or vocab.json with merges.txt) beside the "
                     "weights, or a GGUF vocabulary");
  }
  auto state = std::make_unique<State>(State{*tokenizer, std::nullopt, ok_status()});
  if (!templates.file && templates.config.is_null()) {
    state->problem =
        unsupported(source + " has no chat template, so it takes no messages; --raw continues a text");
  } else {
    auto builder = PromptBuilder::make(templates, *tokenizer);
    state->problem = builder.status();
    if (builder.ok()) state->builder.emplace(std::move(builder).value());
  }
  return std::unique_ptr<PromptMaker>(new PromptMaker(std::move(state)));
}

Result<Prompt> PromptMaker::prompt(const ChatRequest& request) const { return state_->render(request); }

Result<std::vector<int32_t>> PromptMaker::prompt_ids(const Prompt& prompt) const {
  if (!state_->builder) return state_->problem;
  return state_->builder->encode(prompt);
}

Result<std::vector<int32_t>> PromptMaker::chat_ids(const Json& messages, const Json& tools) const {
  ChatRequest request;
  request.messages = messages;
  request.tools = tools;
  SKUA_ASSIGN_OR_RETURN(const Prompt prompt, state_->render(request));
  return state_->builder->encode(prompt);
}

Result<std::vector<int32_t>> PromptMaker::raw_ids(const std::string& text) const {
  return state_->tokenizer.encode(text);
}

Json message(const char* role, const std::string& content) {
  Json out = Json::object();
  out.set("role", role);
  out.set("content", content);
  return out;
}

}  // namespace skua
