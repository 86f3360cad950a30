// Writes the corpora of the fuzz targets anew, as they are before fuzzing adds to them:
//   make_corpus DIRECTORY GOLDEN
// writes DIRECTORY/{pack,frames,events,journal,blob,safetensors,store,printed,csv,tfevents}/seed-*,
// those of events from the journals of the store GOLDEN. Not run by the tests.
#include "base/little_endian.h"
#include "database/manifest.h"
#include "database/store_impl.h"
#include "file/frames.h"
#include "imports/event_bytes.h"
#include "index/copies/run_image.h"
#include "journal/journal_reader.h"
#include "journal/run_journal.h"
#include "pack/pack_record.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace flor::store;
using Bytes = std::vector<std::byte>;

std::filesystem::path root;

void save(const std::string& target, const std::string& name, const Bytes& bytes) {
  std::filesystem::create_directories(root / target);
  std::ofstream(root / target / ("seed-" + name), std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

Bytes text(const std::string& characters) {
  Bytes bytes;
  for (const char c : characters) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

template <std::size_t Size>
Bytes bytes_of(const std::array<std::byte, Size>& array) {
  return {array.begin(), array.end()};
}

void make_packs() {
  Bytes pack = bytes_of(encode_header(PackHeader{.format = 1, .key = 0x0123456789abcdef}));
  for (std::uint32_t i = 0; i < 3; ++i) {
    const Bytes payload(10 + i, static_cast<std::byte>(i));
    RecordHeader header;
    header.raw_bytes = header.stored_bytes = static_cast<std::uint32_t>(payload.size());
    header.type = ElementType::f32;
    header.digest = digest_of(payload);
    header.uses_base = i > 0;
    header.depth = static_cast<std::uint8_t>(i);
    header.payload_checksum = checksum(payload);
    pack = pack + bytes_of(encode_header(header)) + payload;
  }
  save("pack", "whole", Bytes{std::byte{0}, std::byte{15}} + pack);
  save("pack", "sealed", Bytes{std::byte{1}, std::byte{0}} + pack);
  pack.resize(pack.size() - 30);
  save("pack", "torn", Bytes{std::byte{0}, std::byte{0}} + pack);
}

void make_frames() {
  const std::filesystem::path file = root / "journal";
  std::filesystem::remove(file);
  FrameWriter writer(Filesystem::system(), file);
  writer.append(1, text("a run begins"));
  writer.append(2, {});
  writer.append(3, Bytes(300, std::byte{7}));
  writer.append(4, text("and ends"));
  writer.flush();
  std::ifstream in(file, std::ios::binary);
  const Bytes content = text({std::istreambuf_iterator<char>(in), {}});
  std::filesystem::remove(file);
  save("frames", "whole", Bytes{std::byte{0}} + content);
  save("frames", "sealed", Bytes{std::byte{1}} + content);
  save("frames", "elsewhere", Bytes{std::byte{3}} + content);
  Bytes damaged = Bytes{std::byte{0}} + content;
  for (std::size_t i = 90; i < 110; ++i) damaged[i] = std::byte{0xEE};
  save("frames", "damaged", damaged);
}

template <typename... Events>
void save_plain(const Events&... events) {
  const auto save_one = [](const auto& event) {
    const auto kind = static_cast<int>(event.kKind);
    save("events", std::to_string(kind) + "-plain",
         Bytes{static_cast<std::byte>(kind)} + encode_event(1, event));
  };
  (save_one(events), ...);
}

/// Those that the golden store does not have.
void make_plain_events() {
  const CheckpointKey key{CheckpointKind::loop_end, 1, 2, "train"};
  const Digest digest = digest_of(Bytes(3));
  const CheckpointNames names{{key, digest}, {{}, digest}};
  const RunOrigin origin{RunOrigin::Kind::fetched, "s3://bucket", 5};
  ResumePoint point;
  point.loop = "train";
  point.kept = {"a", "b"};
  save_plain(DiscardEvent{7, names}, UndiscardEvent{names}, CollectedEvent{8, names},
             ForgetEvent{{key}}, ArchivedEvent{9}, InterruptEvent{"killed"}, ReopenEvent{},
             ResumeEvent{{1, point, "c0ffee", "00", {}}}, GapsEvent{{{1, 2, true, "full"}}},
             JoinEvent{}, CloseLaunchEvent{}, ScoreEvent{1, "loss", 0.5}, StrategyEvent{},
             RestoringEvent{"aa", 7, 0.5}, VerifyEvent{"aa", {1, 2}}, DoubtEvent{"aa", "differs"},
             OutputsEvent{"/src", "train", {"a", "b"}}, BuildCommandEvent{"/src", "train", "make"},
             OriginEvent{origin}, CopyEvent{"aa", origin, Bytes(9)}, MergeEvent{origin, Bytes(9)},
             DropEvent{});
}

/// As an element of what is a journal to the fuzz target.
Bytes in_list(EventKind kind, std::span<const std::byte> payload) {
  Bytes list{std::byte{0}, static_cast<std::byte>(kind)};
  append(list, static_cast<std::uint16_t>(payload.size()));
  return list + Bytes(payload.begin(), payload.end());
}

/// Alone, and after what the first journal of the run says.
void save_image(const std::string& name, const Bytes& payload, EventKind kind,
                const std::vector<FoundJournal>& journals) {
  if (payload.size() > UINT16_MAX) throw flor::Error("the image of a run is too large for a seed");
  save("events", std::to_string(static_cast<int>(kind)),
       Bytes{static_cast<std::byte>(kind)} + payload);
  save("journal", name, in_list(kind, payload));
  JournalReader reader(Filesystem::system(), journals.at(0).path, {});
  Bytes list;
  while (const auto event = reader.next()) list = list + in_list(event->kind, event->payload);
  save("journal", name + "-after-others", list + in_list(kind, payload));
}

/// Each kind of event once, and what every journal says as a whole.
void make_events(const std::filesystem::path& golden) {
  const Paths paths{golden};
  std::set<EventKind> kinds;
  for (const std::string& key : find_runs(paths)) {
    for (const FoundJournal& journal : find_journals(paths, key)) {
      JournalReader reader(Filesystem::system(), journal.path, {});
      Bytes list;
      while (const auto event = reader.next()) {
        const Bytes payload(event->payload.begin(), event->payload.end());
        const auto kind = static_cast<std::byte>(event->kind);
        const auto number = std::to_string(static_cast<int>(event->kind));
        if (kinds.insert(event->kind).second) save("events", number, Bytes{kind} + payload);
        list = list + in_list(event->kind, payload);
      }
      save("journal", key + "-" + std::to_string(journal.number), list);
    }
  }
}

/// Events that say all of a run at once, and journals in which they follow others.
void make_images(const std::filesystem::path& golden) {
  const std::filesystem::path copy = root / "copy-of-golden";
  std::filesystem::copy(golden, copy, std::filesystem::copy_options::recursive);
  {
    const auto store = Store::open(copy, OpenMode::existing);
    Connection& index = store->impl().database->connection;
    const Run run = store->catalog().resolve("3f1da824fe835e02");
    const RunOrigin origin{RunOrigin::Kind::fetched, "s3://bucket", 5};
    const std::int64_t later = now_us();
    save_image("copy",
               encode_event(later, CopyEvent{"", origin, image_of(index, run.id, ImageOf::all)}),
               EventKind::copy, find_journals(Paths{copy}, run.key));
    save_image("merge",
               encode_event(later, MergeEvent{origin, image_of(index, run.id, ImageOf::none)}),
               EventKind::merge, find_journals(Paths{copy}, run.key));
  }
  std::filesystem::remove_all(copy);
}

void make_blobs() {
  const Item items[] = {{"model/weight", ElementType::f32, {3, 2}, 24},
                        {"step", ElementType::i64, {}, 8},
                        {"rng", ElementType::bytes, {}, 16}};
  const std::uint32_t ids[] = {3, 1, 2};
  const std::span<const Item> alone[] = {std::span(items).first(1), std::span(items).subspan(1, 1),
                                         std::span(items).last(1)};
  const std::span<const Item> slab[] = {std::span(items).first(1), std::span(items).last(2)};
  const Bytes layout = encode_layout(alone), list = encode_ids(ids);
  save("blob", "slab", Bytes{std::byte{0}} + encode_layout(slab));
  save("blob", "layout", Bytes{std::byte{0}} + layout);
  save("blob", "ids", Bytes{std::byte{1}} + list);
  save("blob", "checkpoint",
       Bytes{std::byte{2}, static_cast<std::byte>(layout.size()), std::byte{0}} + layout + list);
  save("blob", "empty", Bytes{std::byte{0}} + encode_layout(Snapshot()));
}

void make_safetensors() {
  const auto file = [](const std::string& header, std::size_t bytes) {
    std::string length(8, '\0');
    length[0] = static_cast<char>(header.size());
    length[1] = static_cast<char>(header.size() >> 8);
    return text(length + header + std::string(bytes, 'x'));
  };
  const std::string weight = R"("w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]})";
  save("safetensors", "one", file("{" + weight + "}", 24));
  save("safetensors", "metadata",
       file(R"({"__metadata__":{"flor.items":"[\"step\",\"w\"]","flor.bytes/step":"00ff"},)" +
                weight + "}",
            24));
  save("safetensors", "complex",
       file(R"({"__metadata__":{"flor.complex/w":"c64"},)"
            R"("w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})",
            8));
  save("safetensors", "header", text(std::string("\xff\x18") + "{" + weight + "}"));
}

