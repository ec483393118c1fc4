// PCRE2 behind Regex and RegexMatcher. The only file that includes its header. Syntax differences between
// Oniguruma and PCRE2 are in regex_syntax.cc.
#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <mutex>
#include <vector>

namespace skua::text {
namespace {

constexpr uint32_t kMatchLimit = 50'000'000;  // PCRE2 steps for one match
constexpr uint32_t kHeapLimitKib = 64 * 1024;
constexpr size_t kJitStackMax = 16 << 20;
constexpr size_t kMaxPatternBytes = 64 << 10;

}  // namespace

struct RegexScratch {
  pcre2_match_data* data = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_jit_stack* stack = nullptr;

  RegexScratch() : data(pcre2_match_data_create(1, nullptr)), context(pcre2_match_context_create(nullptr)) {
    pcre2_set_match_limit(context, kMatchLimit);
    pcre2_set_heap_limit(context, kHeapLimitKib);
  }
  RegexScratch(const RegexScratch&) = delete;
  RegexScratch& operator=(const RegexScratch&) = delete;
  ~RegexScratch() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    if (stack != nullptr) pcre2_jit_stack_free(stack);
  }
};

struct Regex::Code {
  std::string pattern;
  pcre2_code* code = nullptr;
  bool jit = false;
  std::mutex mutex;  // guards idle
  std::vector<std::unique_ptr<RegexScratch>> idle;
  ~Code() { pcre2_code_free(code); }
};

Regex::Regex(std::unique_ptr<Code> code) : code_(std::move(code)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

const std::string& Regex::pattern() const { return code_->pattern; }

Result<Regex> Regex::compile(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return invalid_argument("[regex] pattern of " + std::to_string(pattern.size()) + " bytes; at most 65536");
  }
  SKUA_ASSIGN_OR_RETURN(const std::string translated, translate_oniguruma(pattern));
  auto code = std::make_unique<Code>();
  code->pattern = std::string(pattern);
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context, 100);
  const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  int error = 0;
  PCRE2_SIZE offset = 0;
  code->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(), options,
                             &error, &offset, context);
  pcre2_compile_context_free(context);
  if (code->code == nullptr) {
    PCRE2_UCHAR message[256] = {};
    pcre2_get_error_message(error, message, sizeof message);
    return invalid_argument("[regex] cannot compile \"" + code->pattern +
                            "\": " + reinterpret_cast<const char*>(message));
  }
  code->jit = pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE) == 0;
  return Regex(std::move(code));
}

RegexMatcher::RegexMatcher(const Regex& regex) : code_(*regex.code_) {
  const std::lock_guard lock(code_.mutex);
  if (code_.idle.empty()) {
    scratch_ = std::make_unique<RegexScratch>();
  } else {
    scratch_ = std::move(code_.idle.back());
    code_.idle.pop_back();
  }
}

RegexMatcher::~RegexMatcher() {
  const std::lock_guard lock(code_.mutex);
  code_.idle.push_back(std::move(scratch_));
}

Result<std::optional<RegexMatch>> RegexMatcher::find(std::string_view text, size_t from) {
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const auto run = [&] {
    return code_.jit
               ? pcre2_jit_match(code_.code, subject, text.size(), from, 0, scratch_->data, scratch_->context)
               : pcre2_match(code_.code, subject, text.size(), from, PCRE2_NO_UTF_CHECK, scratch_->data,
                             scratch_->context);
  };
  int found = run();
  if (found == PCRE2_ERROR_JIT_STACKLIMIT && scratch_->stack == nullptr) {
    scratch_->stack = pcre2_jit_stack_create(64 << 10, kJitStackMax, nullptr);
    pcre2_jit_stack_assign(scratch_->context, nullptr, scratch_->stack);
    found = run();
  }
  if (found == PCRE2_ERROR_NOMATCH) return std::optional<RegexMatch>();
  if (found < 0) {
    return resource_exhausted("[regex] \"" + code_.pattern + "\" needs too many steps on this text");
  }
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(scratch_->data);
  return std::optional<RegexMatch>(RegexMatch{bounds[0], bounds[1]});
}

}  // namespace skua::text
