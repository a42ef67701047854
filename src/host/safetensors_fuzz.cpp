// Any bytes as a safetensors file: an error of the user or a file whose tensors can all be read.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "host/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto file = host::SafetensorsFile::from_bytes(
        std::string(reinterpret_cast<const char*>(data), size), "fuzz", base::Exit::checkpoint);
    for (const host::TensorEntry& entry : file.entries()) {
      try {
        const host::Tensor x = file.get(entry.name);
        CHECK(host::same_bits(x.clone(), x));
      } catch (const base::UserError&) {  // a dtype that is not ours, a BOOL that is none
      }
    }
  } catch (const base::UserError&) {
  }
  return 0;
}
