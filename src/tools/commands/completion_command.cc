// forebay completion: generates scripts that complete commands and options in a shell.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/words.h"
#include "tools/application.h"
#include "tools/commands.h"

namespace forebay::tools {
namespace {

std::vector<std::string> options_of(const CLI::App* command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command->get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4)
    text.replace(at, 1, "'\\''");
  return "'" + text + "'";
}

std::string names_of(const CLI::App& app) {
  return joined(visible_commands(app), " ",
                [](const auto* command) { return command->get_name(); });
}

std::string bash_script(const CLI::App& app) {
  std::string text =
      "# forebay completion bash\n_forebay() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} words=\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n";
  text += fmt::format("    words={}\n  else\n    case ${{COMP_WORDS[1]}} in\n",
                      quoted(names_of(app) + " --help --version"));
  for (const CLI::App* command : visible_commands(app))
    text += fmt::format("      {}) words={} ;;\n", command->get_name(),
                        quoted(fmt::format("{}", fmt::join(options_of(command), " "))));
  text +=
      "    esac\n    case $word in -*) ;; *) words= ;; esac\n  fi\n"
      "  COMPREPLY=()\n"
      "  while IFS= read -r reply; do COMPREPLY+=(\"$reply\"); done < <(compgen -W \"$words\" -- "
      "\"$word\")\n"
      "}\ncomplete -o default -F _forebay forebay\n";
  return text;
}

std::string zsh_script(const CLI::App& app) {
  const auto described = [](const std::string& name, std::string what) {
    for (const char special : {':', '[', ']'})
      for (std::size_t at = 0; (at = what.find(special, at)) != std::string::npos; at += 2)
        what.insert(at, "\\");
    return std::pair(name, what);
  };
  std::string text =
      "#compdef forebay\n_forebay() {\n  if (( CURRENT == 2 )); then\n    local -a commands=(\n";
  for (const CLI::App* command : visible_commands(app)) {
    const auto [name, what] = described(command->get_name(), command->get_description());
    text += "      " + quoted(name + ":" + what) + "\n";
  }
  text += "    )\n    _describe command commands\n    return\n  fi\n  case $words[2] in\n";
  for (const CLI::App* command : visible_commands(app)) {
    text += "    " + command->get_name() + ") _arguments";
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& long_name : option->get_lnames()) {
        const auto [name, what] = described("--" + long_name, option->get_description());
        text +=
            " \\\n      " + quoted(name + "[" + what + "]" +
                                   (option->get_items_expected_max() == 0 ? "" : ":value:_files"));
      }
    }
    text += " \\\n      '*:file:_files' ;;\n";
  }
  return text + "  esac\n}\ncompdef _forebay forebay\n";
}

std::string fish_script(const CLI::App& app) {
  std::string text = "# forebay completion fish\n";
  for (const CLI::App* command : visible_commands(app)) {
    const std::string& name = command->get_name();
    text += fmt::format("complete -c forebay -n __fish_use_subcommand -f -a {} -d {}\n", name,
                        quoted(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& long_name : option->get_lnames())
        text +=
            fmt::format("complete -c forebay -n '__fish_seen_subcommand_from {}' -l {} -d {}{}\n",
                        name, long_name, quoted(option->get_description()),
                        option->get_items_expected_max() == 0 ? "" : " -r");
    }
  }
  return text;
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  if (shell == "zsh") return zsh_script(app);
  return shell == "fish" ? fish_script(app) : bash_script(app);
}

static void add_completion_command(CLI::App& app, int& status) {
  Command command(app, "completion", "Print a script that completes commands in a shell");
  auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "bash, zsh or fish")
      .required()
      .one_of({"bash", "zsh", "fish"});
  command.footer("bash: source <(forebay completion bash)");
  command.callback([&app, shell, &status] {
    fmt::print("{}", completion_script(app, *shell));
    status = exit_done;
  });
}

extern const CommandEntry completion_command{17, add_completion_command};

}  // namespace forebay::tools
