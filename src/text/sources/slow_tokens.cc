// Added tokens of checkpoints without tokenizer.json: what is listed by id, then the roles, then the rest.
#include "text/sources/slow_tokens.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "text/json_fields.h"
#include "text/sources/added_token_list.h"

namespace skua::text {
namespace {

constexpr std::string_view kConfig = "tokenizer_config.json";
constexpr std::string_view kMap = "special_tokens_map.json";
constexpr std::string_view kAdded = "added_tokens.json";
// The order in which roles are numbered when their tokens are new.
constexpr std::array<std::string_view, 7> kRoles = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                    "pad_token", "cls_token", "mask_token"};

struct Named {
  std::string role;  // empty: special, but no role
  AddedToken token;
};

Result<AddedToken> read_token(const Json& json, const std::string& where, bool special) {
  const Fields fields(json, where);
  AddedToken token;
  SKUA_ASSIGN_OR_RETURN(token.content, fields.required_string("content"));
  SKUA_ASSIGN_OR_RETURN(token.single_word, fields.boolean("single_word", false));
  SKUA_ASSIGN_OR_RETURN(token.lstrip, fields.boolean("lstrip", false));
  SKUA_ASSIGN_OR_RETURN(token.rstrip, fields.boolean("rstrip", false));
  SKUA_ASSIGN_OR_RETURN(token.special, fields.boolean("special", special));
  SKUA_ASSIGN_OR_RETURN(token.normalized, fields.boolean("normalized", !token.special));
  return token;
}

class Reader {
 public:
  Reader(const VocabMergesFiles& files, const Model& model, std::vector<std::string>& notes)
      : files_(files), list_(model, notes) {}

  Result<SlowTokens> read(const RoleDefaults& defaults) {
    const Json* decoder = files_.config.find("added_tokens_decoder");
    for (const auto& [role, text] : defaults)
      name(std::string(role), AddedToken{.content = std::string(text)});
    SKUA_RETURN_IF_ERROR(read_names(files_.config, kConfig, false));
    if (decoder == nullptr) SKUA_RETURN_IF_ERROR(read_names(files_.special_tokens_map, kMap, true));
    SKUA_RETURN_IF_ERROR(decoder != nullptr ? add_by_id(*decoder) : add_by_text());
    SKUA_RETURN_IF_ERROR(add_named());
    SlowTokens out;
    out.special.bos = id_of("bos_token");
    out.special.unk = id_of("unk_token");
    out.special.pad = id_of("pad_token");
    if (const auto eos = id_of("eos_token")) out.special.eos.push_back(*eos);
    out.added = list_.take();
    return out;
  }

 private:
  // Gives `role` to `token`, in place of what had it.
  void name(std::string role, AddedToken token) {
    const auto same = [&](const Named& other) {
      return role.empty() ? other.token.content == token.content : other.role == role;
    };
    const auto old = std::find_if(named_.begin(), named_.end(), same);
    if (old == named_.end()) {
      named_.push_back({std::move(role), std::move(token)});
    } else if (!role.empty()) {
      old->token = std::move(token);
    }
  }

  void drop(std::string_view role) {
    std::erase_if(named_, [&](const Named& named) { return named.role == role; });
  }

  Status read_name(const std::string& role, const Json& value, std::string_view file, bool special) {
    if (value.is_string()) {
      name(role, AddedToken{.content = value.as_string(), .special = true});
      return ok_status();
    }
    SKUA_ASSIGN_OR_RETURN(AddedToken token,
                          read_token(value, std::string(file) + (role.empty() ? "" : ": " + role), special));
    name(role, std::move(token));
    return ok_status();
  }

  Status read_names(const Json& json, std::string_view file, bool special) {
    if (json.is_null()) return ok_status();
    if (!json.is_object()) return invalid_argument(std::string(file) + " must hold an object");
    for (const auto& [key, value] : json.members()) {
      const bool role = std::find(kRoles.begin(), kRoles.end(), key) != kRoles.end();
      if (role && value.is_null()) {
        drop(key);
      } else if (role || (key.ends_with("_token") && value.is_string())) {
        SKUA_RETURN_IF_ERROR(read_name(key, value, file, special));
      } else if (key == "additional_special_tokens" || key == "extra_special_tokens") {
        for (const Json& item : value.items()) SKUA_RETURN_IF_ERROR(read_name("", item, file, special));
        for (const auto& [own, item] : value.members())
          SKUA_RETURN_IF_ERROR(read_name(own, item, file, special));
      }
    }
    return ok_status();
  }

