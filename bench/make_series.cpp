// Trains five small models and writes their whole state at regular intervals, as material for
// store_ratio and others. Usage: make_series [--gradients] OUT [SERIES...], where --gradients
// includes the gradients at each checkpoint. Digits and text come from $FLOR_TEST_DATA
// (mnist/t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, tinyshakespeare.txt; unzipped), and are
// made by code if they are not there.
//
// OUT/SERIES/layout has a line "name type bytes" for each tensor. Each of OUT/SERIES/000.raw,
// 001.raw, ... has the tensors of one checkpoint, one after the other.
#include <ATen/core/ivalue.h>
#include <fmt/core.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace nn = torch::nn;
using torch::Tensor;
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// The key of a parameter's state: a text in libtorch 1, the pointer itself in libtorch 2.
template <typename Optimizer>
auto key_of(c10::TensorImpl* parameter, Optimizer& optimizer) {
  using Key = std::decay_t<decltype(optimizer.state())>::key_type;
  if constexpr (std::is_same_v<Key, std::string>) {
    std::ostringstream key;
    key << parameter;
    return key.str();
  } else {
    return static_cast<Key>(parameter);
  }
}

// ---- material -----------------------------------------------------------------------------------

std::string read_file(const std::string& name) {
  const char* directory = std::getenv("FLOR_TEST_DATA");
  if (directory == nullptr) return {};
  std::ifstream file(fs::path(directory) / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Digits {
  Tensor images;  ///< n x 1 x 28 x 28, 0 to 1
  Tensor labels;
};

// Ten blurred random glyphs, shifted and with noise: about as hard to learn as real digits.
Digits made_digits(std::int64_t count) {
  const Tensor glyphs = torch::avg_pool2d(torch::rand({10, 1, 30, 30}), 3, 1).gt(0.52);
  const Tensor labels = torch::randint(10, {count}, torch::kLong);
  Tensor images = glyphs.to(torch::kFloat).index_select(0, labels);
  for (std::int64_t i = 0; i < count; ++i) images[i] = images[i].roll({i % 5, i % 3}, {1, 2});
  return {(images + 0.3 * torch::randn_like(images)).clamp(0, 1), labels};
}

Digits digits() {
  const std::string images = read_file("mnist/t10k-images-idx3-ubyte");
  const std::string labels = read_file("mnist/t10k-labels-idx1-ubyte");
  const auto count = static_cast<std::int64_t>(labels.size()) - 8;
  if (count <= 0 || images.size() != 16 + static_cast<std::size_t>(count) * 784) {
    fmt::print("no digits in $FLOR_TEST_DATA: making some up\n");
    return made_digits(10000);
  }
  std::string pixels = images.substr(16);
  std::string classes = labels.substr(8);
  return {torch::from_blob(pixels.data(), {count, 1, 28, 28}, torch::kByte).to(torch::kFloat) / 255,
          torch::from_blob(classes.data(), {count}, torch::kByte).to(torch::kLong)};
}

Tensor text() {
  std::string content = read_file("tinyshakespeare.txt");
  if (content.empty()) {
    fmt::print("no text in $FLOR_TEST_DATA: making some up\n");
    const std::vector<std::string> words = {"the ",   "king ", "and ",   "his ",
                                            "fool, ", "went ", "forth ", "to ",
                                            "war.\n", "alas ", "o ",     "sleep "};
    const Tensor order = torch::randint(static_cast<std::int64_t>(words.size()), {100000});
    for (std::int64_t i = 0; i < order.size(0); ++i) {
      content += words[static_cast<std::size_t>(order[i].item<std::int64_t>())];
    }
  }
  const auto size = static_cast<std::int64_t>(content.size());
  return torch::from_blob(content.data(), {size}, torch::kByte).to(torch::kLong).remainder(128);
}

// ---- checkpoints --------------------------------------------------------------------------------

class SeriesWriter {
 public:
  SeriesWriter(const fs::path& out, const std::string& series) : directory_(out / series) {
    fs::create_directories(directory_);
  }

  void write(const NamedTensors& state) {
    if (number_ == 0) {
      std::ofstream layout(directory_ / "layout");
      for (const auto& [name, tensor] : state) {
        layout << name << ' ' << (tensor.scalar_type() == torch::kBFloat16 ? "bf16" : "f32") << ' '
               << tensor.nbytes() << '\n';
      }
    }
    std::ofstream file(directory_ / fmt::format("{:03}.raw", number_++), std::ios::binary);
    for (const auto& [name, tensor] : state) {
      const Tensor flat = tensor.contiguous();
      file.write(static_cast<const char*>(flat.data_ptr()),
                 static_cast<std::streamsize>(flat.nbytes()));
    }
    if (!file.flush()) throw std::runtime_error("cannot write to " + directory_.string());
  }

 private:
  fs::path directory_;
  int number_ = 0;
};

bool with_gradients = false;

NamedTensors state_of(const nn::Module& model, torch::optim::Optimizer& optimizer) {
  torch::NoGradGuard no_grad;
  NamedTensors state;
  for (const auto& item : model.named_buffers()) {
    if (item.value().is_floating_point()) state.emplace_back(item.key(), item.value().detach());
  }
  for (const auto& item : model.named_parameters()) {
    state.emplace_back(item.key(), item.value().detach());
    if (with_gradients && item.value().grad().defined()) {
      state.emplace_back(item.key() + ".grad", item.value().grad());
    }
    if (!item.value().requires_grad()) continue;
    const auto found = optimizer.state().find(key_of(item.value().unsafeGetTensorImpl(), optimizer));
    const auto zeros = [&] { return torch::zeros_like(item.value()); };
    if (dynamic_cast<torch::optim::SGD*>(&optimizer) != nullptr) {
      const auto* sgd = found == optimizer.state().end()
                            ? nullptr
                            : static_cast<torch::optim::SGDParamState*>(found->second.get());
      state.emplace_back(item.key() + ".momentum",
                         sgd == nullptr ? zeros() : sgd->momentum_buffer());
      continue;
    }
    // AdamParamState and AdamWParamState differ in name only.
    Tensor first = zeros();
    Tensor second = zeros();
    if (found != optimizer.state().end()) {
      if (auto* adam = dynamic_cast<torch::optim::AdamParamState*>(found->second.get())) {
        first = adam->exp_avg();
        second = adam->exp_avg_sq();
      } else if (auto* adamw = dynamic_cast<torch::optim::AdamWParamState*>(found->second.get())) {
        first = adamw->exp_avg();
        second = adamw->exp_avg_sq();
      }
    }
    state.emplace_back(item.key() + ".m", first);
    state.emplace_back(item.key() + ".v", second);
  }
  return state;
}

// ---- models -------------------------------------------------------------------------------------

struct BlockImpl : nn::Module {
  BlockImpl(std::int64_t width, std::int64_t heads)
      : heads_(heads),
        norm1(register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({width})))),
        norm2(register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({width})))),
        qkv(register_module("qkv", nn::Linear(width, 3 * width))),
        project(register_module("project", nn::Linear(width, width))),
        up(register_module("up", nn::Linear(width, 4 * width))),
        down(register_module("down", nn::Linear(4 * width, width))) {}

  Tensor forward(const Tensor& in) {
    const auto batch = in.size(0);
    const auto length = in.size(1);
    const auto width = in.size(2);
    const auto parts =
        qkv(norm1(in)).view({batch, length, 3, heads_, width / heads_}).permute({2, 0, 3, 1, 4});
    Tensor scores = parts[0].matmul(parts[1].transpose(-2, -1)) /
                    std::sqrt(static_cast<double>(width / heads_));
    const Tensor future = torch::ones({length, length}, torch::kBool).triu(1);
    scores = scores.masked_fill(future, -1e9).softmax(-1);
    const Tensor mixed = scores.matmul(parts[2]).transpose(1, 2).reshape({batch, length, width});
    const Tensor middle = in + project(mixed);
    return middle + down(torch::gelu(up(norm2(middle))));
  }

  std::int64_t heads_;
  nn::LayerNorm norm1, norm2;
  nn::Linear qkv, project, up, down;
};
TORCH_MODULE(Block);