void make_changes() {
  const auto piece = [](unsigned kind, unsigned offset, unsigned a, unsigned b) {
    return Bytes{static_cast<std::byte>(kind),        static_cast<std::byte>(offset),
                 static_cast<std::byte>(offset >> 8), std::byte{0},
                 static_cast<std::byte>(a),           static_cast<std::byte>(b)};
  };
  save("store", "nothing", piece(2, 100, 0, 0));
  save("store", "flip", piece(2, 300, 1, 0));
  save("store", "payload", piece(6, 200, 0x40, 0));
  save("store", "codec", piece(4, 36, 2, 0));
  save("store", "length", piece(6, 44, 1, 0) + piece(7, 40, 3, 1));
  save("store", "cut", piece(0xFF, 2000, 0, 0));
}

/// Fields of a tape: head, ring, stream, marks, clocks, and the counters before them.
void make_printed() {
  const auto change = [](unsigned offset, std::uint64_t value) {
    Bytes piece{static_cast<std::byte>(offset), static_cast<std::byte>(offset >> 8),
                static_cast<std::byte>(offset >> 16)};
    piece.resize(11);
    put(std::span(piece).subspan(3), value);
    return piece;
  };
  for (int flags = 0; flags < 8; ++flags) {
    save("printed", "sound-" + std::to_string(flags), Bytes{static_cast<std::byte>(flags)});
  }
  for (const unsigned field : {0u, 8u, 16u, 24u, 32u, 40u, 48u, 56u, 64u, 72u, 80u, 88u, 96u}) {
    for (const std::uint64_t value :
         {std::uint64_t{1}, std::uint64_t{1} << 39, ~std::uint64_t{0}}) {
      save("printed",
           fmt::format("field-{}-{}", field,
                       value == 1       ? "one"
                       : value + 1 == 0 ? "all"
                                        : "much"),
           Bytes{std::byte{7}} + change(field, value));
    }
  }
}

