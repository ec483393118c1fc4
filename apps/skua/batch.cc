// skua batch: many prompts in, one JSON line out for each, through one engine. What is already in the output
// file is not done again.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "base/counted.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "skua/commands.h"
#include "skua/generate.h"
#include "skua/model_source.h"
#include "skua/prompt_maker.h"
#include "skua/terminal.h"
#include "skua/texts.h"

namespace skua {
namespace {

constexpr int32_t kCacheTokensEach = 1024;

/// One line of the input.
struct Job {
  int64_t index = 0;  // of its line, from 0
  Json line;
};

/// Every non-empty line as an object. Errors name the line.
Result<std::vector<Job>> read_jobs(const std::string& text) {
  std::vector<Job> out;
  size_t begin = 0;
  for (int64_t index = 0; begin < text.size(); ++index) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto json = parse_json(line);
    const std::string where = "line " + std::to_string(index + 1) + " of the input";
    if (!json.ok()) return json.status().with_context(where);
    if (!json->is_object()) return invalid_argument(where + " must be a JSON object");
    out.push_back({index, std::move(json).value()});
  }
  if (out.empty()) return invalid_argument("the input holds no line");
  return out;
}

std::string id_text(const Json& line) {
  const Json* id = line.find("id");
  return id == nullptr ? "" : id->dump();
}

std::string or_none(const std::string& id) { return id.empty() ? "none" : id; }

/// What an earlier run has answered: the index of each line, and its "id" as text ("" = none). Half a line at
/// the end, left by an interruption, is cut off.
Result<std::map<int64_t, std::string>> answered(const std::filesystem::path& path) {
  std::map<int64_t, std::string> out;
  const Result<std::string> text = read_file(path);
  if (text.status().code() == Code::kNotFound) return out;
  SKUA_RETURN_IF_ERROR(text.status());
  size_t begin = 0;
  for (size_t end = text->find('\n'); end != std::string::npos; end = text->find('\n', begin)) {
    const auto json = parse_json(std::string_view(*text).substr(begin, end - begin));
    const Json* index = json.ok() ? json->find("index") : nullptr;
    if (index == nullptr || !index->is_int()) {
      return invalid_argument(path.string() +
                              " exists and is no output of skua batch; name another --output");
    }
    if (json->find("error") == nullptr) out[index->as_int()] = id_text(*json);
    begin = end + 1;
  }
  if (begin == text->size()) return out;
  std::error_code error;
  std::filesystem::resize_file(path, begin, error);
  if (error) {
    return io_error("[batch] " + path.string() +
                    " ends within a line, which cannot be cut off: " + error.message());
  }
  return out;
}

/// Lines of the input that `earlier` answers. Error: it answers other lines.
Result<std::set<int64_t>> done_of(const std::vector<Job>& jobs,
                                  const std::map<int64_t, std::string>& earlier) {
  std::set<int64_t> out;
  for (const Job& job : jobs) {
    const auto found = earlier.find(job.index);
    if (found == earlier.end()) continue;
    if (found->second != id_text(job.line)) {
      return invalid_argument("[batch] the output answers index " + std::to_string(job.index) + " with id " +
                              or_none(found->second) + ", the input has id " + or_none(id_text(job.line)) +
                              " there: it is of another input; name another --output");
    }
    out.insert(job.index);
  }
  return out;
}

std::string_view finish_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    default:
      return "error";
  }
}

Json usage_json(const Usage& usage) {
  Json out = Json::object();
  out.set("prompt_tokens", usage.prompt_tokens);
  out.set("completion_tokens", usage.completion_tokens);
  out.set("cached_tokens", usage.cached_tokens);
  return out;
}

/// The whole run: submits while the engine takes more, writes each reply when it ends.
class BatchRun {
 public:
  BatchRun(Engine& engine, const PromptMaker& prompts, const OptionValues& options, std::ostream& out)
      : engine_(engine), prompts_(prompts), options_(options), out_(out) {}

