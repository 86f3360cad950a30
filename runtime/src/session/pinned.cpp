#include "session/pinned.h"

#include "base/notice.h"
#include "base/text.h"
#include "session/named_iteration.h"
#include "session/runtime.h"

#include <flor/pinned.h>
#include <flor/store/error.h>
#include <flor/store/secrets.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <exception>
#include <stdexcept>
#include <utility>
#include <variant>

namespace flor::detail {
namespace {

using Form = PinnedValue::Form;

/// Longer ones are kept as arrays, apart from the rows of values.
constexpr std::size_t kTextMax = std::size_t{64} << 10;

bool is_plain_text(std::string_view text) {
  if (text.size() > kTextMax) return false;
  while (!text.empty()) {
    const store::CodePoint first = store::first_code_point(text);
    if (first.length == 0 || first.value == 0) return false;
    text.remove_prefix(first.length);
  }
  return true;
}

std::string_view bytes_of(const PinnedValue& value) {
  return {reinterpret_cast<const char*>(value.content.data()), value.content.size()};
}

/// The value as a text, in which a secret could be.
std::string readable(const PinnedValue& value) {
  switch (value.form) {
    case Form::boolean:
      return {};
    case Form::integer:
      return std::to_string(static_cast<std::int64_t>(value.bits));
    case Form::real:
      return fmt::format("{}", std::bit_cast<double>(value.bits));
    case Form::text:
    case Form::json:
      return value.text;
    case Form::array:
      break;
  }
  const bool has_letters =
      value.item.type == store::ElementType::u8 || value.item.type == store::ElementType::i8;
  return has_letters ? std::string(bytes_of(value)) : std::string();
}

void refuse_secret(const std::string& name, const PinnedValue& value) {
  const std::string text = readable(value);
  if (text.empty()) return;
  if (!store::is_secret(name, text) && store::masked(text) == text) return;
  throw UsageError(
      fmt::format("flor::pinned(\"{}\"): the value reads like a secret, which no record may hold: "
                  "pin what the program needs of it, and take the secret itself by flor::arg",
                  name));
}

std::string what_it_is(const PinnedValue& value) {
  switch (value.form) {
    case Form::boolean:
      return "a boolean";
    case Form::integer:
      return "the whole number " + std::to_string(static_cast<std::int64_t>(value.bits));
    case Form::real:
      return fmt::format("the number {}", std::bit_cast<double>(value.bits));
    case Form::text:
      return "a text";
    case Form::json:
      return "JSON";
    case Form::array:
      break;
  }
  return fmt::format("a {} of {}", value.item.name, store::to_string(value.item.type));
}

PinnedValue value_from(const store::Store& store, const store::Value& recorded) {
  using store::ValueType;
  PinnedValue value;
  if (const auto* integer = std::get_if<std::int64_t>(&recorded.value)) {
    value.bits = static_cast<std::uint64_t>(*integer);
    value.form = recorded.type == ValueType::boolean ? Form::boolean : Form::integer;
  } else if (const auto* real = std::get_if<double>(&recorded.value)) {
    value.bits = std::bit_cast<std::uint64_t>(*real);
    value.form = Form::real;
  } else if (const auto& text = std::get<std::string>(recorded.value);
             recorded.type == ValueType::tensor) {
    store::Object object = store::read_object(store, text);
    value.item = std::move(object.item);
    value.content = std::move(object.content);
    value.form = Form::array;
  } else {
    value.text = text;
    value.form = recorded.type == ValueType::text ? Form::text : Form::json;
  }
  return value;
}

void write(Journal& journal, const std::string& series, PinnedValue value) {
  using store::ValueType;
  switch (value.form) {
    case Form::boolean:
      return journal.add_number(series, ValueType::boolean, value.bits);
    case Form::integer:
      return journal.add_number(series, ValueType::integer, value.bits);
    case Form::real:
      return journal.add_number(series, ValueType::real, value.bits);
    case Form::text:
      return journal.add_text(series, ValueType::text, std::move(value.text));
    case Form::json:
      return journal.add_text(series, ValueType::json, std::move(value.text));
    case Form::array:
      return journal.add_content(series, ValueType::tensor,
                                 {std::move(value.item), std::move(value.content)});
  }
}

PinnedValue bytes_as_array(std::string_view what, const std::string& bytes) {
  return PinnedValue::array(what, store::ElementType::u8, static_cast<std::int64_t>(bytes.size()),
                            bytes.data(), bytes.size());
}

/// The class that a replay throws instead of this one.
std::string_view standard_class(const std::exception& error) {
  if (dynamic_cast<const std::invalid_argument*>(&error)) return "std::invalid_argument";
  if (dynamic_cast<const std::out_of_range*>(&error)) return "std::out_of_range";
  if (dynamic_cast<const std::logic_error*>(&error)) return "std::logic_error";
  return "std::runtime_error";
}

}  // namespace

PinnedValue PinnedValue::array(std::string_view what, store::ElementType type, std::int64_t count,
                               const void* data, std::size_t bytes) {
  PinnedValue value;
  value.form = Form::array;
  value.item = {.name = std::string(what), .type = type, .sizes = {count}, .bytes = bytes};
  const auto* first = static_cast<const std::byte*>(data);
  if (bytes > 0) value.content.assign(first, first + bytes);
  return value;
}

PinnedValue pinned_text(const std::string& text) {
  if (!is_plain_text(text)) return bytes_as_array("text", text);
  PinnedValue value;
  value.form = Form::text;
  value.text = text;
  return value;
}

PinnedValue pinned_json(const std::string& text) {
  if (!is_plain_text(text)) return bytes_as_array("json", text);
  PinnedValue value;
  value.text = text;
  return value;
}

bool text_of_pinned(const PinnedValue& value, std::string& text) {
  const bool is_array = value.form == Form::array && value.item.name == "text";
  text = is_array ? std::string(bytes_of(value)) : value.text;
  return is_array || value.form == Form::text;
}

std::string print_pinned_call(std::string_view name) {
  if (!name.starts_with(kQueryPrefix)) return fmt::format("flor::pinned(\"{}\")", name);
  return fmt::format("flor::query {}", name.substr(kQueryPrefix.size()));
}

FoundPinned PinnedValues::next(const store::Catalog& catalog, const std::vector<std::int64_t>& runs,
                               std::string_view name, Journal& journal) {
  const std::string series = std::string(kPinnedPrefix) + std::string(name);
  Series& known = series_[series];
  FoundPinned found{.here = known.places.next(journal), .value = {}};
  if (runs.empty()) return found;
  const std::int64_t epoch = found.here.place.epoch;
  if (std::exchange(known.epoch, epoch) != epoch) known.values.clear();
  const std::string place = VisitedPlaces::text(found.here.place, found.here.ordinal);
  for (const std::int64_t run : runs) {
    const auto [entry, is_new] = known.values.try_emplace(run);
    ByPlace& values = entry->second;
    if (is_new) {
      for (store::Value& value : catalog.values({.run = run,
                                 .names = {series},
                                 .first_epoch = epoch,
                                 .last_epoch = epoch,
                                 .hindsight = false,
                                 .evaluated = false})) {
        values.emplace(VisitedPlaces::text(value.place, value.ordinal), std::move(value));
      }
    }
    const auto recorded = values.find(place);
    if (recorded == values.end()) continue;
    found.value = recorded->second;
    return found;
  }
  found.tells = !std::exchange(known.told, true);
  return found;
}

PinnedCall::PinnedCall(std::string_view name) : name_(name) {
  Runtime* session = runtime();
  if (!session) return;
  pins_ = true;
  if (name.empty()) throw UsageError("flor::pinned(\"\"): a pinned value needs a name");
  const bool is_query = name.starts_with(kQueryPrefix);
  if (!session->own_thread()) {
    throw UsageError(
        fmt::format("{} was called in another thread than flor::init: call it where the loops are",
                    print_pinned_call(name)));
  }
  if (inside_pinned) {
    throw UsageError(fmt::format(
        "{} was called by the function of another pinned value, which a replay does not "
        "call: {}",
        print_pinned_call(name), is_query ? "ask before it" : "pin one of the two"));
  }
  if (named_iteration()) {
    throw UsageError(
        fmt::format("{} was called inside a flor::iteration, which is no place in a loop: {} "
                    "before it",
                    print_pinned_call(name), is_query ? "ask" : "pin the value"));
  }
  if (session->is_between_epochs()) {
    throw UsageError(
        fmt::format("{} was called by the range of a main loop, over whose elements a replay "
                    "steps: {} in the loop's body, or before the loop",
                    print_pinned_call(name), is_query ? "ask" : "pin the value"));
  }
  run_inside([&] {
    const auto recorded = session->recorded_pinned(name_);
    if (!recorded) return;
    recorded_ = value_from(session->store(), *recorded);
    write(session->journal(), std::string(kPinnedPrefix) + name_, *recorded_);
  });
}

PinnedCall::~PinnedCall() { end(); }

void PinnedCall::begin() { began_ = inside_pinned = true; }

void PinnedCall::end() noexcept {
  if (std::exchange(began_, false)) inside_pinned = false;
}

void PinnedCall::keep(PinnedValue value) {
  end();
  try {
    refuse_secret(name_, value);
  } catch (const UsageError& error) {
    keep_exception(kUsageError, error.what());
    throw;
  }
  keep_checked(std::move(value));
}

void PinnedCall::keep_checked(PinnedValue value) {
  end();
  if (std::exchange(kept_, true)) return;
  Runtime* session = runtime();  // the function may have ended it
  if (!session) return;
  const Inside inside;
  write(session->journal(), std::string(kPinnedPrefix) + name_, std::move(value));
}

void PinnedCall::keep_exception() noexcept {
  try {
    throw;
  } catch (const UsageError& error) {
    keep_exception(kUsageError, error.what());
  } catch (const std::exception& error) {
    keep_exception(standard_class(error), error.what());
  } catch (...) {
    keep_exception("std::runtime_error", "an exception of unknown type");
  }
}

void PinnedCall::keep_exception(std::string_view type, std::string_view message) noexcept {
  end();
  if (std::exchange(kept_, true)) return;
  try {
    nlohmann::ordered_json record;
    record[kThrewKey] = type;
    record["message"] = store::masked(message);
    PinnedValue value;
    value.text = record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    Runtime* session = runtime();
    if (!session) return;
    const Inside inside;
    write(session->journal(), std::string(kPinnedPrefix) + name_, std::move(value));
  } catch (const std::exception& error) {
    log_refused(name_, error.what());
  }
}

void PinnedCall::throw_again() const {
  if (recorded_->form != Form::json) return;
  const auto record = nlohmann::json::parse(recorded_->text, nullptr, false);
  if (!record.is_object() || !record.contains(kThrewKey)) return;
  const auto text = [&](const char* key) {
    const auto found = record.find(key);
    const bool is_text = found != record.end() && found->is_string();
    return is_text ? found->get<std::string>() : std::string();
  };
  const std::string message = text("message"), type = text(kThrewKey);
  if (type == kUsageError) throw UsageError(message);
  if (type == "std::invalid_argument") throw std::invalid_argument(message);
  if (type == "std::out_of_range") throw std::out_of_range(message);
  if (type == "std::logic_error") throw std::logic_error(message);
  throw std::runtime_error(message);
}

void PinnedCall::refuse_type(const std::string& now) const {
  const Runtime* session = runtime();
  throw Error(fmt::format(
      "flor::pinned(\"{}\"): run {} recorded {} here, and the program asks for {} now: give it "
      "back its type, or the new value another name",
      name_, session ? session->run().key.substr(0, 8) : std::string(), what_it_is(*recorded_),
      now));
}

}  // namespace flor::detail
