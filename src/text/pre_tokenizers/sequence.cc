// Sequence: each splitter runs on what the one before it left.
#include "text/pre_tokenizers/pre_tokenizers.h"

namespace skua::text {
namespace {

class Sequence : public PreTokenizer {
 public:
  using Parts = std::vector<std::shared_ptr<const PreTokenizer>>;
  explicit Sequence(Parts parts) : parts_(std::move(parts)) {}

  Status split(Segment& segment) const override {
    for (const auto& part : parts_) SKUA_RETURN_IF_ERROR(part->split(segment));
    return ok_status();
  }

  RawBytes without_byte_spelling() const override {
    if (parts_.empty()) return {};
    RawBytes last = parts_.back()->without_byte_spelling();
    if (!last.possible) return {};
    Parts rest(parts_.begin(), parts_.end() - 1);
    if (last.rest) rest.push_back(std::move(last.rest));
    if (rest.empty()) return {true, nullptr};
    return {true, std::make_unique<Sequence>(std::move(rest))};
  }

 private:
  Parts parts_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_sequence(std::vector<std::unique_ptr<PreTokenizer>> parts) {
  Sequence::Parts shared;
  for (auto& part : parts) shared.push_back(std::move(part));
  return std::make_unique<Sequence>(std::move(shared));
}

}  // namespace skua::text
