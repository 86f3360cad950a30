// Fuzz target of what the process that hands on a program's output leaves when the program is dead.
// Input: a byte of flags, then pieces of eleven bytes, each a change to the file: u24 offset
// (modulo the length), a u64 that is put there.
//   bit 0: standard error has a tape of its own.
//   bit 1: more was printed than the beginning has room for;  bit 2: and than the end has.
#include "base/little_endian.h"
#include "protocol/printed_tape.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace flor::fuzz::printed_target {
namespace {

using detail::PrintedTape, store::Printed;
using ByteList = std::vector<std::byte>;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

constexpr std::uint64_t kLimit = 16 << 10;

/// As the process leaves one, of a program that printed in three epochs.
ByteList tape_of(Printed::Stream stream, std::size_t lines) {
  const auto shape = PrintedTape::shape_of(kLimit);
  const auto memory = std::make_unique<std::uint64_t[]>(PrintedTape::size_of(shape) / 8 + 1);
  auto* const tape = PrintedTape::make(reinterpret_cast<std::byte*>(memory.get()), shape, stream);
  for (std::size_t line = 0; line < lines; ++line) {
    if (line % (lines / 3 + 1) == 0)
      tape->mark(tape->position, static_cast<int>(line), "epoch", true);
    const std::string text = "epoch ends with a loss of " + std::to_string(line) + "\n";
    for (std::string_view rest = text; !rest.empty();) {
      const auto room = tape->room();
      const std::size_t count = std::min(room.size(), rest.size());
      std::memcpy(room.data(), rest.data(), count);
      tape->came(count, static_cast<std::int64_t>(line) * 200'000);
      rest.remove_prefix(count);
    }
  }
  tape->written = tape->position / 4;
  const auto* const bytes = reinterpret_cast<const std::byte*>(memory.get());
  ByteList file(bytes, bytes + tape->used());
  file.resize((file.size() + 7) / 8 * 8);
  return file;
}

ByteList make_file(unsigned flags) {
  const std::size_t lines = (flags & 4) != 0 ? 3000 : (flags & 2) != 0 ? 500 : 20;
  const bool apart = (flags & 1) != 0;
  ByteList file = tape_of(apart ? Printed::Stream::out : Printed::Stream::both, lines);
  if (!apart) return file;
  const ByteList other = tape_of(Printed::Stream::error, 20);
  file.insert(file.end(), other.begin(), other.end());
  return file;
}

/// Made once for each of the flags, since that takes longer than all else.
const ByteList& file_of(unsigned flags) {
  static std::array<ByteList, 8> files;
  ByteList& file = files[flags % files.size()];
  if (file.empty()) file = make_file(flags);
  return file;
}

struct Place {
  Place() {
    std::string name = (std::filesystem::temp_directory_path() / "flor-fuzz-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr, "no temporary directory");
    path = name;
  }
  ~Place() {
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }
  std::filesystem::path path;
};

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  static const Place place;
  if (size == 0) return 0;
  ByteList content = file_of(data[0]);
  constexpr std::size_t kPiece = 11;
  for (auto rest = std::as_bytes(std::span(data, size)).subspan(1); rest.size() >= kPiece;
       rest = rest.subspan(kPiece)) {
    const std::size_t offset =
        store::get<std::uint16_t>(rest) + 65536 * std::to_integer<std::size_t>(rest[2]);
    std::ranges::copy(rest.subspan(3, 8),
                      content.begin() + static_cast<std::ptrdiff_t>(offset % (content.size() - 8)));
  }
  const std::filesystem::path file = place.path / "output";
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(content.data()),
             static_cast<std::streamsize>(content.size()));
  std::vector<Printed> pieces = detail::read_printed_rest(file);
  std::size_t bytes = 0;
  for (const Printed& piece : pieces) {
    require(!piece.text.empty(), "a piece without text");
    if (piece.stream != Printed::Stream::gap) bytes += piece.text.size();
  }
  require(bytes <= content.size(), "more text than the file has");
  require(size > kPiece || !pieces.empty(), "an honest file was not read");
  detail::number_printed(pieces, 7);
  for (Printed& piece : pieces) store::value_of(std::move(piece));
  return 0;
}

}  // namespace flor::fuzz::printed_target
