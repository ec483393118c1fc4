// Makers of the post-processors, for loaders of any file format. The JSON forms are in
// load_post_processor.cc.
#pragma once

#include <memory>
#include <vector>

#include "text/components.h"

namespace skua::text {

/// One item of a template: the text's own ids, or fixed ids.
struct TemplateItem {
  bool is_sequence = false;
  std::vector<int32_t> ids;
};
std::unique_ptr<PostProcessor> make_template_processor(std::vector<TemplateItem> items);

enum class PrefixSpace : uint8_t {
  kNo,
  kYes
};  // kYes: the first token keeps one leading space in its offsets
/// Offsets lose the whitespace at both ends of a byte-level token.
std::unique_ptr<PostProcessor> make_offset_trimmer(PrefixSpace prefix_space);

std::unique_ptr<PostProcessor> make_post_processor_sequence(
    std::vector<std::unique_ptr<PostProcessor>> parts);

}  // namespace skua::text