struct CharModelImpl : nn::Module {
  static constexpr std::int64_t kLength = 64;
  static constexpr std::int64_t kWidth = 160;
  static constexpr int kBlocks = 8;

  CharModelImpl()
      : characters(register_module("characters", nn::Embedding(128, kWidth))),
        positions(register_parameter("positions", 0.02 * torch::randn({kLength, kWidth}))),
        blocks(register_module("blocks", nn::Sequential())),
        norm(register_module("norm", nn::LayerNorm(nn::LayerNormOptions({kWidth})))),
        head(register_module("head", nn::Linear(kWidth, 128))) {
    for (int i = 0; i < kBlocks; ++i) blocks->push_back(Block(kWidth, 5));
  }

  Tensor forward(const Tensor& input) {
    return head(norm(blocks->forward(characters(input) + positions)));
  }

  Tensor loss(const Tensor& content, std::int64_t batch) {
    const Tensor starts = torch::randint(content.size(0) - kLength - 1, {batch, 1});
    const Tensor at = starts + torch::arange(kLength + 1);
    const Tensor window = content.index({at});
    const Tensor guess = forward(window.slice(1, 0, kLength));
    return nn::functional::cross_entropy(guess.reshape({-1, 128}),
                                         window.slice(1, 1).reshape({-1}));
  }