/// The first byte says which: 0 CSV, 1 JSON lines.
void make_tables() {
  const auto table = [](std::string content) { return text(std::string(1, '\0') + content); };
  const auto lines = [](std::string content) { return text("\1" + content); };
  save("csv", "places", table("epoch,step,loss\n0,9,1.5\n1,19,nan\n"));
  save("csv", "quotes", table("a;\"b \"\"c\"\";d\r\n1;\"x\ny\";\r\n"));
  save("csv", "times", table("time,phase\n2024-05-01T12:00:00.5+02:00,val\n"));
  save("csv", "unix", table("timestamp\tx\n1714564800123\t-inf\n"));
  save("csv", "names", table("flor:output,,a,a\n1,2,3,4\n5,6\n"));
  save("csv", "objects", lines("{\"epoch\": 1, \"train\": {\"loss\": NaN, \"x\": [1, {}]}}\n"));
  save("csv", "others",
       lines("{\"step\": 3, \"a\": true}\nno\n{\"b\": -Infinity, \"c\": \"\\u00e9\"}"));
}

/// Messages, each after its length; the target makes frames of them.
void make_tfevents() {
  using flor::testing::frame;
  const auto messages = [](std::initializer_list<std::string> frames) {
    std::string all(1, '\xFF');
    for (const std::string& one : frames) {
      all += static_cast<char>(one.size() - 16);
      all += one.substr(12, one.size() - 16);
    }
    return text(all);
  };
  const std::string scalar = flor::testing::scalar(1.7e9, 3, "loss", 0.5F);
  save("tfevents", "framed", text(scalar + scalar));
  save("tfevents", "cut", text(scalar + scalar.substr(0, 20)));
  save("tfevents", "scalars", messages({scalar, scalar}));
  save("tfevents", "tensor", messages({flor::testing::tensor_scalar(1.7e9, 3, "loss", 0.5F)}));
  save("tfevents", "hparams",
       messages(
           {flor::testing::session_start(1.7e9), flor::testing::session_end(1.7e9, 2, 1.7e9)}));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  root = argv[1];
  make_packs();
  make_frames();
  make_events(argv[2]);
  make_plain_events();
  make_images(argv[2]);
  make_blobs();
  make_safetensors();
  make_changes();
  make_printed();
  make_tables();
  make_tfevents();
}