  Status bad_id(std::string_view file, const std::string& what) {
    return invalid_argument(std::string(file) + ": \"" + what + "\" is no token id");
  }

  Status add_by_id(const Json& decoder) {
    if (!decoder.is_object())
      return invalid_argument(std::string(kConfig) + ": added_tokens_decoder must be an object");
    std::vector<std::pair<int64_t, const Json*>> entries;
    for (const auto& [key, value] : decoder.members()) {
      int64_t id = -1;
      const char* end = key.data() + key.size();
      if (std::from_chars(key.data(), end, id).ptr != end || key.empty() || id < 0 || id >= kIdLimit)
        return bad_id(kConfig, key);
      entries.emplace_back(id, &value);
    }
    std::sort(entries.begin(), entries.end());
    return add_entries(entries.size(), [&](size_t i) -> Result<std::pair<int64_t, AddedToken>> {
      if (i > 0 && entries[i].first == entries[i - 1].first)
        return invalid_argument(std::string(kConfig) + ": added_tokens_decoder has id " +
                                std::to_string(entries[i].first) + " twice");
      SKUA_ASSIGN_OR_RETURN(
          AddedToken token,
          read_token(*entries[i].second, std::string(kConfig) + ": added_tokens_decoder", false));
      return std::pair(entries[i].first, std::move(token));
    });
  }

  Status add_by_text() {
    const Json& added = files_.added_tokens;
    if (added.is_null()) return ok_status();
    if (!added.is_object()) return invalid_argument(std::string(kAdded) + " must hold an object");
    std::set<std::string_view> special;
    for (const Named& named : named_) special.insert(named.token.content);
    std::vector<std::pair<int64_t, std::string>> entries;
    for (const auto& [text, id] : added.members()) {
      if (id.kind() != Json::Kind::kInt || id.as_int() < 0 || id.as_int() >= kIdLimit)
        return bad_id(kAdded, text);
      entries.emplace_back(id.as_int(), text);
    }
    std::sort(entries.begin(), entries.end());
    return add_entries(entries.size(), [&](size_t i) -> Result<std::pair<int64_t, AddedToken>> {
      auto& [id, text] = entries[i];
      if (i > 0 && id == entries[i - 1].first) {
        return invalid_argument(std::string(kAdded) + ": \"" + entries[i - 1].second + "\" and \"" + text +
                                "\" have the same id " + std::to_string(id));
      }
      const bool control = special.contains(text);
      return std::pair(id, AddedToken{.content = text, .normalized = !control, .special = control});
    });
  }

  template <typename Entry>
  Status add_entries(size_t n, Entry entry) {
    for (size_t i = 0; i < n; ++i) {
      SKUA_ASSIGN_OR_RETURN(auto made, entry(i));
      SKUA_RETURN_IF_ERROR(list_.add(std::move(made.second), made.first));
    }
    return ok_status();
  }

  Status add_named() {
    const auto place = [](const Named& named) {  // roles in their order, other names, then those without
      const auto at = std::find(kRoles.begin(), kRoles.end(), named.role) - kRoles.begin();
      return named.role.empty() ? static_cast<ptrdiff_t>(kRoles.size()) + 1 : at;
    };
    std::stable_sort(named_.begin(), named_.end(),
                     [&](const Named& a, const Named& b) { return place(a) < place(b); });
    for (const Named& named : named_) {
      if (AddedToken* known = list_.find(named.token.content)) {
        known->special = true;
        continue;
      }
      AddedToken token = named.token;
      token.special = true;
      SKUA_RETURN_IF_ERROR(list_.add(std::move(token), std::nullopt));
    }
    return ok_status();
  }

  std::optional<int32_t> id_of(std::string_view role) {
    for (const Named& named : named_) {
      if (named.role != role) continue;
      const AddedToken* token = list_.find(named.token.content);
      if (token != nullptr) return token->id;
    }
    return std::nullopt;
  }

  const VocabMergesFiles& files_;
  AddedTokenList list_;
  std::vector<Named> named_;
};

}  // namespace

Result<SlowTokens> read_slow_tokens(const VocabMergesFiles& files, const RoleDefaults& defaults,
                                    const Model& model, std::vector<std::string>& notes) {
  return Reader(files, model, notes).read(defaults);
}

}  // namespace skua::text
