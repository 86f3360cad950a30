#include "protocol/protocol.h"

#include "index/question.h"

#include <flor/store/digest.h>
#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <span>
#include <sstream>
#include <stdexcept>

namespace flor::detail {
namespace {

using Json = nlohmann::json;

/// Serializes JSON on one line. Words of a command line may have bytes that are not UTF-8; these
/// are replaced.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

[[noreturn]] void refuse(std::string_view line) {
  throw Error(
      fmt::format("flor replay and the program do not understand each other ('{}'): build "
                  "both from the same version of Flor",
                  line.substr(0, 60)));
}

/// Bytes as hexadecimal digits, so that paths in any encoding survive.
std::string to_hex(std::string_view text) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}
char nibble(char digit) {
  if (digit >= '0' && digit <= '9') return static_cast<char>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<char>(digit - 'a' + 10);
  throw std::invalid_argument("hex");
}
std::string from_hex(std::string_view hex) {
  std::string text;
  text.reserve(hex.size() / 2);
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    text += static_cast<char>(nibble(hex[i]) << 4 | nibble(hex[i + 1]));
  }
  return text;
}

/// A text as one word of a line; the '=' makes even an empty text a word.
std::string word_of(std::string_view text) { return fmt::format("={}", to_hex(text)); }
std::string text_of(std::istringstream& words) {
  std::string word;
  words >> word;
  if (!word.starts_with('=')) throw std::invalid_argument("word");
  return from_hex(std::string_view(word).substr(1));
}

/// A scalar as words. Reals are written as their bits, so that NaN and all digits survive.
std::string scalar_word(const store::Scalar& scalar) {
  if (const auto* integer = std::get_if<std::int64_t>(&scalar)) {
    return fmt::format("i {}", *integer);
  }
  if (const auto* real = std::get_if<double>(&scalar)) {
    return fmt::format("r {}", std::bit_cast<std::uint64_t>(*real));
  }
  return fmt::format("t {}", word_of(std::get<std::string>(scalar)));
}
store::Scalar read_scalar(std::istringstream& words) {
  std::string kind;
  words >> kind;
  if (kind == "t") return text_of(words);
  if (kind == "i") {
    std::int64_t integer = 0;
    words >> integer;
    return integer;
  }
  if (kind != "r") throw std::invalid_argument("scalar");
  std::uint64_t bits = 0;
  words >> bits;
  return std::bit_cast<double>(bits);
}

HandedValue decode_value(std::istringstream& words) {
  HandedValue handed;
  store::Value& value = handed.value;
  int type = 0;
  words >> handed.part >> type >> value.place.epoch >> value.place.step >> value.ordinal;
  value.type = static_cast<store::ValueType>(type);
  value.name = text_of(words);
  value.place.path = text_of(words);
  value.place.inner = text_of(words);
  value.value = read_scalar(words);
  return handed;
}

HandedObject decode_object(std::istringstream& words) {
  HandedObject object;
  int type = 0;
  std::size_t dimensions = 0;
  words >> type >> dimensions;
  object.item.type = static_cast<store::ElementType>(type);
  for (; dimensions > 0 && words; --dimensions) words >> object.item.sizes.emplace_back();
  object.item.name = text_of(words);
  const std::string content = text_of(words);
  const auto bytes = std::as_bytes(std::span(content));
  object.content.assign(bytes.begin(), bytes.end());
  object.item.bytes = object.content.size();
  return object;
}

WorkDone decode_work(const std::string& text) {
  WorkDone work;
  const Json json = Json::parse(text);
  work.restored = json.at("restored");
  work.restored_bytes = json.at("bytes");
  work.caught_up = json.at("caught_up");
  for (const auto& [name, count] : json.at("nested").items()) {
    NestedCount& nested = work.nested[from_hex(name)];
    nested.skipped = count.at(0);
    nested.executed = count.at(1);
    for (const auto& [reason, times] : count.at(2).items()) nested.why[from_hex(reason)] = times;
  }
  return work;
}

Json json_of(const std::vector<store::CheckpointName>& names) {
  Json list = Json::array();
  for (const auto& [key, digest] : names) {
    list.push_back(
        {static_cast<int>(key.kind), key.main_loop, key.iteration, to_hex(key.loop), digest.hex()});
  }
  return list;
}
std::vector<store::CheckpointName> names_of(const Json& list) {
  std::vector<store::CheckpointName> names;
  for (const Json& one : list) {
    const auto digest = store::Digest::from_hex(one.at(4).get<std::string>());
    if (!digest) throw std::invalid_argument("digest");
    names.push_back({{.kind = static_cast<store::CheckpointKind>(one.at(0).get<int>()),
                      .main_loop = one.at(1),
                      .iteration = one.at(2),
                      .loop = from_hex(one.at(3).get<std::string>())},
                     *digest});
  }
  return names;
}

