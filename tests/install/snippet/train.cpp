#include <flor/flor.h>
int main(int argc, char** argv) {
  const auto session = flor::init(argc, argv);
  for (int epoch : flor::loop("epoch", 3)) flor::log("half", epoch / 2.0);
}
