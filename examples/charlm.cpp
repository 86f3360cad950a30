// A small transformer that learns to write text byte by byte. Its batches start at random places of
// the text, and each epoch ends with a text sampled from the model. Both draw random numbers, and a
// replay draws the same ones.
//
// `--data FILE` trains on your own text; without it, a grammar makes sentences to train on.
#include "data.h"

#include <flor/flor.h>
#include <flor/torch.h>

#include <torch/torch.h>

#include <cstdio>
#include <string>

namespace {

namespace nn = torch::nn;

constexpr int kContext = 64;  // number of bytes that the model sees
constexpr int kBytes = 256;

struct CharModelImpl : nn::Module {
  CharModelImpl(int width, int layers)
      : embedding(register_module("embedding", nn::Embedding(kBytes, width))),
        position(register_parameter("position", 0.02 * torch::randn({kContext, 1, width}))),
        encoder(register_module(
            "encoder",
            nn::TransformerEncoder(nn::TransformerEncoderOptions(
                nn::TransformerEncoderLayerOptions(width, 4).dim_feedforward(4 * width), layers)))),
        head(register_module("head", nn::Linear(width, kBytes))) {}

  /// `bytes`: [time, batch]. Returns [time, batch, kBytes]: scores for each value of the next byte.
  torch::Tensor forward(const torch::Tensor& bytes) {
    const auto time = bytes.size(0);
    const auto x = embedding(bytes) + position.slice(0, 0, time);
    return head(encoder(x, nn::TransformerImpl::generate_square_subsequent_mask(time)));
  }

  nn::Embedding embedding;
  torch::Tensor position;
  nn::TransformerEncoder encoder;
  nn::Linear head;
};
TORCH_MODULE(CharModel);

/// Returns `batch` windows of kContext + 1 bytes at random places of the text, as [time, batch].
torch::Tensor random_windows(const torch::Tensor& text, std::int64_t batch) {
  const auto start = torch::randint(text.size(0) - kContext, {batch}, torch::kLong);
  return text.index({start + torch::arange(kContext + 1).unsqueeze(1)});
}

torch::Tensor loss_of(CharModel& model, const torch::Tensor& windows) {
  const auto scores = model(windows.slice(0, 0, kContext));
  return nn::functional::cross_entropy(scores.reshape({-1, kBytes}),
                                       windows.slice(0, 1).reshape(-1));
}

/// Returns `length` bytes that the model writes after a line break.
std::string sample(CharModel& model, int length) {
  const torch::NoGradGuard no_grad;
  auto bytes = torch::full({1, 1}, '\n', torch::kLong);
  std::string text;
  for (int i = 0; i < length; ++i) {
    const auto scores = model(bytes.slice(0, -kContext))[-1][0];
    const auto next = torch::multinomial(scores.softmax(0), 1);
    bytes = torch::cat({bytes, next.unsqueeze(1)});
    text.push_back(static_cast<char>(next.item<std::int64_t>()));
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const auto session = flor::init(argc, argv);
  const auto text = examples::load_text(examples::data_option(argc, argv));
  const auto held_out = text.size(0) / 10;  // the last tenth is for validation
  const auto train = text.slice(0, 0, -held_out), validation = text.slice(0, -held_out);

  torch::manual_seed(flor::arg("seed", 1));
  CharModel model(flor::arg("width", 64), flor::arg("layers", 2));
  torch::optim::AdamW optimizer(model->parameters(), flor::arg("lr", 2e-3));
  const auto state = flor::checkpoints(model, optimizer);

  const auto epochs = flor::arg("epochs", 5), steps = flor::arg("steps", 80);
  const auto batch = flor::arg("batch", 16);
  for (int epoch : flor::loop("epoch", epochs)) {
    model->train();
    for ([[maybe_unused]] int step : flor::loop("train", steps)) {
      optimizer.zero_grad();
      const auto loss = loss_of(model, random_windows(train, batch));
      loss.backward();
      nn::utils::clip_grad_norm_(model->parameters(), 1.0);
      optimizer.step();
      flor::log("loss", loss);
    }
    model->eval();
    const torch::NoGradGuard no_grad;
    const double loss = loss_of(model, random_windows(validation, 64)).item<double>();
    std::printf("epoch %d: validation loss %.4f\n%s\n", epoch, flor::log("validation_loss", loss),
                flor::log("sample", sample(model, 80)).c_str());
  }
}
