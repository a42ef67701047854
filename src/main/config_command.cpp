// heddle config: show, explain, schema, lint.
#include <cstdio>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "config/show.h"
#include "main/commands.h"

namespace program {
namespace {

void warn(const config::Settings& settings) {
  for (const std::string& warning : settings.warnings) {
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  }
}

int show(Arguments arguments) {
  std::vector<std::string> flags;
  config::Origins origins = config::Origins::hidden;
  for (const std::string& argument : arguments) {
    if (argument == "--origin") {
      origins = config::Origins::shown;
    } else {
      flags.push_back(argument);
    }
  }
  const config::Settings settings = config::read_settings(flags);
  warn(settings);
  print(config::to_toml(settings, origins));
  return 0;
}

int explain(Arguments arguments) {
  if (arguments.empty()) {
    base::fail_user(base::Exit::config, "config explain: expected a key such as training.steps");
  }
  print(config::explain(arguments[0], config::read_settings(arguments.subspan(1))));
  return 0;
}

int schema(Arguments arguments) {
  if (!arguments.empty()) {
    base::fail_user(base::Exit::config, "config schema: expected nothing more, found \"{}\"",
                    arguments[0]);
  }
  print(config::schema_json() + "\n");
  return 0;
}

int lint(Arguments arguments) {
  const config::Settings settings = config::read_settings(arguments);
  for (const std::string& warning : settings.warnings) print("warn   " + warning + "\n");
  int given = 0, inert = 0;
  for (const config::Key& key : config::all_keys()) {
    if (!settings.given(key.name)) continue;
    ++given;
    const std::string why = config::why_inert(key, settings);
    if (why.empty()) continue;
    ++inert;
    print(base::format("inert  {}: {}\n", key.name, why));
  }
  print(base::format("ok     {} keys given, {} of them inert, {} warnings\n", given, inert,
                     settings.warnings.size()));
  return 0;
}

}  // namespace

int run_config(Arguments arguments) {
  const std::string action = arguments.empty() ? "" : arguments[0];
  const Arguments rest = arguments.empty() ? arguments : arguments.subspan(1);
  if (action == "show") return show(rest);
  if (action == "explain") return explain(rest);
  if (action == "schema") return schema(rest);
  if (action == "lint") return lint(rest);
  const std::vector<std::string> actions = {"show", "explain", "schema", "lint"};
  const std::string near = base::nearest(action, actions);
  base::fail_user(base::Exit::config, "config: expected {}, found \"{}\"{}",
                  base::join(actions, ", "), action,
                  near.empty() ? "" : base::format("; did you mean \"{}\"?", near));
}

}  // namespace program
