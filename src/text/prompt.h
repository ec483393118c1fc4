// From the messages of a chat to the prompt and its ids. The same code serves the command line and the
// server.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace skua {

/// What becomes of text in a message that spells a control token (<|im_end|>, say). A template's own markup
/// is always parsed.
enum class ControlText : uint8_t {
  kLiteralFromUsers,  // the default: text of users, tools and any role but those below is ordinary
                      // characters; assistant, system and developer text is parsed
  kLiteral,           // no message text is parsed
  kParsed,            // all of it is parsed, as HF transformers does
};

/// One chat to be rendered.
struct ChatRequest {
  /// A list of objects in the form of the OpenAI API: role; content (text, null, or a list of parts with
  /// "type" and "text"); name; tool_calls (function.arguments as JSON text or as an object); tool_call_id;
  /// reasoning_content.
  Json messages = Json::array();
  Json tools;                           // list of tools in the form of the OpenAI API, or null
  Json documents;                       // for templates with retrieval, or null
  Json variables = Json::object();      // further template variables, such as {"enable_thinking": false}
  bool add_generation_prompt = true;    // end with the opening of the assistant's turn
  bool continue_final_message = false;  // the last message is the beginning of the reply: leave its turn open
  ControlText control_text = ControlText::kLiteralFromUsers;
};

/// A rendered chat.
struct Prompt {
  std::string text;
  /// Positions in `text` that no control token may reach across; for EncodeOptions::breaks.
  std::vector<uint32_t> breaks;
};

/// Where a model keeps its chat template. The file wins over the configuration.
struct ChatTemplateSources {
  std::optional<std::string> file;  // contents of chat_template.jinja
  Json config;  // "chat_template" of tokenizer_config.json or of a GGUF file: text, a list of {name,
                // template}, or null
};

/// A model's template (or templates) together with its tokenizer. Immutable: usable from many threads.
/// Lifetime: refers to the tokenizer, which must live longer.
class PromptBuilder {
 public:
  /// Parses the templates and tries them on short made-up chats to learn what forms of messages they take
  /// (see TemplateTraits in prompt.cc). Errors: kNotFound (no template anywhere); those of
  /// ChatTemplate::parse().
  static Result<PromptBuilder> make(const ChatTemplateSources& sources, const Tokenizer& tokenizer,
                                    RenderOptions options = {});

  PromptBuilder(PromptBuilder&&) noexcept;
  PromptBuilder& operator=(PromptBuilder&&) noexcept;
  ~PromptBuilder();

  /// Renders a chat. Before that, where the template needs it: system text is put in front of the first user
  /// message (templates that refuse the role), parts are joined to text or text is wrapped as a part, tool
  /// arguments become an object or JSON text. Errors: kInvalidArgument (a message of the wrong form; the
  /// template's own complaint).
  Result<Prompt> render(const ChatRequest& request) const;

  /// The ids of a rendered chat. Nothing is added: a BOS is there if the template writes one, once.
  Result<std::vector<int32_t>> encode(const Prompt& prompt) const;

 private:
  struct State;
  explicit PromptBuilder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace skua
