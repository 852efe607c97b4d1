// SPDX-License-Identifier: Apache-2.0
//
// What a shell offers after a tab, and the manual page: both made from the commands and options that there are.
#include "commands.h"

#include <heddle/host/error.h>
#include <heddle/version.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>

namespace heddle::tool {

namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  return names;
}

// In one line, and without what a shell would read.
std::string plain(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  std::erase_if(line, [](char c) { return c == '\'' || c == '[' || c == ']' || c == '`' || c == '\\'; });
  return line;
}

// Each command with the words that lead to it: "", "exec", "trace matmul".
void visit(const CLI::App& app, const std::string& words,
           const std::function<void(const CLI::App&, const std::string&)>& see) {
  see(app, words);
  for (const CLI::App* command : commands_of(app)) {
    visit(*command, words.empty() ? command->get_name() : words + " " + command->get_name(), see);
  }
}

std::string bash_script(const CLI::App& app) {
  std::string cases;
  visit(app, "", [&](const CLI::App& command, const std::string& words) {
    cases += fmt::format("    '{}') offered='{} {}' ;;\n", words, fmt::join(command_names(command), " "),
                         fmt::join(option_names(command), " "));
  });
  return fmt::format(R"(# bash completion for heddle: source it, or put it into the folder of completions.
_heddle() {{
  local word command= offered= current=${{COMP_WORDS[COMP_CWORD]}}
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$command $word" in
{}    esac
  done
  case $command in
{}  esac
  if [ "$command" = exec ] && [[ $current != -* ]]; then
    COMPREPLY=($(compgen -c -f -- "$current"))
  else
    COMPREPLY=($(compgen -W "$offered" -- "$current"))
  fi
}}
complete -o default -F _heddle heddle
)",
                     [&] {
                       std::string steps;
                       visit(app, "", [&](const CLI::App& command, const std::string& words) {
                         for (const CLI::App* next : commands_of(command)) {
                           const std::string all =
                               words.empty() ? next->get_name() : words + " " + next->get_name();
                           steps += fmt::format("      '{} {}') command='{}' ;;\n", words, next->get_name(), all);
                         }
                       });
                       return steps;
                     }(),
                     cases);
}

std::string zsh_script(const CLI::App& app) {
  return "#compdef heddle\n# zsh completion for heddle: put it into a folder of fpath as _heddle.\nautoload -U "
         "+X bashcompinit && bashcompinit\n" +
         bash_script(app);
}

std::string fish_script(const CLI::App& app) {
  std::string script = "# fish completion for heddle: put it into ~/.config/fish/completions/heddle.fish\n";
  visit(app, "", [&](const CLI::App& command, const std::string& words) {
    const std::string where =
        words.empty() ? "__fish_use_subcommand"
                      : fmt::format("__fish_seen_subcommand_from {}", words.substr(words.find_last_of(' ') + 1));
    for (const CLI::App* next : commands_of(command)) {
      script += fmt::format("complete -c heddle -f -n '{}' -a {} -d '{}'\n", where, next->get_name(),
                            plain(next->get_description()));
    }
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        script += fmt::format("complete -c heddle -n '{}' -l {} -d '{}'\n", where, name,
                              plain(option->get_description()));
      }
    }
  });
  return script;
}

// What troff would take for a request or an escape.
std::string troff(std::string text) {
  std::string result;
  bool is_start = true;
  for (const char c : text) {
    if (is_start && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
    is_start = c == '\n';
  }
  return result;
}

std::string manual(const CLI::App& app) {
  std::string page =
      fmt::format(".TH HEDDLE 1 \"\" \"heddle {}.{}.{}\"\n.SH NAME\nheddle \\- {}\n", HEDDLE_VERSION_MAJOR,
                  HEDDLE_VERSION_MINOR, HEDDLE_VERSION_PATCH,
                  troff("warp-specialised GPU kernels, and a simulated SM that runs them on a CPU"));
  page += ".SH SYNOPSIS\n.B heddle\n[COMMAND] [OPTIONS]\n.SH DESCRIPTION\n" + troff(app.get_description()) + "\n";
  visit(app, "", [&](const CLI::App& command, const std::string& words) {
    page += words.empty()
                ? std::string(".SH OPTIONS\n")
                : fmt::format(".SH {}\n{}\n", troff("heddle " + words), troff(command.get_description()));
    for (const CLI::Option* option : command.get_options()) {
      page += fmt::format(".TP\n.B {}\n{}\n", troff(option->get_name(option->get_positional())),
                          troff(option->get_description()));
    }
    if (!command.get_footer().empty()) page += fmt::format(".PP\n.nf\n{}\n.fi\n", troff(command.get_footer()));
  });
  page +=
      ".SH EXIT STATUS\n0 if all went well, 1 on a report or a wrong output, 2 on bad usage; that of the program "
      "for exec.\n";
  return page;
}

}  // namespace

std::string completion(const CLI::App& app, const std::string& kind) {
  if (kind == "bash") return bash_script(app);
  if (kind == "zsh") return zsh_script(app);
  if (kind == "fish") return fish_script(app);
  if (kind == "man") return manual(app);
  throw InputError(fmt::format("completion '{}': bash, zsh or fish, or man for the manual page", kind));
}

}  // namespace heddle::tool