ProvedStates decode_proved(std::string_view text) {
  const Json json = Json::parse(text);
  ProvedStates proved;
  for (const auto& [name, value] : json.at("environment").items()) {
    proved.environment[from_hex(name)] = from_hex(value.get<std::string>());
  }
  proved.checkpoints = names_of(json.at("checkpoints"));
  return proved;
}

store::ReplayedPart decode_done(std::istringstream& words) {
  store::ReplayedPart part;
  int verdict = 0, found = 0;
  store::ReplayResult& result = part.result;
  words >> part.part >> verdict >> found >> result.values_compared >> result.values_different >>
      result.states_compared >> result.states_different >> result.values_found >> part.seconds;
  result.verdict = static_cast<store::Verdict>(verdict);
  part.found = static_cast<store::ValueVerdict>(found);
  words.ignore(1);
  std::getline(words, result.first_difference);
  words.clear(words.rdstate() & ~(std::ios::failbit | std::ios::eofbit));
  return part;
}

}  // namespace

std::string WorkerOrder::encode() const {
  Json json = {{"run", run}, {"home", to_hex(home)}, {"no_probe", no_probe}, {"strong", strong}};
  json["probes"] = Json::array();
  for (const std::string& probe : probes) json["probes"].push_back(to_hex(probe));
  json["threads"] = instead.threads ? Json(*instead.threads) : Json();
  json["arguments"] = Json::object();
  for (const auto& [name, value] : instead.arguments) {
    json["arguments"][to_hex(name)] = to_hex(value);
  }
  json["cores"] = cores;
  json["sources"] = to_hex(sources);
  json["as_recorded"] = as_recorded;
  json["plugin"] = to_hex(plugin);
  json["plugin_digest"] = plugin_digest;
  json["hands_in"] = hands_in;
  json["alone"] = alone;
  if (!steps.empty()) json["steps"] = steps.text();
  json["in_full"] = in_full;
  if (walk.proves) json["starts"] = walk.starts;
  if (!walk.returns.empty()) json["returns"] = json_of(walk.returns);
  return dump(json);
}

WorkerOrder WorkerOrder::decode(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    WorkerOrder order;
    order.run = json.at("run");
    order.home = from_hex(json.at("home").get<std::string>());
    order.no_probe = json.at("no_probe");
    order.strong = json.at("strong");
    for (const std::string probe : json.at("probes")) order.probes.push_back(from_hex(probe));
    if (!json.at("threads").is_null()) order.instead.threads = json.at("threads").get<int>();
    const Json arguments = json.value("arguments", Json::object());
    for (const auto& [name, value] : arguments.items()) {
      order.instead.arguments[from_hex(name)] = from_hex(value.get<std::string>());
    }
    order.cores = json.at("cores").get<std::vector<int>>();
    order.sources = from_hex(json.value("sources", std::string()));
    order.as_recorded = json.value("as_recorded", false);
    order.plugin = from_hex(json.value("plugin", std::string()));
    order.plugin_digest = json.value("plugin_digest", std::string());
    order.hands_in = json.value("hands_in", false);
    order.alone = json.value("alone", false);
    const std::string steps = json.value("steps", std::string());
    if (!steps.empty()) order.steps = StepChoice::parse(steps);
    order.in_full = json.value("in_full", false);
    order.walk.proves = json.contains("starts");
    if (order.walk.proves) json.at("starts").get_to(order.walk.starts);
    if (json.contains("returns")) order.walk.returns = names_of(json.at("returns"));
    return order;
  } catch (const std::exception&) {
    refuse(line);
  }
}

std::string Position::encode() const {
  return fmt::format("next {} {} {} {}", section, main_loop, iteration,
                     reach == Reach::any ? "any" : "forward");
}

std::string print_nested(const std::map<std::string, NestedCount>& nested) {
  const auto times = [](std::int64_t count) {
    return count == 1 ? std::string("once") : fmt::format("{} times", count);
  };
  std::string text;
  for (const auto& [name, count] : nested) {
    if (count.skipped > 0) text += fmt::format("; skipped {} {}", name, times(count.skipped));
    if (count.executed == 0) continue;
    text += fmt::format("; executed {} {}", name, times(count.executed));
    std::string_view separator = ": ";
    for (const auto& [reason, number] : count.why) {
      text += separator;
      text += count.why.size() == 1 ? reason : fmt::format("{} {}", number, reason);
      separator = ", ";
    }
  }
  return text.empty() ? text : text.substr(2);
}

void WorkDone::add(const WorkDone& other) {
  for (const auto& [name, count] : other.nested) {
    nested[name].skipped += count.skipped;
    nested[name].executed += count.executed;
    for (const auto& [reason, times] : count.why) nested[name].why[reason] += times;
  }
  restored += other.restored;
  restored_bytes += other.restored_bytes;
  caught_up += other.caught_up;
}