  nn::Embedding characters;
  Tensor positions;
  nn::Sequential blocks;
  nn::LayerNorm norm;
  nn::Linear head;
};
TORCH_MODULE(CharModel);

struct ResidualImpl : nn::Module {
  ResidualImpl(std::int64_t in, std::int64_t out, std::int64_t stride)
      : conv1(register_module("conv1", conv(in, out, 3, stride))),
        conv2(register_module("conv2", conv(out, out, 3, 1))),
        shortcut(register_module("shortcut", conv(in, out, 1, stride))),
        norm1(register_module("norm1", nn::BatchNorm2d(out))),
        norm2(register_module("norm2", nn::BatchNorm2d(out))) {}

  static nn::Conv2d conv(std::int64_t in, std::int64_t out, std::int64_t size,
                         std::int64_t stride) {
    return nn::Conv2d(
        nn::Conv2dOptions(in, out, size).stride(stride).padding(size / 2).bias(false));
  }

  Tensor forward(const Tensor& in) {
    return torch::relu(norm2(conv2(torch::relu(norm1(conv1(in))))) + shortcut(in));
  }

  nn::Conv2d conv1, conv2, shortcut;
  nn::BatchNorm2d norm1, norm2;
};
TORCH_MODULE(Residual);

nn::Sequential mlp() {
  return nn::Sequential(nn::Flatten(), nn::Linear(784, 1024), nn::ReLU(), nn::Linear(1024, 1024),
                        nn::ReLU(), nn::Linear(1024, 512), nn::ReLU(), nn::Linear(512, 10));
}

nn::Sequential convnet() {
  return nn::Sequential(Residual(1, 32, 2), Residual(32, 64, 2), Residual(64, 128, 2),
                        Residual(128, 256, 1), nn::AdaptiveAvgPool2d(1), nn::Flatten(),
                        nn::Linear(256, 10));
}

// ---- training -----------------------------------------------------------------------------------

void set_rate(torch::optim::Optimizer& optimizer, double rate) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(rate);
}

double cosine(double peak, int step, int steps) {
  const double warm = std::min(1.0, (step + 1) / 50.0);
  return warm * peak * (0.55 + 0.45 * std::cos(M_PI * step / steps));
}

struct Plan {
  int checkpoints;
  int steps_between;
};

void train(
    torch::optim::Optimizer& optimizer, const Plan& plan, double cosine_peak,
    const std::function<Tensor()>& loss_of_next_batch, const std::function<void()>& dump,
    const std::function<void()>& after_step = [] {}) {
  const int steps = plan.checkpoints * plan.steps_between;
  for (int step = 0; step < steps; ++step) {
    if (cosine_peak > 0) set_rate(optimizer, cosine(cosine_peak, step, steps));
    optimizer.zero_grad();
    const Tensor loss = loss_of_next_batch();
    loss.backward();
    optimizer.step();
    after_step();
    if ((step + 1) % plan.steps_between == 0) {
      fmt::print("  step {} loss {:.3f}\n", step + 1, loss.item<double>());
      std::fflush(stdout);
      dump();
    }
  }
}

void train_digits(SeriesWriter& writer, nn::Sequential model, torch::optim::Optimizer& optimizer,
                  std::int64_t batch, const Plan& plan, double cosine_peak) {
  const Digits data = digits();
  Tensor order;
  std::int64_t at = 0;
  const auto next = [&] {
    if (!order.defined() || at + batch > order.size(0)) {
      order = torch::randperm(data.labels.size(0));
      at = 0;
    }
    const Tensor chosen = order.slice(0, at, at + batch);
    at += batch;
    return nn::functional::cross_entropy(model->forward(data.images.index_select(0, chosen)),
                                         data.labels.index_select(0, chosen));
  };
  train(optimizer, plan, cosine_peak, next, [&] { writer.write(state_of(*model, optimizer)); });
}

