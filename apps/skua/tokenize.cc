// skua tokenize: the ids and pieces of a text.
#include "base/json.h"
#include "base/log.h"
#include "engine/text_setup.h"
#include "skua/commands.h"
#include "skua/model_source.h"
#include "skua/terminal.h"
#include "skua/texts.h"

namespace skua {
namespace {

/// `bytes` in quotes; control characters, quotes and backslashes escaped, and bytes that are not UTF-8 as
/// \xNN.
std::string in_quotes(std::string_view bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  const bool is_text = check_utf8(bytes, "").ok();
  std::string out = "\"";
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !is_text)) {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string as_json(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  Json list = Json::array(), tokens = Json::array();
  for (int32_t id : ids) {
    list.push_back(id);
    Json token = Json::object();
    token.set("id", id);
    token.set("spelling", tokenizer.token_text(id));
    token.set("piece", tokenizer.token_bytes(id));
    token.set("special", tokenizer.is_special(id));
    tokens.push_back(std::move(token));
  }
  Json out = Json::object();
  out.set("n_tokens", static_cast<int64_t>(ids.size()));
  out.set("ids", std::move(list));
  out.set("tokens", std::move(tokens));
  return out.dump() + "\n";
}

std::string as_table(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::string out;
  for (int32_t id : ids) {
    std::string number = std::to_string(id);
    number.insert(0, number.size() < 8 ? 8 - number.size() : 0, ' ');
    const std::string bytes = tokenizer.token_bytes(id);
    out += number + "  " + in_quotes(bytes.empty() ? tokenizer.token_text(id) : bytes);
    out += tokenizer.is_special(id) ? "  (special)\n" : "\n";
  }
  return out + std::to_string(ids.size()) + " tokens\n";
}

}  // namespace

Exit tokenize_command(const CommandInput& input) {
  ModelAndText what = split_arguments(input);
  const auto checkpoint = open_model(input.options, what.model);
  if (!checkpoint.ok()) return fail(checkpoint.status());
  const auto text = load_text(**checkpoint);
  if (!text.ok()) return fail(text.status());
  if (text->tokenizer == nullptr) {
    return fail(
        not_found((*checkpoint)->source() +
                  " has no tokenizer (tokenizer.json, vocab.json with merges.txt, or a GGUF vocabulary)"));
  }
  if (!what.has_text) {
    auto all = read_stdin();
    if (!all.ok()) return fail(all.status());
    what.text = std::move(all).value();
  }
  const Status valid = check_utf8(what.text, "the text");
  if (!valid.ok()) return fail_input(valid);
  for (const std::string& note : text->tokenizer->notes()) log_warning(note);
  for (const std::string& warning : text->warnings) log_warning(warning);
  const bool plain = input.options.flag(Opt::kPlain);
  const FileLimits limits = input.options.flag(Opt::kFileLimits) ? FileLimits::kApply : FileLimits::kIgnore;
  const auto ids = text->tokenizer->encode(
      what.text, {.add_special = !plain, .parse_special = !plain, .breaks = {}, .file_limits = limits});
  if (!ids.ok()) return fail(ids.status());
  return print_and_exit(input.options.flag(Opt::kJson) ? as_json(*text->tokenizer, *ids)
                                                       : as_table(*text->tokenizer, *ids));
}

}  // namespace skua
