// Finding added tokens. Source of the rules: HF tokenizers 0.23, tokenizer/added_vocabulary.rs.
#include "text/added_vocabulary.h"

#include <algorithm>

#include "text/hf_unicode.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace skua::text {
namespace {

bool touches_word(std::string_view text, size_t begin, size_t end) {
  if (begin > 0) {
    size_t pos = previous_char(text, begin);
    if (hf_is_word(next_char(text, pos))) return true;
  }
  if (end < text.size()) {
    size_t pos = end;
    if (hf_is_word(next_char(text, pos))) return true;
  }
  return false;
}

size_t skip_space_left(std::string_view text, size_t begin) {
  while (begin > 0) {
    const size_t before = previous_char(text, begin);
    size_t pos = before;
    if (!is_whitespace(next_char(text, pos))) break;
    begin = before;
  }
  return begin;
}

size_t skip_space_right(std::string_view text, size_t end) {
  while (end < text.size()) {
    size_t pos = end;
    if (!is_whitespace(next_char(text, pos))) break;
    end = pos;
  }
  return end;
}

}  // namespace

bool is_control_token(const AddedToken& token) {
  if (token.special) return true;
  const std::string& text = token.content;
  return text.size() > 2 &&
         ((text.front() == '<' && text.back() == '>') || (text.front() == '[' && text.back() == ']'));
}

void AddedVocabulary::Trie::insert(std::string_view text, uint32_t token) {
  tokens.push_back(token);
  uint32_t node = 0;
  starts[static_cast<uint8_t>(text[0])] = true;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    auto& children = nodes[node].children;
    const auto at = std::lower_bound(children.begin(), children.end(), std::pair<uint8_t, uint32_t>(byte, 0));
    if (at != children.end() && at->first == byte) {
      node = at->second;
    } else {
      const auto made = static_cast<uint32_t>(nodes.size());
      children.insert(at, {byte, made});
      nodes.emplace_back();
      node = made;
    }
  }
  nodes[node].token = static_cast<int32_t>(token);
}

int32_t AddedVocabulary::Trie::match(std::string_view text, size_t pos, size_t limit, size_t& length) const {
  int32_t found = -1;
  uint32_t node = 0;
  for (size_t i = pos; i < limit; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    const auto& children = nodes[node].children;
    const auto at = std::lower_bound(children.begin(), children.end(), std::pair<uint8_t, uint32_t>(byte, 0));
    if (at == children.end() || at->first != byte) break;
    node = at->second;
    if (nodes[node].token >= 0) {
      found = nodes[node].token;
      length = i + 1 - pos;
    }
  }
  return found;
}

Result<AddedVocabulary> AddedVocabulary::make(std::vector<AddedToken> tokens, const Normalizer* normalizer) {
  AddedVocabulary out;
  out.tokens_ = std::move(tokens);
  for (uint32_t i = 0; i < out.tokens_.size(); ++i) {
    AddedToken& token = out.tokens_[i];
    if (token.content.empty()) continue;
    out.by_id_[token.id] = i;
    out.by_content_[token.content] = i;
    out.id_limit_ = std::max(out.id_limit_, token.id + 1);
    std::string spelling = token.content;
    if (token.normalized && !token.spelled_normalized && normalizer != nullptr) {
      AlignedText text(token.content, 0, Track::kNo);
      SKUA_RETURN_IF_ERROR(normalizer->normalize(text));
      spelling = std::string(text.text());
    }
    token.shown = spelling;
    if (spelling.empty()) continue;
    auto& tries =
        out.tries_[static_cast<size_t>(token.normalized ? AddedStage::kNormalized : AddedStage::kRaw)];
    tries[static_cast<size_t>(AddedScope::kAll)].insert(spelling, i);
    if (!is_control_token(token)) tries[static_cast<size_t>(AddedScope::kPlainOnly)].insert(spelling, i);
  }
  return out;
}

std::vector<AddedSplit> AddedVocabulary::split(std::string_view text, AddedStage stage, AddedScope scope,
                                               std::span<const uint32_t> breaks) const {
  const Trie& trie = set(stage, scope);
  std::vector<AddedSplit> splits;
  size_t last = 0;
  for (size_t pos = 0; pos < text.size() && !trie.tokens.empty();) {
    size_t length = 0;
    int32_t index = -1;
    if (trie.starts[static_cast<uint8_t>(text[pos])]) {
      while (!breaks.empty() && breaks.front() <= pos) breaks = breaks.subspan(1);
      const size_t limit = breaks.empty() ? text.size() : std::min<size_t>(breaks.front(), text.size());
      index = trie.match(text, pos, limit, length);
    }
    if (index < 0) {
      ++pos;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<size_t>(index)];
    size_t begin = pos, end = pos + length;
    pos = end;
    if (token.single_word && touches_word(text, begin, end)) continue;
    if (token.lstrip) begin = std::max(skip_space_left(text, begin), last);
    if (token.rstrip) end = skip_space_right(text, end);
    if (last < begin) splits.push_back({-1, last, begin});
    splits.push_back({token.id, begin, end});
    last = end;
  }
  if (last < text.size()) splits.push_back({-1, last, text.size()});
  return splits;
}

const AddedToken* AddedVocabulary::by_id(int32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedVocabulary::by_content(std::string_view content) const {
  const auto found = by_content_.find(content);
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

}  // namespace skua::text
