// Reads a config.json key by key and remembers which keys were read, so that a value nobody looked at is
// refused instead of guessed. Keeps the first error; getters return their default after it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/model.h"

namespace skua {

/// Key that parse_model adds to a config: the longest context that will be served.
constexpr std::string_view kServedContextKey = "skua_served_context";

/// Key that the loader adds to the config of a checkpoint as MLX stores it: convolutions have their taps
/// before a last dimension of 1, and what some families add to a norm's weight is in it already.
constexpr std::string_view kMlxLayoutKey = "skua_mlx_layout";

/// Key of a config that was made from GGUF metadata; only error texts look at it.
inline constexpr std::string_view kGgufConfig = "skua_from_gguf";

class ConfigReader {
 public:
  /// `config` must outlive the reader. `where` starts error texts, for example "config.json".
  explicit ConfigReader(const Json& config, std::string where = "config.json");

  /// A count that must be there, 1 <= value <= 2^31 - 1 (and <= max).
  int32_t count(std::string_view key, int64_t max = INT32_MAX);
  /// The same with a default for a missing or null key.
  int32_t count_or(std::string_view key, int32_t fallback);
  /// The same where 0 means "none" too.
  int32_t count_or_none(std::string_view key);
  /// A count that may be absent or null.
  std::optional<int32_t> maybe_count(std::string_view key);

  double number(std::string_view key);
  double number_or(std::string_view key, double fallback);
  std::optional<double> maybe_number(std::string_view key);
  double positive_or(std::string_view key, double fallback);
  /// A norm's epsilon: 0 to 1.
  float epsilon_or(std::string_view key, double fallback);
  bool flag_or(std::string_view key, bool fallback);
  std::string text_or(std::string_view key, std::string_view fallback);

  /// The raw value (nullptr if absent or null); counts as read.
  const Json* raw(std::string_view key);

  /// Ids of "eos_token_id" and the like: one number, several, or none.
  std::vector<int32_t> ids(std::string_view key);

  /// The value must be `expected` or absent; anything else is refused because it would change the maths.
  void must_be(std::string_view key, const Json& expected);

  /// Other names of a count that is read: where they are there they must say the same.
  void must_equal(std::initializer_list<std::string_view> keys, int64_t count);

  /// Whether the key is there, be it null: where the reference takes a value of its own for a missing one.
  bool says(std::string_view key) const { return config_.find(key) != nullptr; }

  /// Refuses a config that leaves one of the keys out: the reference takes a number of its own then, which is
  /// hardly the model's. Null may be said. GGUF files, whose converters leave out what is none, may lack
  /// them.
  void require(std::initializer_list<std::string_view> keys);

  /// The same for keys of which one is enough.
  void require_one(std::initializer_list<std::string_view> keys);

  /// Marks keys as known to be without influence on the maths.
  void ignore(std::initializer_list<std::string_view> keys);

  void fail(Status status);

  /// The first error, or (kStrict) the list of keys that were never read.
  Status finish(ConfigPolicy policy) const;

 private:
  Status wrong(std::string_view key, std::string_view expected) const;

  const Json& config_;
  std::string where_;
  std::set<std::string, std::less<>> seen_;
  Status status_;
  Status missing_;  // of a key that must be said; errors of values are told first
};

}  // namespace skua
