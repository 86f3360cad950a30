#include <flor/data/sharded_dataset.h>

#include <flor/store/error.h>

#include <ATen/ATen.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace flor {
namespace {

Example to_device(Example example, at::Device device) {
  return {example.data.to(device), example.target.to(device)};
}

Example read_picture(const ImageFolder& folder, std::size_t index) {
  const auto& [file, label] = folder.files[index];
  const Image image = load_image(file);
  const at::Tensor pixels = at::empty({image.height, image.width, 3}, at::kByte);
  std::memcpy(pixels.data_ptr(), image.pixels.data(), image.pixels.size());
  return {pixels.permute({2, 0, 1}).to(at::kFloat).div(255).contiguous(),
          at::scalar_tensor(label, at::kLong)};
}

}  // namespace

struct DistributedShardedDataset::State {
  std::size_t size;
  Read read;
  std::string fingerprint;
  ShardOptions options;
  std::vector<std::string> classes = {};

  std::vector<std::size_t> order = {};  ///< numbers of the held samples, as dealt
  std::unordered_map<std::size_t, Example> held = {};
  std::atomic<std::uint64_t> reads_beyond = 0;

  Example load(std::size_t index) const {
    Example example = read(index);
    if (options.load) example = options.load(std::move(example));
    return to_device(std::move(example), options.device);
  }

  /// The samples of this rank's lane, and those of the next lanes as far as the share reaches.
  std::vector<std::size_t> dealt(std::uint64_t world, std::uint64_t rank) const {
    const SampleOrder pool = SampleOrder::pool(size, options.shuffle, options.seed);
    const double wanted = std::ceil(options.share * static_cast<double>(size));
    const auto count = options.share > 0 ? static_cast<std::uint64_t>(wanted)
                                         : size / world + (rank < size % world ? 1 : 0);
    std::vector<std::size_t> samples;
    for (std::uint64_t next = 0; next < world && samples.size() < count; ++next) {
      const std::uint64_t lane = (rank + next) % world;
      for (std::uint64_t i = lane; i < size && samples.size() < count; i += world) {
        samples.push_back(static_cast<std::size_t>(pool[i]));
      }
    }
    return samples;
  }
};

DistributedShardedDataset::DistributedShardedDataset(std::size_t size, Read read,
                                                     std::string fingerprint, ShardOptions options)
    : state_(std::make_shared<State>(size, std::move(read), std::move(fingerprint),
                                     std::move(options))) {
  if (size == 0) throw Error("a sharded data set needs samples, but there are none");
  const double share = state_->options.share;
  if (!(share >= 0 && share <= 1)) {
    throw Error("a replica cannot hold " + std::to_string(share) +
                " of the samples: use a share above 0 and up to 1");
  }
  reshard(state_->options.world, state_->options.rank);
}

DistributedShardedDataset DistributedShardedDataset::of_images(const std::filesystem::path& root,
                                                               ShardOptions options) {
  const auto folder = std::make_shared<const ImageFolder>(find_images(root));
  DistributedShardedDataset dataset(
      folder->files.size(), [folder](std::size_t index) { return read_picture(*folder, index); },
      folder->fingerprint, std::move(options));
  dataset.state_->classes = folder->classes;
  return dataset;
}

Example DistributedShardedDataset::get(std::size_t index) {
  if (index >= state_->size) {
    throw Error("there is no sample " + std::to_string(index) + " of " +
                std::to_string(state_->size));
  }
  const auto found = state_->held.find(index);
  if (found == state_->held.end()) ++state_->reads_beyond;
  Example example = found == state_->held.end() ? state_->load(index) : found->second;
  return state_->options.get ? state_->options.get(std::move(example)) : example;
}

c10::optional<std::size_t> DistributedShardedDataset::size() const { return state_->size; }

void DistributedShardedDataset::reshard(std::uint64_t world, std::uint64_t rank) {
  if (world == 0 || rank >= world) {
    throw Error("there is no rank " + std::to_string(rank) + " among " + std::to_string(world) +
                " replicas: ranks count from 0");
  }
  std::vector<std::size_t> order = state_->dealt(world, rank);
  std::unordered_map<std::size_t, Example> held;
  for (const std::size_t index : order) {
    const auto found = state_->held.find(index);
    held.emplace(index, found != state_->held.end() ? found->second : state_->load(index));
  }
  state_->held = std::move(held);
  state_->order = std::move(order);
  state_->options.world = world;
  state_->options.rank = rank;
}

std::vector<std::size_t> DistributedShardedDataset::held() const { return state_->order; }
std::uint64_t DistributedShardedDataset::reads_beyond() const { return state_->reads_beyond; }
const std::string& DistributedShardedDataset::fingerprint() const { return state_->fingerprint; }
const std::vector<std::string>& DistributedShardedDataset::classes() const {
  return state_->classes;
}

}  // namespace flor
