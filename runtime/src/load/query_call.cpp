#include "load/query_call.h"

#include "base/notice.h"
#include "base/text.h"
#include "load/input_choice.h"
#include "session/pinned.h"
#include "session/runtime.h"

#include <flor/store/digest.h>
#include <flor/store/secrets.h>
#include <flor/store/used_files.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <exception>
#include <map>
#include <span>
#include <utility>
#include <variant>

namespace flor::detail {
namespace {

/// The name of the array that holds an answer in the record.
constexpr std::string_view kRowsName = "rows";
constexpr std::string_view kStatusPrefix = "flor status ";
constexpr std::size_t kWordsMax = 4096, kSourcesMax = 1000;

std::string checked(std::string words) {
  if (words.size() > kWordsMax) {
    throw UsageError(
        fmt::format("flor::query: a question has at most {} bytes, and this one has {}", kWordsMax,
                    words.size()));
  }
  if (store::masked(words) == words) return words;
  throw UsageError(
      "flor::query: the question reads like a secret, which no record may hold: ask without it");
}

std::string text_in(const nlohmann::json& record, const char* key) {
  if (!record.is_object()) return {};
  const auto found = record.find(key);
  return found != record.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// An answer as it is compared with that of another rank: the content of rows, the kind of an
/// error, whose message may count runs.
std::string compared(const store::Value& answer) {
  const auto* text = std::get_if<std::string>(&answer.value);
  if (!text || answer.type == store::ValueType::tensor) return text ? *text : std::string();
  return text_in(nlohmann::json::parse(*text, nullptr, false), kThrewKey);
}

/// The answers that the run was given at this place, by their ordinals.
std::map<std::int64_t, std::string> answers_at(const store::Catalog& catalog, std::int64_t run,
                                               const std::string& words,
                                               const store::Place& place) {
  store::ValueQuery query;
  query.run = run;
  query.names = {fmt::format("{}{}{}", kPinnedPrefix, kQueryPrefix, words)};
  query.first_epoch = query.last_epoch = place.epoch;
  query.hindsight = query.evaluated = false;
  std::map<std::int64_t, std::string> answers;
  for (const store::Value& answer : catalog.values(query)) {
    if (answer.place == place) answers.emplace(answer.ordinal, compared(answer));
  }
  return answers;
}

/// Says where another rank was given another answer to the last question here. What each was given
/// is durable before it looks, so that the later one of two sees both.
void compare_ranks(Runtime& session, const std::string& words) {
  const store::Run& run = session.run();
  if (!run.start.rank) return;
  const store::Catalog& catalog = session.store().catalog();
  (void)session.store().catalog().follow();
  const store::Place place = VisitedPlaces().next(session.journal()).place;
  const auto own = answers_at(catalog, run.id, words, place);
  if (own.empty()) return;
  const auto& last = *own.rbegin();
  for (const store::Run& rank : catalog.ranks(run.start.rank->group)) {
    if (rank.id == run.id) continue;
    const auto others = answers_at(catalog, rank.id, words, place);
    const auto other = others.find(last.first);
    if (other == others.end() || other->second == last.second) continue;
    say(Level::warn, fmt::format("flor::query {}: rank {} was given other rows than rank {}, since "
                                 "a run logged something in between: name the runs, or ask where "
                                 "nothing else is recorded",
                                 words, run.start.rank->rank, rank.start.rank->rank));
  }
}

}  // namespace

QueryCall::QueryCall(std::string words)
    : words_(checked(std::move(words))), call_(fmt::format("{}{}", kQueryPrefix, words_)) {}

std::optional<std::string> QueryCall::recorded() const {
  const PinnedValue* value = call_.recorded();
  if (!value) return std::nullopt;
  if (value->form == PinnedValue::Form::array && value->item.name == kRowsName) {
    return std::string(reinterpret_cast<const char*>(value->content.data()), value->content.size());
  }
  const auto record = nlohmann::json::parse(value->text, nullptr, false);
  const std::string threw = text_in(record, kThrewKey);
  if (!threw.starts_with(kStatusPrefix)) {
    throw Damaged(fmt::format("flor::query {}: the record has something else than rows", words_));
  }
  const int status = std::atoi(threw.c_str() + kStatusPrefix.size());
  throw_as(static_cast<ExitStatus>(status), text_in(record, "message"));
}

std::vector<std::string> QueryCall::own_runs() {
  Runtime* session = runtime();
  if (!session) return {};
  const store::Run& run = session->run();
  std::vector<std::string> keys{run.key};
  if (!run.start.rank) return keys;
  for (const store::Run& rank : session->store().catalog().ranks(run.start.rank->group)) {
    if (rank.key != run.key) keys.push_back(rank.key);
  }
  return keys;
}

void QueryCall::refuse_secret(std::string_view column, std::string_view text) const {
  const bool is_plain = store::masked(text) == text;
  // A value that reads ***, since it was masked when it was logged, is no secret any more.
  if (is_plain && (store::is_masked(text) || !store::is_secret(column, text))) return;
  const std::string whose =
      column.empty() ? std::string() : fmt::format(" in the column '{}'", store::printable(column));
  throw UsageError(
      fmt::format("flor::query {}: a value{} reads like a secret, which no record may hold: ask "
                  "for other values",
                  words_, whose));
}

void QueryCall::keep(const std::string& answer) {
  call_.keep_checked(PinnedValue::array(kRowsName, store::ElementType::u8,
                                        static_cast<std::int64_t>(answer.size()), answer.data(),
                                        answer.size()));
  settle();
}

void QueryCall::keep_error(ExitStatus status, std::string_view message) noexcept {
  try {
    call_.keep_exception(fmt::format("{}{}", kStatusPrefix, static_cast<int>(status)), message);
  } catch (const std::exception&) {  // no memory for a line of text
    call_.end();
  }
  settle();
}

/// From here on a run that was killed and is resumed is told the same. A store that fails here is
/// no matter of the question, which has been answered.
void QueryCall::settle() const noexcept {
  Runtime* session = runtime();
  if (!session || session->mode() != Mode::record) return;
  try {
    run_inside([&] {
      (void)session->find_checkpoint(false);  // it waits for all that was logged
      compare_ranks(*session, words_);
    });
  } catch (const std::exception& error) {
    try {
      say(Level::warn, fmt::format("flor::query {}: the answer is not durable yet, and a run that "
                                   "is resumed may be given another: {}",
                                   words_, error.what()));
    } catch (...) {  // a lost notice is no reason to disturb the training
    }
  } catch (...) {  // as above
  }
}

void QueryCall::entered(const std::string& answer, std::int64_t rows,
                        std::vector<std::string> runs) const {
  Runtime* session = runtime();
  if (!session || session->mode() != Mode::record) return;
  run_inside([&] {
    if (runs.size() > kSourcesMax) {
      say(Level::warn, fmt::format("flor::query {}: the rows come from {} runs; the first {} are "
                                   "known as those that they come from",
                                   words_, runs.size(), kSourcesMax));
      runs.resize(kSourcesMax);
    }
    store::UsedFile input;
    input.kind = store::UsedKind::query;
    input.name = words_;
    input.bytes = answer.size();
    input.files = rows;
    input.digest = store::item_digest(std::as_bytes(std::span(answer)));
    input.epoch = epoch_of(session->journal());
    session->files().asked(input, runs);
  });
}

}  // namespace flor::detail
