// Payloads as they were written when their form was introduced, and the chunks they stand for. The
// format is fixed by them: none may ever be changed, new ones are added at the end.
#pragma once

#include "store/codec_material.h"

#include <flor/store/checkpoint.h>

#include <cstdint>
#include <string_view>

namespace flor::testing {

/// 70 words and a tail, and their base, in integer arithmetic alone. Few bits of the mantissa are
/// used, which keeps the payloads short.
inline Material golden_material(store::ElementType type, bool sparse) {
  const unsigned width = type == store::ElementType::bf16  ? 2
                         : type == store::ElementType::f64 ? 8
                                                           : 4;
  Material material{type, {}, {}};
  const auto append = [width](Bytes& bytes, std::uint64_t upper_16_bits, std::uint64_t low) {
    const std::uint64_t word = (upper_16_bits << (8 * width - 16)) + low;
    for (unsigned i = 0; i < width; ++i) bytes.push_back(static_cast<std::byte>(word >> (8 * i)));
  };
  for (std::uint64_t i = 0; i < 70; ++i) {
    const std::uint64_t upper = 0x3c00 + (i % 7) * 0x80 + (i * i) % 97 + (i % 5 == 0 ? 0x8000 : 0);
    append(material.base, upper, 0);
    const bool zero = sparse && i % 3 == 1;
    append(material.raw, zero ? 0 : upper, zero || i % 4 == 0 ? 0 : (i * 37) % 251);
  }
  const unsigned tail = width - 1;
  for (unsigned i = 0; i < tail; ++i) {
    material.base.push_back(std::byte{0});
    material.raw.push_back(static_cast<std::byte>(0xa0 + i));
  }
  return material;
}

struct Golden {
  store::ElementType type;
  std::uint8_t codec;
  bool sparse;               ///< of golden_material
  std::string_view payload;  ///< hexadecimal
};

inline constexpr Golden kGolden[] = {
    {store::ElementType::bf16, 5, false,
     "2e0000000ac51bc70ba4360e3348fd489250275e89b22ba61eb23e64173c03553d88d2708e0053bc2a29bce4"
     "0dc8881bae0500788082837c86877d798283857d877e807a8385867e7e80827b858687788182847c86817f79"
     "8284857d837f817a8485867e7f81837b858684788183847c868580798384857d85a0"},
    {store::ElementType::f32, 2, false,
     "00014a94de0073bc1000a4ef3800cc206b00fe489201307ac40059a2ec008ad51e00b2065100e42e78011660"
     "aa003f88d20070bb040098e23700ca145e01f2469000256eb80056023500000028b52ffd2046650100f00000"
     "00000001010000000001000100010101000101010000000101010000050060909b1200c4c012b04d25000002"
     "08122032486280a206305e90043e7cbe428c186ac058b656bc64108236b06c2cb27a4616ac846040240cbaaa"
     "9e969292969eaaba0c24406084ac16467ab22c6cb0368210021600000028b52ffd20466d00003878797a7b7c"
     "7d7e010094548ca0a1a2"},
    {store::ElementType::f32, 4, false,
     "2e0000000ac51bc70ba4360e3348fd489250275e89b22ba61eb23e64173c03553d88d2708e0053bc2a29bce4"
     "0dc8881bae050000070808000909050008080900090607000809090006070800090909000808090009030700"
     "080909000507080009090900070809000909060008090900090708000909090007a0a1a2"},
    {store::ElementType::f32, 5, false,
     "2e0000000ac51bc70ba4360e3348fd489250275e89b22ba61eb23e64173c03553d88d2708e0053bc2a29bce4"
     "0dc8881bae0500788082837c86877d798283857d877e807a8385867e7e80827b858687788182847c86817f79"
     "8284857d837f817a8485867e7f81837b858684788183847c868580798384857d85a0a1a2"},
    {store::ElementType::f32, 6, false,
     "00014a94de0073bc1000a4ef3800cc206b00fe489201307ac40059a2ec008ad51e00b2065100e42e78011660"
     "aa003f88d20070bb040098e23700ca145e01f2469000256eb80056023500000028b52ffd2046650100f00000"
     "00000001010000000001000100010101000101010000000101010000050060909b1200c4c012b04d25000002"
     "08122032486280a206305e90043e7cbe428c186ac058b656bc64108236b06c2cb27a4616ac846040240cbaaa"
     "9e969292969eaaba0c24406084ac16467ab22c6cb03682100100a0a1a2"},
    {store::ElementType::f32, 7, false,
     "00004a94de0071bc1000a4ed3800cc206900fe489200307ac40057a2ec008ad31e00b2064f00e42e78001660"
     "aa003d88d20070b9040098e23500ca145e00f2469000236eb80056023500000028b52ffd2046650100f00000"
     "00000001010000000001000100010101000101010000000101010000050060909b1200c4c012b04d25010001"
     "00a0a1a2"},
    {store::ElementType::f32, 8, true,
     "006ddbb66ddbb66ddb36000194de73bc00a43800206bfe480130c400a2ec8ad500b251002e781660003fd200"
     "bb0498e200ca5e014690256e0056000000000101000001000000000100000000010100000001000001010000"
     "00010100000101010000010000000101000000000812324880a2305e043ebe42186a58b6bc6482366c2c7a46"
     "ac844024baaa9692969eba0c4060ac167ab26cb08210021d00000028b52ffd202fa5000070787a7b7d7e797a"
     "7c7d78797b7c7e0100314e25a0a1a2"},
    {store::ElementType::f64, 5, false,
     "2e0000000ac51bc70ba4360e3348fd489250275e89b22ba61eb23e64173c03553d88d2708e0053bc2a29bce4"
     "0dc8881bae0500c0cfd8e0e1f2fbc8ccdde0eaeafdc6d0d3e5ebf5f0c9d5daddebf6fcc0d4d9e6e3f2f8caca"
     "d8e6edebf7c8d0d5e6edf5f4cbd4ddddeef1f7c2d3dde6e0f3facdc9dce6eaecf7a0a1a2a3a4a5a6"},
};

}  // namespace flor::testing
