// Two networks with an optimizer each; a tensor that the loop leaves behind, and a counter over all
// epochs.
#include <torch/torch.h>
#include <cstdio>
#include <iostream>
#include <tuple>

using namespace torch;

const int64_t kNoise = 4;
const int64_t kBatchSize = 16;

nn::Sequential create_discriminator() {
  return nn::Sequential(
      nn::Linear(8, 16), nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2)),
      nn::BatchNorm1d(16), nn::Linear(16, 1), nn::Sigmoid());
}

int main(int argc, const char* argv[]) {
  torch::manual_seed(argc > 5 ? std::atoi(argv[1]) : 1);
  torch::Device device(torch::kCPU);

  nn::Sequential generator(nn::Linear(kNoise, 16), nn::ReLU(), nn::Linear(16, 8), nn::Tanh());
  generator->to(device);
  nn::Sequential discriminator = create_discriminator();
  discriminator->to(device);

  torch::optim::Adam generator_optimizer(
      generator->parameters(), torch::optim::AdamOptions(2e-3).betas(std::make_tuple(0.5, 0.5)));
  torch::optim::Adam discriminator_optimizer(
      discriminator->parameters(), torch::optim::AdamOptions(2e-3).betas(std::make_tuple(0.5, 0.5)));

  const int64_t epochs = 4;
  int64_t checkpoint_counter = 1;
  for (int64_t epoch = 1; epoch <= epochs; ++epoch) {
    torch::Tensor fake_images;
    int64_t batch_index = 0;
    for (int64_t batch = 0; batch < 12; batch++) {
      discriminator->zero_grad();
      torch::Tensor real_images = torch::rand({kBatchSize, 8}, device);
      torch::Tensor real_labels = torch::empty({kBatchSize, 1}, device).uniform_(0.8, 1.0);
      torch::Tensor d_loss_real =
          torch::binary_cross_entropy(discriminator->forward(real_images), real_labels);
      d_loss_real.backward();

      fake_images = generator->forward(torch::randn({kBatchSize, kNoise}, device));
      torch::Tensor fake_labels = torch::zeros({kBatchSize, 1}, device);
      torch::Tensor d_loss_fake =
          torch::binary_cross_entropy(discriminator->forward(fake_images.detach()), fake_labels);
      d_loss_fake.backward();
      torch::Tensor d_loss = d_loss_real + d_loss_fake;
      discriminator_optimizer.step();

      generator->zero_grad();
      fake_labels.fill_(1);
      torch::Tensor g_loss =
          torch::binary_cross_entropy(discriminator->forward(fake_images), fake_labels);
      g_loss.backward();
      generator_optimizer.step();
      // here: g_loss.item<double>()
      batch_index++;
      if (batch_index % 4 == 0) {
        std::printf("[%2ld/%2ld][%3ld] D_loss: %.4f | G_loss: %.4f\n", epoch, epochs, batch_index,
                    d_loss.item<float>(), g_loss.item<float>());
      }
      if (batch_index % 6 == 0) {
        std::cout << "-> checkpoint " << ++checkpoint_counter << '\n';
      }
    }
    const double brightness = fake_images.mean().item<double>();
    std::cout << "Brightness: " << brightness << std::endl;
  }
  std::cout << "Training complete!" << std::endl;
}
