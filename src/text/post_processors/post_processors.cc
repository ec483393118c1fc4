// Post-processors: fixed ids around a text, and trimming of offsets.
// Source: HF tokenizers 0.23, processors/*.rs and pre_tokenizers/byte_level.rs (process_offsets).
#include "text/post_processors/post_processors.h"

#include <algorithm>

#include "text/unicode.h"
#include "text/utf8.h"

namespace skua::text {
namespace {

class TemplateProcessor : public PostProcessor {
 public:
  explicit TemplateProcessor(std::vector<TemplateItem> items) : items_(std::move(items)) {}

  void process(const PostInput& post, Encoding& encoding) const override {
    if (!post.add_special) return;
    Encoding out;
    for (const TemplateItem& item : items_) {
      const std::vector<int32_t>& ids = item.is_sequence ? encoding.ids : item.ids;
      out.ids.insert(out.ids.end(), ids.begin(), ids.end());
      if (!post.with_offsets) continue;
      if (item.is_sequence) {
        out.offsets.insert(out.offsets.end(), encoding.offsets.begin(), encoding.offsets.end());
      } else {
        out.offsets.resize(out.ids.size());
      }
    }
    encoding = std::move(out);
  }

  void added_ids(std::vector<int32_t>& ids) const override {
    for (const TemplateItem& item : items_) ids.insert(ids.end(), item.ids.begin(), item.ids.end());
  }

 private:
  std::vector<TemplateItem> items_;
};

class OffsetTrimmer : public PostProcessor {
 public:
  explicit OffsetTrimmer(PrefixSpace prefix_space) : prefix_space_(prefix_space == PrefixSpace::kYes) {}

  void process(const PostInput& post, Encoding& encoding) const override {
    if (!post.with_offsets) return;
    for (size_t i = 0; i < encoding.ids.size(); ++i) {
      const std::u32string token = to_utf32(post.spellings.spelling(encoding.ids[i]));
      trim(token, i == 0, post.input, encoding.offsets[i]);
    }
  }

  void added_ids(std::vector<int32_t>&) const override {}

 private:
  static bool is_space(char32_t c) { return c == 0x120 || is_whitespace(c); }

  void trim(const std::u32string& token, bool first, std::string_view input, TextSpan& span) const {
    size_t leading = 0, trailing = 0;
    while (leading < token.size() && is_space(token[leading])) ++leading;
    while (trailing < token.size() && is_space(token[token.size() - 1 - trailing])) ++trailing;
    // With add_prefix_space, one leading space of the first token is the one that was put there.
    if (leading == 1 && (first || span.begin == 0) && prefix_space_) leading = 0;
    for (; leading > 0 && span.begin < span.end; --leading) {
      span.begin += static_cast<uint32_t>(utf8_length(input[span.begin]));
    }
    if (trailing == 0 || (span.end < 4 * trailing && count_chars(input.substr(0, span.end)) < trailing))
      return;
    for (; trailing > 0 && span.end > span.begin; --trailing) {
      span.end = static_cast<uint32_t>(previous_char(input, span.end));
    }
  }

  bool prefix_space_;
};

class ProcessorSequence : public PostProcessor {
 public:
  explicit ProcessorSequence(std::vector<std::unique_ptr<PostProcessor>> parts) : parts_(std::move(parts)) {}
  void process(const PostInput& post, Encoding& encoding) const override {
    for (const auto& part : parts_) part->process(post, encoding);
  }
  void added_ids(std::vector<int32_t>& ids) const override {
    for (const auto& part : parts_) part->added_ids(ids);
  }

 private:
  std::vector<std::unique_ptr<PostProcessor>> parts_;
};

}  // namespace

std::unique_ptr<PostProcessor> make_template_processor(std::vector<TemplateItem> items) {
  return std::make_unique<TemplateProcessor>(std::move(items));
}
std::unique_ptr<PostProcessor> make_offset_trimmer(PrefixSpace prefix_space) {
  return std::make_unique<OffsetTrimmer>(prefix_space);
}
std::unique_ptr<PostProcessor> make_post_processor_sequence(
    std::vector<std::unique_ptr<PostProcessor>> parts) {
  return std::make_unique<ProcessorSequence>(std::move(parts));
}

}  // namespace skua::text
