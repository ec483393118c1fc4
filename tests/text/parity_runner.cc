// Prints what skua's text layer makes of given inputs, one JSON value a line, for tools/text_parity to
// compare with the reference implementations. Usage: text_parity_runner encode KIND FILE TEXTS | bench KIND
// FILE TEXTFILE
#include <cstdio>
#include <ctime>
#include <iostream>
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "text/base64.h"
#include "text/chat_template.h"
#include "text/detokenizer.h"
#include "text/gguf_vocab.h"
#include "text/tokenizer.h"
#include "text/vocab_files.h"

namespace skua {
namespace {

Result<Json> read_json(const std::string& path) {
  SKUA_ASSIGN_OR_RETURN(const std::string text, read_file(path));
  return parse_json(text);
}

std::vector<std::string> strings_of(const Json* json) {
  std::vector<std::string> out;
  if (json == nullptr) return out;
  for (const Json& item : json->items()) out.push_back(item.as_string());
  return out;
}

std::optional<int64_t> id_of(const Json& json, const char* key) {
  const Json* found = json.find(key);
  return found == nullptr || found->is_null() ? std::nullopt : std::optional(found->as_int());
}

std::optional<bool> flag_of(const Json& json, const char* key) {
  const Json* found = json.find(key);
  return found == nullptr || found->is_null() ? std::nullopt : std::optional(found->as_bool());
}

// A GGUF vocabulary written out as JSON by the parity tool.
Result<std::unique_ptr<Tokenizer>> load_gguf_json(const std::string& path) {
  SKUA_ASSIGN_OR_RETURN(const Json json, read_json(path));
  GgufVocab vocab;
  vocab.model = json.find("model")->as_string();
  if (json.find("pre") != nullptr) vocab.pre = json.find("pre")->as_string();
  vocab.tokens = strings_of(json.find("tokens"));
  vocab.merges = strings_of(json.find("merges"));
  if (const Json* types = json.find("token_types")) {
    for (const Json& type : types->items()) vocab.token_types.push_back(static_cast<int32_t>(type.as_int()));
  }
  if (const Json* scores = json.find("scores")) {
    for (const Json& score : scores->items()) vocab.scores.push_back(static_cast<float>(score.as_double()));
  }
  vocab.bos_id = id_of(json, "bos_id");
  vocab.eos_id = id_of(json, "eos_id");
  vocab.unk_id = id_of(json, "unk_id");
  vocab.pad_id = id_of(json, "pad_id");
  vocab.cls_id = id_of(json, "cls_id");
  vocab.sep_id = id_of(json, "sep_id");
  vocab.add_bos = flag_of(json, "add_bos");
  vocab.add_eos = flag_of(json, "add_eos");
  vocab.add_space_prefix = flag_of(json, "add_space_prefix");
  vocab.remove_extra_whitespaces = flag_of(json, "remove_extra_whitespaces");
  if (const Json* charsmap = json.find("charsmap")) {
    SKUA_ASSIGN_OR_RETURN(vocab.precompiled_charsmap, text::decode_base64(charsmap->as_string()));
  }
  return tokenizer_from_gguf(vocab);
}

// The files of a checkpoint with vocab.json and merges.txt, in one JSON object.
Result<std::unique_ptr<Tokenizer>> load_pair(const std::string& path) {
  SKUA_ASSIGN_OR_RETURN(const Json json, read_json(path));
  VocabMergesFiles files;
  files.vocab = json.find("vocab")->as_string();
  files.merges = json.find("merges")->as_string();
  files.config = *json.find("config");
  return load_vocab_and_merges(files);
}

Result<std::unique_ptr<Tokenizer>> load(const std::string& kind, const std::string& path) {
  if (kind == "gguf") return load_gguf_json(path);
  if (kind == "pair") return load_pair(path);
  SKUA_ASSIGN_OR_RETURN(const std::string text, read_file(path));
  if (kind == "json") return load_tokenizer_json(text);
  if (kind == "spm") return load_sentencepiece(text);
  if (kind == "tiktoken") {  // a JSON object: the list's text, the pattern, the special tokens
    SKUA_ASSIGN_OR_RETURN(const Json json, parse_json(text));
    TiktokenOptions options;
    options.pattern = json.find("pattern")->as_string();
    for (const auto& [token, id] : json.find("special")->members()) {
      options.special.emplace_back(token, static_cast<int32_t>(id.as_int()));
    }
    return load_tiktoken(json.find("list")->as_string(), options);
  }
  return invalid_argument("unknown kind " + kind);
}

// Joins the pieces of the incremental decoder.
std::string stream_decode(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  Detokenizer stream(tokenizer, SkipSpecial::kYes);
  std::string out;
  for (const int32_t id : ids) out += stream.push(id);
  return out + stream.finish();
}

Json encode_one(const Tokenizer& tokenizer, const std::string& text) {
  Json line = Json::object();
  const auto plain = tokenizer.encode(text);
  const auto full = tokenizer.encode_with_offsets(text);
  if (!plain.ok() || !full.ok()) {
    line.set("error", (plain.ok() ? full.status() : plain.status()).message());
    return line;
  }
  Json ids = Json::array(), offsets = Json::array();
  for (const int32_t id : full->ids) ids.push_back(id);
  for (const TextSpan& span : full->offsets) {
    offsets.push_back(static_cast<int64_t>(span.begin));
    offsets.push_back(static_cast<int64_t>(span.end));
  }
  line.set("ids", std::move(ids));
  line.set("offsets", std::move(offsets));
  line.set("same", *plain == full->ids);
  line.set("text", tokenizer.decode(full->ids, SkipSpecial::kYes));
  line.set("full", tokenizer.decode(full->ids, SkipSpecial::kNo));
  line.set("streamed", stream_decode(tokenizer, full->ids));
  return line;
}

Status run_encode(const Tokenizer& tokenizer, const std::string& texts_path) {
  SKUA_ASSIGN_OR_RETURN(const Json texts, read_json(texts_path));
  for (const Json& text : texts.items()) std::cout << encode_one(tokenizer, text.as_string()).dump() << '\n';
  return ok_status();
}

Status run_bench(const Tokenizer& tokenizer, const std::string& path) {
  SKUA_ASSIGN_OR_RETURN(const std::string text, read_file(path));
  double best = 1e30;
  size_t n_ids = 0;
  for (int round = 0; round < 5; ++round) {
    const std::clock_t begin = std::clock();  // processor time: the machine may be shared
    SKUA_ASSIGN_OR_RETURN(const auto ids, tokenizer.encode(text));
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    n_ids = ids.size();
  }
  std::printf("{\"bytes\": %zu, \"ids\": %zu, \"seconds\": %.6f}\n", text.size(), n_ids, best);
  return ok_status();
}

Json render_one(const ChatTemplate& chat_template, const Json& variables) {
  // The same instant as tools/text_parity gives to the reference.
  const RenderOptions options{.now = [] { return LocalTime{2024, 7, 9, 5, 6, 7, 0}; }};
  Json line = Json::object();
  const auto out = chat_template.render(variables, options);
  if (out.ok()) {
    line.set("out", *out);
  } else {
    line.set("error", out.status().message());
  }
  return line;
}

// PATH holds [{"template": text, "cases": [variables...]}...].
Status run_render(const std::string& path) {
  SKUA_ASSIGN_OR_RETURN(const Json jobs, read_json(path));
  for (const Json& job : jobs.items()) {
    const auto parsed = ChatTemplate::parse(job.find("template")->as_string());
    for (const Json& variables : job.find("cases")->items()) {
      Json line = Json::object();
      if (parsed.ok()) {
        line = render_one(*parsed, variables);
      } else {
        line.set("error", parsed.status().message());
      }
      std::cout << line.dump() << '\n';
    }
  }
  return ok_status();
}

Status run(const std::vector<std::string>& args) {
  if (args.size() == 2 && args[0] == "render") return run_render(args[1]);
  if (args.size() != 4) return invalid_argument("usage: text_parity_runner encode|bench KIND FILE TEXTS");
  SKUA_ASSIGN_OR_RETURN(const auto tokenizer, load(args[1], args[2]));
  return args[0] == "encode" ? run_encode(*tokenizer, args[3]) : run_bench(*tokenizer, args[3]);
}

}  // namespace
}  // namespace skua

int main(int argc, char** argv) {
  const skua::Status status = skua::run(std::vector<std::string>(argv + 1, argv + argc));
  if (status.ok()) return 0;
  std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return 1;
}