  Status run(const std::vector<Job>& jobs, const std::set<int64_t>& done) {
    InterruptGuard interrupts(SecondInterrupt::kEndsProgram);
    ProgressBar bar("Answering");
    size_t next = 0;
    size_t n_ended = done.size();
    while (next < jobs.size() || !open_.empty()) {
      for (; next < jobs.size() && open_.size() < 4 * static_cast<size_t>(engine_.options().max_seqs);
           ++next) {
        if (!done.contains(jobs[next].index)) n_ended += start(jobs[next]);
      }
      n_ended += step();
      bar.update(n_ended, jobs.size());
      if (!out_) return resource_exhausted("[batch] the output cannot be written; is the disk full?");
      if (interrupts.take()) return cancelled("[batch] interrupted; the same command goes on from here");
    }
    return ok_status();
  }

  int64_t n_errors() const { return n_errors_; }
  int64_t n_tokens() const { return n_tokens_; }

 private:
  struct Open {
    Job job;
    std::string text;
  };

  void write(const Job& job, Json fields) {
    Json line = Json::object();
    line.set("index", job.index);
    if (const Json* id = job.line.find("id")) line.set("id", *id);
    for (const auto& [key, value] : fields.members()) line.set(key, value);
    out_ << line.dump() << '\n' << std::flush;
  }

  void write_error(const Job& job, const Status& status) {
    ++n_errors_;
    Json error = Json::object();
    error.set("code", code_name(status.code()));
    error.set("message", status.message());
    Json fields = Json::object();
    fields.set("error", std::move(error));
    write(job, std::move(fields));
  }

  /// Submits a job; returns 1 if it ended at once with an error.
  size_t start(const Job& job) {
    auto request = request_of(job.line);
    if (request.ok()) {
      const auto id = engine_.submit(std::move(request).value());
      if (id.ok()) {
        open_.emplace(*id, Open{job, ""});
        return 0;
      }
      request = id.status();
    }
    write_error(job, request.status());
    return 1;
  }

  Result<GenerateRequest> request_of(const Json& line) const {
    OptionValues options = options_;
    std::vector<int32_t> ids;
    bool has_prompt = false;
    for (const auto& [key, value] : line.members()) {
      if (key == "id") continue;
      if (key == "prompt" || key == "messages") {
        if (has_prompt) return invalid_argument("give either \"prompt\" or \"messages\"");
        has_prompt = true;
        SKUA_ASSIGN_OR_RETURN(ids, prompt_ids(key, value));
        continue;
      }
      SKUA_RETURN_IF_ERROR(set_sampling(key, value, options));
    }
    if (!has_prompt) return invalid_argument("a line needs \"prompt\" (a text) or \"messages\" (a list)");
    GenerateRequest out = request_from(options);
    out.prompt_ids = std::move(ids);
    return out;
  }

  Result<std::vector<int32_t>> prompt_ids(const std::string& key, const Json& value) const {
    if (key == "messages") return prompts_.chat_ids(value, Json());
    if (!value.is_string())
      return invalid_argument("\"prompt\" must be a text, got " + value.dump().substr(0, 60));
    if (options_.flag(Opt::kRaw)) return prompts_.raw_ids(value.as_string());
    Json messages = Json::array();
    if (options_.given(Opt::kSystem)) messages.push_back(message("system", options_.text(Opt::kSystem)));
    messages.push_back(message("user", value.as_string()));
    return prompts_.chat_ids(messages, Json());
  }

  /// A key of a line that is an option of sampling, with its value.
  static Status set_sampling(const std::string& key, const Json& value, OptionValues& options) {
    constexpr Opt kAllowed[] = {
        Opt::kMaxTokens, Opt::kTemperature,       Opt::kTopK,        Opt::kTopP, Opt::kMinP,
        Opt::kSeed,      Opt::kRepetitionPenalty, Opt::kRepeatLastN, Opt::kStop};
    const OptionInfo* option = find_option(key);
    if (option == nullptr ||
        std::find(std::begin(kAllowed), std::end(kAllowed), option->id) == std::end(kAllowed)) {
      return invalid_argument("\"" + key +
                              "\" is not known; known are id, prompt, messages, max_tokens, temperature, " +
                              "top_k, top_p, min_p, seed, repetition_penalty, repeat_last_n, stop");
    }
    if (option->id == Opt::kStop) return set_stops(value, options);
    const std::string text = value.is_string() ? value.as_string() : value.dump();
    return options.set(option->id, text, OptionSource::kCommandLine, "\"" + key + "\"");
  }

