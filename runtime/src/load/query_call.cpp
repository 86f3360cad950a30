#include "load/query_call.h"

#include "base/notice.h"
#include "load/input_choice.h"
#include "session/pinned.h"
#include "session/runtime.h"

#include <flor/store/digest.h>
#include <flor/store/secrets.h>
#include <flor/store/used_files.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <span>
#include <utility>

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

/// From here on a run that was killed and is resumed is told the same.
void make_durable() {
  Runtime* session = runtime();
  if (!session || session->mode() != Mode::record) return;
  run_inside([&] { (void)session->find_checkpoint(false); });  // it waits for all that was logged
}

/// Says where another rank was given other rows. What each was given is durable before it looks, so
/// that the later one of two sees both.
void compare_ranks(Runtime& session, const std::string& words, const store::Digest& digest,
                   std::int64_t epoch) {
  const store::Run& run = session.run();
  if (!run.start.rank) return;
  make_durable();
  (void)session.store().catalog().follow();
  for (const store::Run& rank : session.store().catalog().ranks(run.start.rank->group)) {
    if (rank.id == run.id) continue;
    bool asked = false, equal = false;
    for (const store::UsedFile& file : store::files_of(session.store(), rank.id)) {
      if (file.kind != store::UsedKind::query || file.name != words || file.epoch != epoch)
        continue;
      asked = true;
      equal = equal || file.digest == digest;
    }
    if (!asked || equal) continue;
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
  const auto text = [&](const char* key) {
    const auto found = record.is_object() ? record.find(key) : record.end();
    return record.is_object() && found != record.end() && found->is_string()
               ? found->get<std::string>()
               : std::string();
  };
  const std::string threw = text(kThrewKey);
  if (!threw.starts_with(kStatusPrefix)) {
    throw Damaged(fmt::format("flor::query {}: the record has something else than rows", words_));
  }
  const int status = std::atoi(threw.c_str() + kStatusPrefix.size());
  throw_as(static_cast<ExitStatus>(status), text("message"));
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

void QueryCall::keep(const std::string& answer) {
  call_.keep(PinnedValue::array(kRowsName, store::ElementType::u8,
                                static_cast<std::int64_t>(answer.size()), answer.data(),
                                answer.size()));
  make_durable();
}

void QueryCall::keep_error(ExitStatus status, std::string_view message) noexcept {
  call_.keep_exception(fmt::format("{}{}", kStatusPrefix, static_cast<int>(status)), message);
  make_durable();
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
    compare_ranks(*session, words_, input.digest, input.epoch);
  });
}

}  // namespace flor::detail
