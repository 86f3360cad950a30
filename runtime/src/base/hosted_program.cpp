#include "base/hosted_program.h"

#include "base/process_facts.h"
#include "sources/analysis.h"

#include <optional>
#include <utility>

namespace flor::detail {
namespace {

/// Never destroyed, since the handlers that end a session at exit still use it.
std::optional<HostedProgram>& hosted() {
  static auto* const program = new std::optional<HostedProgram>;
  return *program;
}

std::optional<HostedFailure>& failure() {
  static auto* const noted = new std::optional<HostedFailure>;
  return *noted;
}

}  // namespace

void note_failure(HostedFailure why) { failure() = std::move(why); }
const HostedFailure* noted_failure() { return failure() ? &*failure() : nullptr; }

void host_program(HostedProgram program) { hosted() = std::move(program); }

const HostedProgram* hosted_program() { return hosted() ? &*hosted() : nullptr; }

std::filesystem::path program_file() { return hosted() ? hosted()->file : executable(); }

std::filesystem::path program_to_start() { return hosted() ? hosted()->interpreter : executable(); }

bool is_source_of_program(std::string_view path) {
  return hosted() ? hosted()->is_source(path) : sources::is_source(path);
}

std::string in_words_of_program(std::string text) {
  if (!hosted()) return text;
  for (const auto& [word, own] : {std::pair("flor::with(", "attached=("),
                                  std::pair("flor::with", "attached="),
                                  std::pair("flor::", "flor.")}) {
    const std::string_view before = word;
    for (std::size_t at; (at = text.find(before)) != text.npos;) text.replace(at, before.size(), own);
  }
  return text;
}

}  // namespace flor::detail
