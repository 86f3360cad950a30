#include "instrument/program_files.h"

#include "base/text.h"
#include "sources/syntax/brackets.h"
#include "sources/syntax/lexer.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <set>

namespace flor::instrument {
namespace fs = std::filesystem;
namespace {

constexpr std::uintmax_t kSourceMax = 8u << 20;  // bytes; a source that people wrote is far smaller
constexpr std::size_t kFilesMax = 300;

std::vector<std::string> quoted_includes(const std::string& text) {
  std::vector<std::string> names;
  const sources::Tokens tokens = sources::lex(text);
  for (std::size_t k = 0; k + 2 < tokens.all.size(); ++k) {
    if (!tokens.all[k].starts_directive || sources::directive_name(tokens.all, k) != "include")
      continue;
    const std::string_view name = tokens.all[k + 2].text;
    if (name.size() > 2 && name.front() == '"') names.emplace_back(name.substr(1, name.size() - 2));
  }
  return names;
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

fs::path shown(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  const fs::path near = whole.lexically_relative(fs::current_path());
  return near.empty() || *near.begin() == ".." ? whole : near;
}

}  // namespace

std::string read_source(const fs::path& file) {
  std::error_code error;
  const std::string name = store::printable(file.string());
  if (!fs::exists(file, error))
    throw NotFound(fmt::format("{} is not there: name a C++ source", name));
  if (!fs::is_regular_file(file, error)) {
    throw UsageError(fmt::format("{} is no file: name a C++ source", name));
  }
  if (fs::file_size(file, error) > kSourceMax || error) {
    throw UsageError(fmt::format("{} is too large for a source: name the file with main", name));
  }
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw Error(fmt::format("cannot read {}: check its permissions", name));
  if (text.find('\0') != text.npos)
    throw UsageError(fmt::format("{} is no text: name a C++ source", name));
  return text;
}

std::vector<sources::SourceText> read_program(const std::vector<std::string>& files,
                                              const std::vector<std::string>& directories) {
  std::vector<sources::SourceText> texts;
  std::vector<fs::path> places;
  std::set<fs::path> seen;
  const auto add = [&](const fs::path& path) {
    std::error_code error;
    fs::path whole = fs::canonical(path, error);
    if (error) whole = path;
    if (!seen.insert(whole).second || texts.size() >= kFilesMax) return;
    texts.push_back({shown(path).string(), read_source(path)});
    places.push_back(path.parent_path());
  };
  for (const std::string& file : files) add(file);
  const fs::path home = fs::path(files.front()).parent_path();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::vector<fs::path> roots = {places[i], home / "include", home / ".." / "include", home};
    roots.insert(roots.end(), directories.begin(), directories.end());
    for (const std::string& name : quoted_includes(texts[i].text)) {
      for (const fs::path& root : roots) {
        const fs::path header = root / name;
        if (!is_file(header)) continue;
        add(header);
        for (const char* extension : {".cpp", ".cc", ".cxx"}) {
          for (const fs::path& folder :
               {header.parent_path(), home, home / "src", header.parent_path() / ".." / "src"}) {
            const fs::path source = folder / (header.stem().string() + extension);
            if (is_file(source)) add(source);
          }
        }
        break;
      }
    }
  }
  return texts;
}

}  // namespace flor::instrument