  static Status set_stops(const Json& value, OptionValues& options) {
    const auto add = [&](const Json& item) {
      if (!item.is_string())
        return invalid_argument("\"stop\" must be a text or a list of texts, got " +
                                value.dump().substr(0, 60));
      return options.set(Opt::kStop, item.as_string(), OptionSource::kCommandLine, "\"stop\"");
    };
    if (!value.is_array()) return add(value);
    for (const Json& item : value.items()) SKUA_RETURN_IF_ERROR(add(item));
    return ok_status();
  }

  /// Runs a step; returns how many replies ended.
  size_t step() {
    size_t n_ended = 0;
    for (const StreamEvent& event : engine_.step()) {
      const auto found = open_.find(event.seq);
      if (found == open_.end()) continue;
      found->second.text += event.text;
      if (event.finish == FinishReason::kNone) continue;
      n_tokens_ += event.usage.completion_tokens;
      if (event.finish == FinishReason::kError) {
        write_error(found->second.job, event.status);
      } else {
        Json fields = Json::object();
        fields.set("text", found->second.text);
        fields.set("finish_reason", finish_name(event.finish));
        fields.set("usage", usage_json(event.usage));
        write(found->second.job, std::move(fields));
      }
      open_.erase(found);
      ++n_ended;
    }
    return n_ended;
  }

  Engine& engine_;
  const PromptMaker& prompts_;
  const OptionValues& options_;
  std::ostream& out_;
  std::map<SeqId, Open> open_;
  int64_t n_errors_ = 0;
  int64_t n_tokens_ = 0;
};

Result<std::string> read_input(const CommandInput& input) {
  if (input.arguments.empty() || input.arguments[0] == "-") return read_stdin();
  return read_file(input.arguments[0]);
}

}  // namespace

Exit batch_command(const CommandInput& input) {
  const OptionValues& options = input.options;
  const auto text = read_input(input);
  if (!text.ok()) return fail(text.status());
  const auto jobs = read_jobs(*text);
  if (!jobs.ok()) return fail(jobs.status());
  const std::filesystem::path path = options.text(Opt::kOutput);
  std::set<int64_t> done;
  if (!path.empty()) {
    const auto earlier = answered(path);
    if (!earlier.ok()) return fail(earlier.status());
    auto of_these = done_of(*jobs, *earlier);
    if (!of_these.ok()) return fail(of_these.status());
    done = std::move(of_these).value();
  }
  std::ofstream file;
  if (!path.empty()) {
    file.open(path, std::ios::app | std::ios::binary);
    if (!file) return fail(io_error("[batch] cannot write " + path.string()));
  }
  EngineOptions wanted = engine_options(options);
  wanted.max_seqs = static_cast<int32_t>(options.integer(Opt::kParallel));
  // Few replies fill their context: less than one each will do, and whoever finds no room waits.
  if (!options.given(Opt::kCacheTokens)) wanted.cache_tokens = wanted.max_seqs * kCacheTokensEach;
  auto engine = load_engine(options, options.text(Opt::kModel), wanted);
  if (!engine.ok()) return fail(engine.status());
  const auto prompts = PromptMaker::make((*engine)->tokenizer(), (*engine)->chat_templates(), "the model");
  if (!prompts.ok()) return fail(prompts.status());
  const auto begin = std::chrono::steady_clock::now();
  BatchRun batch(**engine, **prompts, options, path.empty() ? std::cout : file);
  Status status = batch.run(*jobs, done);
  warn_of_saturation(**engine);
  if (status.ok()) status = (*engine)->finish_trace();
  if (!status.ok())
    return fail(status, status.code() == Code::kCancelled ? Exit::kInterrupted : Exit::kError);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::fprintf(stderr, "%s (%zu answered before), %s, %s in %.1f s, %s tok/s\n",
               counted(jobs->size(), "prompt").c_str(), done.size(),
               counted(static_cast<uint64_t>(batch.n_errors()), "error").c_str(),
               counted(static_cast<uint64_t>(batch.n_tokens()), "token").c_str(), seconds,
               human_rate(static_cast<double>(batch.n_tokens()) / seconds).c_str());
  return batch.n_errors() == 0 ? Exit::kOk : Exit::kError;
}

}  // namespace skua
