// All that a home says in words, however it is packed: the journals with the images of runs in
// them, and the objects of buckets.
#pragma once

#include "base/unpack.h"
#include "file/paths.h"
#include "journal/events.h"
#include "journal/journal_reader.h"
#include "journal/run_journal.h"

#include <flor/store/error.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace flor::store {

/// The text, and what is in each frame of zstd that begins anywhere in it, and in those.
inline std::string with_unpacked(std::string_view text) {
  constexpr std::string_view kFrame = "\x28\xb5\x2f\xfd";
  std::string all(text);
  for (std::size_t at = 0; (at = text.find(kFrame, at)) != text.npos; at += kFrame.size()) {
    std::string inner;
    unpack(std::as_bytes(std::span(text.substr(at))), [&](std::span<const std::byte> piece) {
      inner.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
    if (!inner.empty()) all += '\n' + with_unpacked(inner);
  }
  return all;
}

struct JournalTexts {
  std::string text;
  std::set<EventKind> kinds;  ///< of the events that were read
};

/// Reads every event of every journal of a home.
inline JournalTexts texts_of_journals(const std::filesystem::path& home) {
  const Paths paths{home};
  JournalTexts texts;
  for (const std::string& run : find_runs(paths)) {
    for (const FoundJournal& found : find_journals(paths, run)) {
      JournalReader reader(Filesystem::system(), found.path, {});
      while (const auto event = reader.next()) {
        const auto payload = event->payload;
        texts.kinds.insert(event->kind);
        texts.text +=
            '\n' + with_unpacked({reinterpret_cast<const char*>(payload.data()), payload.size()});
        if (event->kind != EventKind::values && event->kind != EventKind::found) continue;
        for (const Value& value : decode_values(decode_event<ValuesEvent>(payload), 0)) {
          const auto* said = std::get_if<std::string>(&value.value);
          if (said) texts.text += '\n' + *said;
        }
      }
      EXPECT_TRUE(reader.damage().empty()) << found.path;
    }
  }
  return texts;
}

}  // namespace flor::store
