// JSON forms of the post-processors.
#include "text/json_fields.h"
#include "text/post_processors/post_processors.h"

namespace skua::text {
namespace {

using Loaded = Result<std::unique_ptr<PostProcessor>>;
constexpr int kMaxDepth = 32;

Result<int32_t> id_of(const Fields& fields, std::string_view key, const Json& json) {
  if (json.kind() != Json::Kind::kInt || json.as_int() < 0 || json.as_int() > INT32_MAX) {
    return fields.error(key, "a token id");
  }
  return static_cast<int32_t>(json.as_int());
}

// The ids of one name in special_tokens.
Result<std::vector<int32_t>> special_ids_of(const Fields& fields, const Json& table, std::string_view name) {
  const Json* entry = table.find(name);
  const Json* ids = entry == nullptr ? nullptr : entry->find("ids");
  if (ids == nullptr || !ids->is_array()) {
    return fields.error("special_tokens", "a table with the ids of \"" + std::string(name) + "\"");
  }
  std::vector<int32_t> out;
  for (const Json& id : ids->items()) {
    SKUA_ASSIGN_OR_RETURN(const int32_t value, id_of(fields, "ids", id));
    out.push_back(value);
  }
  return out;
}

Loaded load_template(const Fields& fields) {
  SKUA_ASSIGN_OR_RETURN(const Json* single, fields.array("single"));
  const Json* table = fields.find("special_tokens");
  std::vector<TemplateItem> items;
  for (const Json& piece : single->items()) {
    const Json* special = piece.find("SpecialToken");
    const Json* sequence = piece.find("Sequence");
    if (special != nullptr) {
      const Json* name = special->find("id");
      if (name == nullptr || !name->is_string() || table == nullptr) {
        return fields.error("single", "a list of SpecialToken and Sequence, with special_tokens");
      }
      SKUA_ASSIGN_OR_RETURN(auto ids, special_ids_of(fields, *table, name->as_string()));
      items.push_back({false, std::move(ids)});
    } else if (sequence != nullptr) {
      const Json* name = sequence->find("id");
      if (name == nullptr || !name->is_string() || name->as_string() != "A") {
        return fields.error("single", "a template of one text, A");
      }
      items.push_back({true, {}});
    } else {
      return fields.error("single", "a list of SpecialToken and Sequence");
    }
  }
  return make_template_processor(std::move(items));
}

// [token, id] of BertProcessing and RobertaProcessing.
Result<TemplateItem> pair_item(const Fields& fields, std::string_view key) {
  SKUA_ASSIGN_OR_RETURN(const Json* pair, fields.array(key));
  if (pair->size() != 2) return fields.error(key, "[token, id]");
  SKUA_ASSIGN_OR_RETURN(const int32_t id, id_of(fields, key, pair->items()[1]));
  return TemplateItem{false, {id}};
}

Result<PrefixSpace> prefix_space_of(const Fields& fields) {
  SKUA_ASSIGN_OR_RETURN(const bool prefix, fields.boolean("add_prefix_space", true));
  return prefix ? PrefixSpace::kYes : PrefixSpace::kNo;
}

enum class BertKind : uint8_t { kBert, kRoberta };

Loaded load_bert(const Fields& fields, BertKind kind) {
  SKUA_ASSIGN_OR_RETURN(TemplateItem sep, pair_item(fields, "sep"));
  SKUA_ASSIGN_OR_RETURN(TemplateItem cls, pair_item(fields, "cls"));
  SKUA_ASSIGN_OR_RETURN(const bool trim, fields.boolean("trim_offsets", true));
  std::vector<TemplateItem> items = {std::move(cls), {true, {}}, std::move(sep)};
  auto around = make_template_processor(std::move(items));
  if (kind == BertKind::kBert || !trim) return around;
  SKUA_ASSIGN_OR_RETURN(const PrefixSpace prefix, prefix_space_of(fields));
  std::vector<std::unique_ptr<PostProcessor>> parts;
  parts.push_back(make_offset_trimmer(prefix));
  parts.push_back(std::move(around));
  return make_post_processor_sequence(std::move(parts));
}

Loaded load_at_depth(const Json& json, int depth) {
  if (json.is_null()) return std::unique_ptr<PostProcessor>();
  if (depth > kMaxDepth) return invalid_argument("[post_processor] sequences nested too deeply");
  const Fields fields(json, "post_processor");
  SKUA_ASSIGN_OR_RETURN(const std::string type, fields.required_string("type"));
  if (type == "Sequence") {
    SKUA_ASSIGN_OR_RETURN(const Json* list, fields.array("processors"));
    std::vector<std::unique_ptr<PostProcessor>> parts;
    for (const Json& item : list->items()) {
      SKUA_ASSIGN_OR_RETURN(auto part, load_at_depth(item, depth + 1));
      if (part) parts.push_back(std::move(part));
    }
    return make_post_processor_sequence(std::move(parts));
  }
  if (type == "TemplateProcessing") return load_template(fields);
  if (type == "BertProcessing") return load_bert(fields, BertKind::kBert);
  if (type == "RobertaProcessing") return load_bert(fields, BertKind::kRoberta);
  if (type == "ByteLevel") {
    SKUA_ASSIGN_OR_RETURN(const bool trim, fields.boolean("trim_offsets", true));
    if (!trim) return std::unique_ptr<PostProcessor>();
    SKUA_ASSIGN_OR_RETURN(const PrefixSpace prefix, prefix_space_of(fields));
    return make_offset_trimmer(prefix);
  }
  return unsupported("[post_processor] unknown type \"" + type + "\"");
}

}  // namespace

Result<std::unique_ptr<PostProcessor>> load_post_processor(const Json& json) {
  return load_at_depth(json, 0);
}

}  // namespace skua::text
