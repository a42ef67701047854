// Any bytes as a manifest, with their right hash at the end: an error of the user, or a manifest
// that prints and reads back the same.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "trainer/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string body(reinterpret_cast<const char*>(data), size);
  try {
    const trainer::Manifest manifest =
        trainer::parse_manifest(trainer::seal_manifest(body), "fuzz");
    const std::string text = trainer::to_text(manifest);
    CHECK(trainer::to_text(trainer::parse_manifest(text, "printed")) == text);
  } catch (const base::UserError&) {
  }
  try {
    trainer::parse_manifest(body, "unsealed");
  } catch (const base::UserError&) {
  }
  return 0;
}
