// The functions of the core that the adapter calls.
#include "core_double.h"

namespace flor::testing {

CoreDouble& core() {
  static CoreDouble instance;
  return instance;
}

}  // namespace flor::testing

namespace flor::detail {
namespace {

using testing::core;

template <typename T>
void keep(std::string_view name, T value) noexcept {
  core().logged.emplace_back(std::string(name), std::move(value));
}

Adapter& registered() {
  static Adapter instance;
  return instance;
}

}  // namespace

std::string item_title(std::string_view item) { return std::string(item); }

bool register_adapter(Adapter adapter) {
  registered() = std::move(adapter);
  return true;
}
const Adapter& adapter() { return registered(); }

void log_refused(std::string_view name, std::string_view reason) noexcept {
  core().refused.push_back(std::string(name) + ": " + std::string(reason));
}
bool logging() noexcept { return core().logging; }

void log_boolean(std::string_view name, bool value) noexcept { keep(name, value); }
void log_integer(std::string_view name, std::int64_t value) noexcept { keep(name, value); }
void log_real(std::string_view name, double value) noexcept { keep(name, value); }
void log_text(std::string_view name, std::string_view value) noexcept {
  keep(name, std::string(value));
}
void log_json(std::string_view name, std::string_view text) noexcept {
  keep(name, std::string(text));
}
void log_content(std::string_view name, bool image, const store::Item& item,
                 std::span<const std::byte> content) noexcept {
  keep(name, testing::LoggedContent{image, item, {content.begin(), content.end()}});
}
void log_histogram(std::string_view name, std::span<const double> values, int bins) noexcept {
  keep(name, testing::LoggedHistogram{{values.begin(), values.end()}, bins});
}
void log_table(std::string_view name, const Table& table) noexcept { keep(name, table); }

}  // namespace flor::detail