void mlp_adam(SeriesWriter& writer) {
  nn::Sequential model = mlp();
  torch::optim::Adam optimizer(model->parameters(), 1e-3);
  train_digits(writer, model, optimizer, 64, {10, 157}, 0);
}

void conv_sgd(SeriesWriter& writer) {
  nn::Sequential model = convnet();
  torch::optim::SGD optimizer(model->parameters(),
                              torch::optim::SGDOptions(0.05).momentum(0.9).weight_decay(5e-4));
  train_digits(writer, model, optimizer, 64, {10, 79}, 0.05);
}

torch::optim::AdamWOptions adamw_options() {
  return torch::optim::AdamWOptions(1e-3).betas({0.9, 0.95}).weight_decay(0.1);
}

void lm_adamw(SeriesWriter& writer) {
  const Tensor content = text();
  CharModel model;
  torch::optim::AdamW optimizer(model->parameters(), adamw_options());
  train(
      optimizer, {9, 150}, 1e-3, [&] { return model->loss(content, 8); },
      [&] { writer.write(state_of(*model, optimizer)); });
}

// Trains everything for a short time, then only the last block and the head.
void ft_frozen(SeriesWriter& writer) {
  const Tensor content = text();
  CharModel model;
  torch::optim::AdamW everything(model->parameters(), adamw_options());
  train(everything, {1, 200}, 1e-3, [&] { return model->loss(content, 8); }, [] {});
  for (auto& parameter : model->parameters()) parameter.set_requires_grad(false);
  std::vector<Tensor> trained = model->head->parameters();
  for (auto& parameter : model->blocks->children().back()->parameters()) {
    trained.push_back(parameter);
  }
  for (auto& parameter : trained) parameter.set_requires_grad(true);
  torch::optim::AdamW optimizer(trained, adamw_options());
  train(
      optimizer, {9, 60}, 3e-4, [&] { return model->loss(content, 8); },
      [&] { writer.write(state_of(*model, optimizer)); });
}

// Weights and moments are bf16: they are rounded after each step, which is computed in f32.
void lm_bf16(SeriesWriter& writer) {
  const Tensor content = text();
  CharModel model;
  torch::optim::AdamW optimizer(model->parameters(), adamw_options());
  const auto round = [&] {
    torch::NoGradGuard no_grad;
    for (auto& [name, tensor] : state_of(*model, optimizer)) {
      tensor.copy_(tensor.to(torch::kBFloat16).to(torch::kFloat));
    }
  };
  const auto dump = [&] {
    NamedTensors state = state_of(*model, optimizer);
    for (auto& [name, tensor] : state) tensor = tensor.to(torch::kBFloat16);
    writer.write(state);
  };
  train(optimizer, {8, 150}, 1e-3, [&] { return model->loss(content, 8); }, dump, round);
}

}  // namespace

int main(int argc, char** argv) {
  with_gradients = argc > 1 && std::string(argv[1]) == "--gradients";
  argv += with_gradients ? 1 : 0;
  argc -= with_gradients ? 1 : 0;
  if (argc < 2) {
    fmt::print(stderr, "usage: make_series [--gradients] OUT [SERIES...]\n");
    return 2;
  }
  const std::map<std::string, std::function<void(SeriesWriter&)>> all = {
      {"mlp_adam", mlp_adam},   {"conv_sgd", conv_sgd}, {"lm_adamw", lm_adamw},
      {"ft_frozen", ft_frozen}, {"lm_bf16", lm_bf16},
  };
  std::vector<std::string> wanted(argv + 2, argv + argc);
  if (wanted.empty()) {
    for (const auto& [name, make] : all) wanted.push_back(name);
  }
  for (const std::string& name : wanted) {
    const auto found = all.find(name);
    if (found == all.end()) {
      fmt::print(stderr, "make_series: no series is called {}\n", name);
      return 2;
    }
    fmt::print("{}\n", name);
    torch::manual_seed(1);
    SeriesWriter writer(argv[1], name);
    found->second(writer);
  }
  return 0;
}
