// libFuzzer: any bytes as TOML text and flags either give settings or a UserError; settings that
// were accepted convert, print and read back. Flags stand behind a line "--- flags", one a line.
#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"
#include "config/job_config.h"
#include "config/show.h"

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

void check_round_trip(const config::Settings& settings) {
  config::job_config(settings);
  config::to_json(settings);
  const std::string shown = config::to_toml(settings, config::Origins::shown);
  const config::Settings again = config::read_settings_text(shown, "shown.toml", {});
  for (const config::Key& key : config::all_keys()) {
    expect(config::to_toml(again.at(key.name).value) ==
           config::to_toml(settings.at(key.name).value));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view mark = "\n--- flags\n";
  const size_t split = input.find(mark);
  config::List flags;
  if (split != std::string_view::npos) {
    flags = base::split(input.substr(split + mark.size()), '\n');
    for (const std::string& flag : flags) {  // no file is opened
      if (flag.find("config") != std::string::npos) return 0;
    }
  }
  config::Settings settings;
  try {
    settings = config::read_settings_text(input.substr(0, split), "fuzz.toml", flags);
  } catch (const base::UserError& error) {
    expect(base::is_valid_utf8(error.message()) && !error.message().empty());
    return 0;
  }
  check_round_trip(settings);
  return 0;
}