std::string WorkDone::encode() const {
  Json json = {{"restored", restored},
               {"bytes", restored_bytes},
               {"caught_up", caught_up},
               {"nested", Json::object()}};
  for (const auto& [name, count] : nested) {
    Json why = Json::object();
    for (const auto& [reason, times] : count.why) why[to_hex(reason)] = times;
    json["nested"][to_hex(name)] = {count.skipped, count.executed, why};
  }
  return "work " + dump(json);
}

std::string encode_done(const store::ReplayedPart& part) {
  const store::ReplayResult& result = part.result;
  std::string line =
      fmt::format("done {} {} {} {} {} {} {} {} {} {}", part.part, static_cast<int>(result.verdict),
                  static_cast<int>(part.found), result.values_compared, result.values_different,
                  result.states_compared, result.states_different, result.values_found,
                  part.seconds, result.first_difference);
  std::ranges::replace(line, '\n', ' ');
  return line;
}

std::string HandedValue::encode() const {
  return fmt::format("value {} {} {} {} {} {} {} {} {}", part, static_cast<int>(value.type),
                     value.place.epoch, value.place.step, value.ordinal, word_of(value.name),
                     word_of(value.place.path), word_of(value.place.inner),
                     scalar_word(value.value));
}

std::string encode_object(const store::Item& item, std::span<const std::byte> content) {
  const std::string_view bytes(reinterpret_cast<const char*>(content.data()), content.size());
  std::string sizes;
  for (const std::int64_t size : item.sizes) sizes += fmt::format(" {}", size);
  return fmt::format("object {} {}{} {} {}", static_cast<int>(item.type), item.sizes.size(), sizes,
                     word_of(item.name), word_of(bytes));
}

std::string RestoreTime::encode() const { return fmt::format("restored {} {}", bytes, seconds); }

std::string ProvedStates::encode() const {
  Json json{{"environment", Json::object()}, {"checkpoints", json_of(checkpoints)}};
  for (const auto& [name, value] : environment) json["environment"][to_hex(name)] = to_hex(value);
  return "proved " + dump(json);
}

WorkerLine WorkerLine::decode(std::string_view text) try {
  std::istringstream words{std::string(text)};
  std::string word;
  words >> word;
  WorkerLine line;
  if (word == "hello") {
    line.kind = Kind::hello;
    words >> line.digest;
    if (words && !(words >> line.plugin_digest)) words.clear();
  } else if (word == "next") {
    line.kind = Kind::next;
    std::string reach;
    words >> line.position.section >> line.position.main_loop >> line.position.iteration >> reach;
    line.position.reach = reach == "any" ? Reach::any : Reach::forward;
  } else if (word == "done") {
    line.kind = Kind::done;
    line.part = decode_done(words);
  } else if (word == "work") {
    line.kind = Kind::work;
    line.work = decode_work(std::string(text.substr(text.find(' ') + 1)));
  } else if (word == "value") {
    line.kind = Kind::value;
    line.value = decode_value(words);
  } else if (word == "object") {
    line.kind = Kind::object;
    line.object = decode_object(words);
  } else if (word == "restored") {
    line.kind = Kind::restored;
    words >> line.restored.bytes >> line.restored.seconds;
  } else if (word == "proved") {
    line.kind = Kind::proved;
    line.proved = decode_proved(text.substr(text.find(' ') + 1));
  } else {
    refuse(text);
  }
  if (words.fail()) refuse(text);
  return line;
} catch (const Error&) {
  throw;
} catch (const std::exception&) {
  refuse(text);
}

std::string described_probes(std::vector<std::string> loops, const std::string& plugin,
                             const Instead& instead, const StepChoice& steps) {
  if (!plugin.empty()) loops.push_back(plugin.substr(plugin.rfind('/') + 1));
  if (!instead.arguments.empty()) loops.push_back(instead.shown_arguments());
  if (!steps.empty()) loops.push_back(print_steps(steps));
  return fmt::format("{}", fmt::join(loops, ","));
}

std::string question_of(const std::string& program_digest,
                        const std::vector<std::string>& arguments, const WorkerOrder& order) {
  std::vector<std::string> probes = order.probes;
  std::ranges::sort(probes);
  const std::optional<int> threads = order.instead.threads;
  std::string text = fmt::format("{}\n{}{}{}\n", program_digest, order.no_probe ? "no_probe " : "",
                                 order.strong ? "strong " : "",
                                 threads ? fmt::format("threads {}", *threads) : "");
  for (const std::string& probe : probes) text += to_hex(probe) + ",";
  text += "\n";
  for (const std::string& argument : arguments) text += to_hex(argument) + " ";
  if (!order.plugin_digest.empty()) text += "\nplug-in " + order.plugin_digest;
  for (const auto& [name, value] : order.instead.arguments) {
    text += fmt::format("\ninstead {} {}", to_hex(name), to_hex(value));
  }
  const std::string question = store::digest_of(std::as_bytes(std::span(text))).hex();
  return order.steps.empty() ? question : store::question_of_steps(question, order.steps.text());
}

}  // namespace flor::detail
