// Messages of hostile making through templates that do much with them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "text/chat_template.h"

namespace {

constexpr std::array<std::string_view, 3> kSources = {
    R"({%- for m in messages %}{%- if m.content is string %}<|{{ m.role }}|>{{ m.content.split('</think>')[-1]|trim }}
{%- elif m.content is iterable %}{% for p in m.content %}{{ p.text if p.type == 'text' else p|tojson }}{% endfor %}
{%- else %}{{ m|tojson(indent=2) }}{% endif %}{% for c in m.tool_calls %}{{ c.function.name }}{{ c.function.arguments|tojson }}{% endfor %}{% endfor %})",
    R"({{ messages|tojson(ensure_ascii=true, sort_keys=true) }}{{ messages|map(attribute='role')|join(',') }}{{ messages[::-1] }})",
    R"({% for k, v in x.items() %}{{ k }}={{ v|string|upper|indent(2) }}{{ '%s %r' % (k, v) }}{{ '{:>9}'.format(k) }}{% endfor %}
{{ x|dictsort }}{{ x|pprint }}{{ messages|pprint }}{{ messages|selectattr('role', 'equalto', 'user')|list|length }}{{ y|sort|unique|list }}{{ y|sum }}{{ y[0] + y[1] }}{{ z[1:3] ~ z|title }})"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto templates = [] {
    std::array<skua::Result<skua::ChatTemplate>, 3> out = {skua::ChatTemplate::parse(kSources[0]),
                                                           skua::ChatTemplate::parse(kSources[1]),
                                                           skua::ChatTemplate::parse(kSources[2])};
    return out;
  }();
  const auto variables = skua::parse_json(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!variables.ok()) return 0;
  skua::RenderOptions options;
  options.max_steps = 100'000;
  options.max_bytes = 16 << 20;
  for (const auto& parsed : templates) {
    SKUA_CHECK(parsed.ok());
    (void)parsed->render(*variables, options);
  }
  return 0;
}
